"""Leases on a clock that moves: who holds a turn, and what happens when nobody does any more."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.clock import START_MS, MovableClock
from tests.store.calls import (
    Store,
    begin,
    bytes_of,
    claim,
    claimed,
    claimed_turn,
    complete,
    current,
    fail,
    flush,
    heartbeat,
    inbox,
    inspect,
    listen,
    plain,
    progress,
    refused,
    runs,
    save,
    send,
    settle,
    signal_to,
    sleep,
    start,
)
from tests.tables import dump
from turnbuckle.operations import graph, upkeep
from turnbuckle.store.database import open_database, read, write
from turnbuckle.wire.turn import WorkflowTurnTask

HOUR, DAY = 3_600_000, 86_400_000
Call = Callable[[Store, WorkflowTurnTask], Any]
HELD_CALLS: list[tuple[str, Call]] = [
    ("heartbeat", heartbeat),
    ("operation", begin),
    ("progress", progress),
    ("checkpoint", save),
    ("sleep", lambda store, task: sleep(store, task, 1)),
    ("wait-signal", listen),
    ("complete", complete),
    ("fail", fail),
]
every_call = pytest.mark.parametrize("call", [call for _, call in HELD_CALLS], ids=[name for name, _ in HELD_CALLS])


@every_call
def test_a_worker_whose_lease_ran_out_is_refused_also_when_nobody_else_came(store: Store, call: Call) -> None:
    """B004: a checkpoint was accepted because only the row's state was checked, not the lease's time."""
    task = claimed_turn(store, lease_ms=2_000)
    begin(store, task)
    store.clock.pass_ms(5_000)
    before = dump(store.location)

    with refused("turn_lease_lost"):
        call(store, task)

    assert dump(store.location) == before


@every_call
def test_a_late_worker_is_refused_and_changes_nothing_of_its_successor(store: Store, call: Call) -> None:
    """B004, with a second claimer in between."""
    late = claimed_turn(store, lease_ms=2_000)
    store.clock.pass_ms(5_000)
    successor = claimed(store, "b")
    begin(store, successor)
    before = dump(store.location)

    with refused("turn_lease_lost", "a newer claim holds it"):
        call(store, late)

    assert dump(store.location) == before
    assert complete(store, successor).status == "completed"


@every_call
def test_a_token_of_another_turn_or_made_up_is_refused(store: Store, call: Call) -> None:
    task = claimed_turn(store)
    before = dump(store.location)

    for other in ("", "made up", task.token + "x", task.token.upper(), "😀\0"):
        with refused("turn_lease_lost"):
            call(store, msgspec.structs.replace(task, token=other))

    assert dump(store.location) == before


def test_a_second_worker_of_the_same_name_takes_no_live_turn(store: Store) -> None:
    """B005: a lease with the same owner name was treated as left over from an earlier life of the process."""
    task = claimed_turn(store, "w1")

    assert claim(store, "w1") is None
    assert complete(store, task).status == "completed"


def test_the_last_millisecond_of_a_lease_counts(store: Store) -> None:
    task = claimed_turn(store, lease_ms=2_000)
    store.clock.pass_ms(1_999)
    heartbeat(store, task)
    store.clock.pass_ms(2_000)

    with refused("turn_lease_lost"):
        heartbeat(store, task)


def test_one_lost_heartbeat_touches_one_turn_only(store: Store) -> None:
    """B007: all tasks of the worker were aborted and charged an attempt."""
    for number in range(10):
        start(store, f"i{number}", lease_ms=3_000)
        send(store, to=f"i{number}")
    tasks = [claimed(store, "w") for _ in range(10)]
    for _ in range(3):
        store.clock.pass_ms(1_000)
        for task in tasks[1:]:
            heartbeat(store, task)
    settle(store)

    states = [current(store, id=task.turn.workflow_id) for task in tasks]
    assert [one.status for one in states] == ["waiting"] + ["running"] * 9
    store.clock.pass_ms(1_000)
    again = claimed(store)
    assert (again.turn.workflow_id, again.turn.attempt) == (tasks[0].turn.workflow_id, 2)


@pytest.mark.parametrize("lease_ms", [100, 30_000])
def test_a_long_sleep_is_slept_once_whatever_the_lease(store: Store, lease_ms: int) -> None:
    """B009: far-future jobs were redelivered while they waited, sometimes twenty times."""
    sleep(store, claimed_turn(store, lease_ms=lease_ms), 3 * HOUR)
    claims = 0
    for _ in range(3 * 60):
        settle(store)
        claims += claim(store) is not None
        store.clock.pass_ms(60_000)

    assert (claims, claimed(store).turn.attempt) == (0, 1)


def test_a_long_step_runs_once_while_its_lease_is_renewed(store: Store) -> None:
    """B009, B014: a delivery longer than a fixed claim was taken again; users got duplicate messages."""
    task = claimed_turn(store, lease_ms=3_000)
    begin(store, task, timeout_ms=2 * HOUR)
    for _ in range(20):
        store.clock.pass_ms(1_000)
        heartbeat(store, task)
        settle(store)
        assert claim(store) is None

    save(store, task)
    assert complete(store, task).attempt == 1


def test_a_killed_workers_turn_comes_back_within_its_lease_and_a_second(store: Store) -> None:
    """B023: a run stayed running for ever and ate its slot."""
    claimed_turn(store, lease_ms=2_000)
    store.clock.pass_ms(2_999)
    assert claim(store) is None
    store.clock.pass_ms(1)

    assert claimed(store, "another").turn.attempt == 2


@pytest.mark.parametrize("is_settled", [False, True])
def test_an_expiry_reads_the_same_before_and_after_upkeep_has_seen_it(store: Store, is_settled: bool) -> None:
    """Decision 13: reads show the state as of now; nothing depends on when upkeep comes."""
    task = claimed_turn(store, lease_ms=2_000, messages=2)
    begin(store, task, timeout_ms=1_000)
    store.clock.pass_ms(1_500)
    if is_settled:
        settle(store)

    shown = current(store)

    assert (shown.status, shown.ready_at_ms, shown.worker, shown.operation) == ("waiting", START_MS + 2_000, None, None)
    assert (shown.error or "").startswith("operation timed out")
    assert (inspect(store).status, inbox(store).messages[0].status) == ("waiting", "waiting")


@pytest.mark.parametrize("on_exhausted", ["block", "skip"])
@pytest.mark.parametrize("messages", [1, 2])
def test_a_reader_sees_what_upkeep_will_write(store: Store, on_exhausted: str, messages: int) -> None:
    """Every reading, byte for byte: instance, turn and inbox, before the expiry is settled and after."""
    claimed_turn(store, lease_ms=2_000, messages=messages, max_attempts=1, on_exhausted=on_exhausted)
    store.clock.pass_ms(HOUR)

    def everything() -> list[bytes]:
        turns = [bytes_of(current(store, number)) for number in range(1, messages + 1)]
        return [bytes_of(inspect(store)), bytes_of(inbox(store)), *turns]

    before = everything()
    settle(store)

    assert everything() == before


# -- no turn is stuck --------------------------------------------------------------------------------------------


def _crash_points() -> list[tuple[str, Callable[[Store], object]]]:
    return [
        ("before the first step", lambda s: claimed_turn(s)),
        ("in a step", lambda s: begin(s, claimed_turn(s))),
        ("after progress", lambda s: _told(s, claimed_turn(s))),
        ("between two steps", lambda s: save(s, claimed_turn(s))),
        ("after a wait that was heard", lambda s: _heard(s, claimed_turn(s))),
    ]


def _told(store: Store, task: WorkflowTurnTask) -> None:
    begin(store, task)
    progress(store, task, 1, None, "cursor")


def _heard(store: Store, task: WorkflowTurnTask) -> None:
    signal_to(store)
    listen(store, task)


@pytest.mark.parametrize("crash", [crash for _, crash in _crash_points()], ids=[name for name, _ in _crash_points()])
def test_a_turn_whose_worker_died_at_any_boundary_goes_on(store: Store, crash: Callable[[Store], object]) -> None:
    """B070: a run stayed pending between two finished steps; all behind it waited for ever."""
    crash(store)
    send(store, id="behind")
    store.clock.pass_ms(HOUR)

    complete(store, claimed(store))

    assert complete(store, claimed(store)).message_id == "behind"


def test_upkeep_settles_what_ended_by_itself_without_any_worker(store: Store) -> None:
    """Failures and skips happen also when nobody polls (decision 13)."""
    claimed_turn(store, messages=2, max_attempts=1, on_exhausted="skip", lease_ms=2_000)
    assert read(store.database, upkeep.next_due_at) == START_MS + 2_000
    store.clock.pass_ms(2_000)

    settle(store)

    assert read(store.database, upkeep.next_due_at) is None
    assert [(run.outcome, run.turn) for run in runs(store)] == [("failed", 1)]
    assert inspect(store).pending_messages == 1


def test_upkeep_settles_in_bounded_batches(store: Store) -> None:
    for number in range(upkeep.SETTLED_AT_ONCE + 5):
        start(store, f"i{number}", lease_ms=100)
        send(store, to=f"i{number}")
        claimed(store)
    store.clock.pass_ms(100)
    assert [write(store.database, upkeep.settle) for _ in range(2)] == [True, False]


# -- the limits of a step ----------------------------------------------------------------------------------------


def test_a_step_timeout_ends_the_attempt_also_while_heartbeats_come(store: Store) -> None:
    """P2. The worker sends nothing in this case, so the server must find it."""
    task = claimed_turn(store, lease_ms=2_000)
    begin(store, task, timeout_ms=5_000)
    for _ in range(5):
        store.clock.pass_ms(999)
        heartbeat(store, task)
    store.clock.pass_ms(5)

    with refused("turn_lease_lost"):
        heartbeat(store, task)
    assert current(store).error == 'operation timed out: step "s" ran longer than its timeout_ms 5000'


def test_a_progress_timeout_runs_from_the_last_report(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task, timeout_ms=60_000, heartbeat_timeout_ms=1_000)
    for sequence in range(1, 6):
        store.clock.pass_ms(999)
        progress(store, task, sequence, {"phase": "p", "done": sequence})
    flush(store)
    store.clock.pass_ms(1_000)

    error = current(store).error or ""

    assert "operation stopped reporting progress" in error
    for fact in ('step "s"', "heartbeat_timeout_ms 1000", "since 2027-01-15T08:00:04.995Z", '"done": 5'):
        assert fact in error  # B089: which limit, which value, since when, last progress


def test_a_repeated_report_is_no_sign_of_life(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task, heartbeat_timeout_ms=1_000)
    progress(store, task, 1)
    store.clock.pass_ms(900)
    progress(store, task, 1)
    store.clock.pass_ms(100)

    with refused("turn_lease_lost"):
        progress(store, task, 2)


def test_an_expired_lease_says_whose_and_since_when(store: Store) -> None:
    """B089: the message said only "expired"."""
    task = claimed_turn(store, "host-7", lease_ms=2_000)
    begin(store, task, "upload")
    store.clock.pass_ms(2_000)

    assert current(store).error == (
        "lease expired at 2027-01-15T08:00:02.000Z: nothing was heard of worker 'host-7' "
        'since 2027-01-15T08:00:00.000Z; step "upload" was running'
    )


# -- clocks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sleep_ms", [1_000, 65_000, 2 * HOUR, 365 * DAY])
@pytest.mark.parametrize("jump_ms", [0, DAY])
def test_a_sleep_ends_at_its_time(store: Store, sleep_ms: int, jump_ms: int) -> None:
    """B048: a wait longer than a minute never resumed."""
    sleep(store, claimed_turn(store), sleep_ms)
    store.clock.pass_ms(sleep_ms - 1)
    assert (claim(store), current(store).status) == (None, "waiting")
    store.clock.pass_ms(1 + jump_ms)

    assert (current(store).status, claimed(store).turn.attempt) == ("queued", 1)


@pytest.mark.parametrize("zones", [("UTC", "UTC"), ("America/Sao_Paulo", "Asia/Kolkata")])
@pytest.mark.parametrize("sleep_ms", [1_000, 65_000, 2 * HOUR, 365 * DAY])
def test_a_sleep_ends_at_its_time_over_a_restart_in_another_time_zone(
    store_url: str, sleep_ms: int, zones: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B048: due times were mixed up with local ones, or lost at a restart."""
    clock = MovableClock()
    for zone, passed_ms in zip(zones, (sleep_ms - 1, 1), strict=True):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        with contextlib.closing(open_database(store_url, clock)) as database:
            store = Store(database, store_url, write(database, lambda tx: graph.use(tx, "test", "main")), clock)
            if passed_ms > 1:
                sleep(store, claimed_turn(store), sleep_ms)
            clock.pass_ms(passed_ms)
            assert (claim(store) is not None) == (clock.now_ms == START_MS + sleep_ms)
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("ahead_ms", [-DAY, -HOUR, 0, 500])
def test_a_worker_whose_clock_is_wrong_waits_at_least_a_second(store: Store, ahead_ms: int) -> None:
    """B049: due times were compared with another clock; the store's is the only one."""
    waiting = fail(store, claimed_turn(store), retry_at_ms=START_MS + ahead_ms)

    assert waiting.ready_at_ms == START_MS + 1_000


def test_a_wait_may_be_a_year_ahead_and_no_more(store: Store) -> None:
    task = claimed_turn(store)
    before = dump(store.location)

    with refused("invalid_param", "retry_at_ms: got 31622400001 ms ahead, expected at most 366 days") as info:
        fail(store, task, retry_at_ms=START_MS + 366 * DAY + 1)

    assert (info.value.param, dump(store.location)) == ("retry_at_ms", before)
    assert fail(store, task, retry_at_ms=START_MS + 366 * DAY).ready_at_ms == START_MS + 366 * DAY


def test_a_state_is_the_one_the_turn_began_with_over_all_attempts(store: Store) -> None:
    task = claimed_turn(store, state={"n": 1})
    store.clock.pass_ms(HOUR)

    assert plain(claimed(store).state) == plain(task.state)
