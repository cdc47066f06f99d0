"""What goes by itself: old history, old runs, unused blobs (lbb-engine 3.20, 4.9, 4.10)."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.clock import START_MS
from tests.store.calls import (
    Store,
    begin,
    bytes_of,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    delete,
    fail,
    fail_for_good,
    get_blob,
    history,
    inspect,
    lease,
    listen,
    plain,
    progress,
    put_blob,
    raw,
    refused,
    runs,
    save,
    send,
    signal_to,
    start,
)
from tests.tables import dump
from turnbuckle import upkeep as loop
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import instance, turn, upkeep
from turnbuckle.store.database import write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.instance import WorkflowMessageRequest
from turnbuckle.wire.turn import WorkflowClaimPair, WorkflowTurnClaimRequest, WorkflowTurnCompleteRequest

HOUR, DAY = 3_600_000, 86_400_000


def run_turns(store: Store, count: int, *, every_ms: int = 0) -> None:
    """Complete `count` turns of `a`, one after the other; those of one moment in one transaction, for speed."""
    first = inspect(store).completed_turns + 1
    numbers = range(first, first + count)
    for piece in [[number] for number in numbers] if every_ms else [list(numbers)]:
        write(store.database, partial(_complete_all, store, piece))
        store.clock.pass_ms(every_ms)


def _complete_all(store: Store, numbers: list[int], tx: Transaction) -> None:
    pairs = [WorkflowClaimPair(workflow_type="t", version="v1")]
    for number in numbers:
        value = raw(number)
        message = WorkflowMessageRequest(workflow_id="a", id=f"m-{number}", message=value)
        instance.send(tx, store.graph_id, message)
        task = turn.claim(tx, store.graph_id, WorkflowTurnClaimRequest(worker="w", workflows=pairs)).task
        assert task is not None
        done = WorkflowTurnCompleteRequest(**lease(task), state=value, result=value)
        turn.complete(tx, store.graph_id, done)


def prune(store: Store) -> None:
    for piece in (upkeep.prune_history, upkeep.prune_runs):
        while write(store.database, piece):
            pass


# -- history -----------------------------------------------------------------------------------------------------


def test_turns_are_pruned_once_they_are_neither_among_the_newest_256_nor_of_the_last_day(store: Store) -> None:
    start(store)
    run_turns(store, 300)
    store.clock.pass_ms(DAY)
    prune(store)
    assert inspect(store).history_pruned_through == 0  # a day old, not more
    store.clock.pass_ms(1)

    prune(store)

    assert (inspect(store).history_pruned_through, inspect(store).completed_turns) == (44, 300)
    with refused("turn_not_found", "turn 44 of a was pruned; the history begins at 45"):
        current(store, 44)
    assert plain(current(store, 45).state_after) == 45
    assert [one.number for one in history(store, limit=1).turns] == [45]
    assert {name: len(dump(store.location)[name]) for name in ("turn", "message", "state")} == {
        "turn": 256,
        "message": 300,  # their ids stay known
        "state": 256,
    }


def test_the_last_day_is_kept_however_many_turns_it_had(store: Store) -> None:
    start(store)
    run_turns(store, 257)
    store.clock.pass_ms(DAY // 2)
    run_turns(store, 300)
    store.clock.pass_ms(DAY // 2 + 1)

    prune(store)

    assert inspect(store).history_pruned_through == 257


def test_pruning_goes_on_by_itself_as_turns_become_a_day_old(store: Store) -> None:
    start(store)
    run_turns(store, 260, every_ms=1_000)
    for _ in range(3):
        store.clock.pass_ms(DAY)
        prune(store)

    assert inspect(store).history_pruned_through == 4


def test_the_state_survives_its_pruned_turn(store: Store) -> None:
    """The present state may be older than all that is left: later turns failed or were cancelled."""
    start(store, on_exhausted="skip", max_attempts=1)
    run_turns(store, 1)
    for number in range(2, 300):
        send(store, id=f"m-{number}")
        control(store, "cancel_turn", number)
    store.clock.pass_ms(DAY + 1)
    prune(store)

    assert (plain(inspect(store).state), inspect(store).history_pruned_through) == (1, 43)
    send(store, id="m-300")
    assert plain(claimed(store).state) == 1


def test_an_unfinished_turn_is_never_pruned(store: Store) -> None:
    start(store)
    run_turns(store, 1)
    send(store, id="blocking")
    fail_for_good(store, claimed(store))
    for number in range(300):
        send(store, id=f"behind-{number}")
    store.clock.pass_ms(30 * DAY)

    prune(store)

    assert current(store, 2).status == "failed"
    control(store, "retry", 2)
    assert claimed(store).turn.message_id == "blocking"


def test_a_message_id_stays_known_after_its_turn_was_pruned(store: Store) -> None:
    """Decision 7: a repeat answers a stub of the turn it admitted; another message is still refused."""
    start(store)
    run_turns(store, 257)
    store.clock.pass_ms(DAY + 1)
    prune(store)

    stub = send(store, 1, id="m-1")

    assert (stub.number, stub.status, plain(stub.message), plain(stub.result)) == (1, "completed", None, None)
    assert inspect(store).pending_messages == 0
    with refused("conflict", "message id 'm-1' was used for turn 1"):
        send(store, "another", id="m-1")


@pytest.mark.parametrize("call", [lambda s: control(s, "cancel_turn", 1), lambda s: signal_to(s, turn=1)])
def test_a_pruned_turn_is_told_at_once(store: Store, call: Callable[[Store], Any]) -> None:
    """B079."""
    start(store)
    run_turns(store, 257)
    store.clock.pass_ms(DAY + 1)
    prune(store)

    with refused("turn_not_found", "turn 1 of a was pruned; the history begins at 2"):
        call(store)


def test_a_completion_of_a_pruned_turn_is_told_that_it_lost(store: Store) -> None:
    task = claimed_turn(store)
    complete(store, task)
    run_turns(store, 257)
    store.clock.pass_ms(DAY + 1)
    prune(store)

    with refused("turn_lease_lost"):
        complete(store, task)


def test_history_is_pruned_in_small_pieces(store: Store) -> None:
    """Each a transaction of its own, so that turns go between."""
    start(store)
    run_turns(store, 256 + 2 * upkeep.TURNS_AT_ONCE)
    store.clock.pass_ms(DAY + 1)

    write(store.database, upkeep.prune_history)

    assert inspect(store).history_pruned_through == upkeep.TURNS_AT_ONCE


# -- runs --------------------------------------------------------------------------------------------------------


def test_run_records_are_kept_30_days(store: Store) -> None:
    start(store)
    run_turns(store, 1)
    store.clock.pass_ms(DAY)
    run_turns(store, 1)
    store.clock.pass_ms(29 * DAY)
    prune(store)
    assert [run.turn for run in runs(store)] == [2, 1]
    store.clock.pass_ms(1)

    prune(store)

    assert [run.turn for run in runs(store)] == [2]


def test_run_records_outlive_their_turns(store: Store) -> None:
    start(store)
    run_turns(store, 260)
    store.clock.pass_ms(DAY + 1)

    prune(store)

    assert inspect(store).history_pruned_through == 4
    assert len(dump(store.location)["run"]) == 260


# -- blobs -------------------------------------------------------------------------------------------------------


def sweep(store: Store) -> int:
    """As the server does now and then; how many blobs went."""

    async def once() -> int:
        return await loop.sweep_blobs(AsyncStore(store.database, asyncio.get_running_loop()))

    return asyncio.run(once())


def test_a_blob_nobody_mentions_goes_after_a_day_and_two_sweeps_an_hour_apart(store: Store) -> None:
    start(store)
    key = put_blob(store, b"bytes").key
    store.clock.pass_ms(DAY)
    assert (sweep(store), sweep(store)) == (0, 0)
    store.clock.pass_ms(1)
    assert (sweep(store), sweep(store)) == (0, 0)  # found unused for the first time
    store.clock.pass_ms(HOUR)

    assert sweep(store) == 1
    with refused("blob_not_found", f"there is no blob '{key}' in this graph"):
        get_blob(store, key)


def _in_state(store: Store, key: str) -> None:
    complete(store, claimed(store), {"pages": [key]})


def _in_step(store: Store, key: str) -> None:
    save(store, claimed(store), output={"key": key})


def _in_cursor(store: Store, key: str) -> None:
    task = claimed(store)
    begin(store, task)
    progress(store, task, 1, None, {"key": key})


def _in_details(store: Store, key: str) -> None:
    task = claimed(store)
    begin(store, task)
    progress(store, task, 1, {"key": key})


def _in_early_signal(store: Store, key: str) -> None:
    signal_to(store, {"key": key})


def _in_heard_signal(store: Store, key: str) -> None:
    listen(store, claimed(store))
    signal_to(store, {"key": key})


@pytest.mark.parametrize(
    "mention",
    [
        lambda s, key: send(s, {"key": key}, id="m-2"),
        _in_state,
        _in_step,
        _in_cursor,
        _in_details,
        _in_early_signal,
        _in_heard_signal,
    ],
    ids=["message", "state", "step", "cursor", "details", "early signal", "heard signal"],
)
def test_a_blob_that_is_mentioned_stays(store: Store, mention: Callable[[Store, str], object]) -> None:
    start(store)
    send(store)
    mine, other = put_blob(store, b"mine").key, put_blob(store, b"other").key
    mention(store, mine)
    for _ in range(3):
        store.clock.pass_ms(DAY + 1)
        sweep(store)

    assert get_blob(store, mine) == b"mine"
    with refused("blob_not_found"):
        get_blob(store, other)


def test_the_initial_state_counts_until_another_follows(store: Store) -> None:
    start(store, "b")
    key = put_blob(store, b"bytes", "b").key
    start(store, state={"key": key})
    send(store)
    for _ in range(3):
        store.clock.pass_ms(DAY + 1)
        sweep(store)
    assert get_blob(store, key) == b"bytes"

    complete(store, claimed(store), "no more")
    for _ in range(2):
        store.clock.pass_ms(HOUR)
        sweep(store)

    with refused("blob_not_found"):
        get_blob(store, key)


def test_a_finished_turn_or_a_deleted_instance_keeps_no_blob(store: Store) -> None:
    start(store)
    one, two = put_blob(store, b"one").key, put_blob(store, b"two").key
    send(store, {"key": one})
    complete(store, claimed(store), None, result={"key": one})
    start(store, "b", state={"key": two})
    delete(store, "b")
    store.clock.pass_ms(DAY + 1)
    sweep(store)
    store.clock.pass_ms(HOUR)

    assert sweep(store) == 2


@pytest.mark.parametrize("between", ["put again", "mentioned"])
def test_a_blob_that_is_used_between_two_sweeps_stays(store: Store, between: str) -> None:
    """A worker asked whether it was there just before it went."""
    start(store)
    key = put_blob(store, b"bytes").key
    store.clock.pass_ms(DAY + 1)
    sweep(store)
    store.clock.pass_ms(HOUR)

    if between == "put again":
        assert not put_blob(store, b"bytes").created
    else:
        send(store, {"key": key})
    assert sweep(store) == 0
    store.clock.pass_ms(HOUR)
    sweep(store)

    assert get_blob(store, key) == b"bytes"


def test_many_instances_are_looked_through_in_pages(store: Store) -> None:
    keys = []
    for number in range(upkeep.USERS_AT_ONCE + 3):
        start(store, f"i{number:03}")
        if number % 50 == 0 or number >= upkeep.USERS_AT_ONCE:
            keys.append(put_blob(store, str(number).encode()).key)
            send(store, {"key": keys[-1]}, to=f"i{number:03}")
    for _ in range(2):
        store.clock.pass_ms(DAY + 1)
        assert sweep(store) == 0

    assert [get_blob(store, key) for key in keys] == [b"0", b"50", b"100", b"150", b"200", b"201", b"202"]


def test_upkeep_of_a_quiet_store_writes_nothing(store: Store) -> None:
    fail(store, claimed_turn(store), retry_at_ms=START_MS + DAY)
    before = (dump(store.location), bytes_of(inspect(store)))

    prune(store)
    sweep(store)

    assert (dump(store.location), bytes_of(inspect(store))) == before


def test_work_that_meets_an_error_of_its_own_is_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One row that cannot be read ended all upkeep until the next start of the server, and nobody was told."""
    monkeypatch.setattr(loop, "SETTLE_EVERY_S", 0.0)
    looks: list[int] = []

    async def run() -> None:
        again, running = asyncio.Event(), asyncio.get_running_loop()

        def look(tx: Transaction) -> None:
            looks.append(1)
            if len(looks) == 1:
                raise LookupError("instance a lacks its current turn 1")
            running.call_soon_threadsafe(again.set)

        monkeypatch.setattr(upkeep, "next_due_at", look)
        work = asyncio.create_task(loop.run(AsyncStore(store.database, running)))
        try:
            await asyncio.wait_for(again.wait(), timeout=20)
        finally:
            work.cancel()
            await asyncio.wait([work])

    asyncio.run(run())

    assert "instance a lacks its current turn 1" in caplog.text
