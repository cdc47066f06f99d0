"""Steps: begun, reported on, saved (lbb-engine 3.14 to 3.16, 4.4)."""

from typing import Any

import pytest
from msgspec import Raw

from tests.clock import START_MS
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
    inspect,
    listen,
    plain,
    progress,
    refused,
    save,
    sleep,
)
from tests.tables import dump
from turnbuckle.operations import step
from turnbuckle.wire.step import WorkflowTurnCheckpointRequest

PHASE = {"phase": "pages", "done": 3, "total": 9, "unit": "pages"}


# -- begin, progress, cursor -------------------------------------------------------------------------------------


def test_a_step_runs_from_its_begin_to_its_save(store: Store) -> None:
    task = claimed_turn(store)

    begun, saved = begin(store, task, "s"), save(store, task, "s", output={"n": 1})

    assert (begun.operation is not None, begun.steps) == (True, [])
    assert (saved.operation, saved.status) == (None, "running")
    assert [(s.key, s.kind, plain(s.output), s.at_ms) for s in saved.steps] == [("s", "step", {"n": 1}, START_MS)]


def test_progress_is_shown_with_phase_and_times(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    store.clock.pass_ms(1_500)

    shown = progress(store, task, 1, PHASE).progress

    assert shown is not None
    assert (shown.phase, shown.done, shown.total, shown.unit) == ("pages", 3, 9, "pages")
    flush(store)
    assert (shown.started_at, shown.heartbeat_at) == ("2027-01-15T08:00:00.000Z", "2027-01-15T08:00:01.500Z")
    assert inspect(store).progress == shown


@pytest.mark.parametrize(
    "details",
    [
        None,
        "pages",
        [1],
        {"phase": "", "done": 1},
        {"phase": "p"},
        {"phase": "p", "done": -1},
        {"phase": "p", "done": 1.5},
        {"phase": "p", "done": True},
        {"phase": "p", "done": 2**63},
        {"phase": "p", "done": 10**30},
        {"phase": "p", "done": 1, "total": -1},
        {"phase": "p", "done": 1, "more": 1},
        {"phase": 1, "done": 1},
    ],
)
def test_details_of_any_other_shape_are_kept_and_clear_no_progress(store: Store, details: Any) -> None:
    """Decision 12: a heartbeat with details of the user's own leaves the bar where it was."""
    task = claimed_turn(store)
    begin(store, task)
    progress(store, task, 1, PHASE)

    shown = progress(store, task, 2, details)

    assert shown.operation is not None
    assert plain(shown.operation.details) == details
    assert (shown.progress and shown.progress.done) == 3


def test_each_phase_of_a_run_is_told(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    progress(store, task, 1, {"phase": "read", "done": 1})
    store.clock.pass_ms(10)
    progress(store, task, 2, {"phase": "read", "done": 5})
    save(store, task)
    begin(store, task, "t", 1)
    run = progress(store, task, 1, {"phase": "write", "done": 0}, key="t").run

    assert run is not None
    assert [(p.phase, p.started_at_ms - START_MS, p.ended_at_ms - START_MS, p.done) for p in run.phases] == [
        ("read", 0, 10, 5),
        ("write", 10, 10, 0),
    ]


def test_a_cursor_reaches_the_next_attempt_of_its_step(store: Store) -> None:
    """B020: a checkpoint without a heartbeat timeout was never saved, with no hint."""
    task = claimed_turn(store)
    begin(store, task)
    progress(store, task, 1, None, {"page": 7})
    store.clock.pass_ms(60_000)  # the worker is gone
    store.clock.pass_ms(1_000)

    begun = begin(store, claimed(store)).operation

    assert begun is not None
    assert (plain(begun.checkpoint), begun.attempt, begun.sequence) == ({"page": 7}, 2, 0)


def test_a_cursor_ends_with_its_step(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    progress(store, task, 1, None, {"page": 7})
    save(store, task)

    begun = begin(store, task, "t", 1).operation

    assert begun is not None
    assert plain(begun.checkpoint) is None


def test_a_late_report_changes_nothing(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    progress(store, task, 5, "five", "cursor five")
    before = dump(store.location)

    for sequence in (4, 5):
        shown = progress(store, task, sequence, "late", "late").operation
        assert shown is not None
        assert (plain(shown.details), plain(shown.checkpoint)) == ("five", "cursor five")

    assert dump(store.location) == before


def test_progress_of_a_step_that_does_not_run_is_refused(store: Store) -> None:
    task = claimed_turn(store)
    with refused("conflict", "no step runs in this attempt"):
        progress(store, task)

    begin(store, task, "s")
    with refused("conflict", 'step "s" runs; got progress of step "other"'):
        progress(store, task, key="other")

    save(store, task, "s")
    with refused("conflict", "no step runs in this attempt"):
        progress(store, task, key="s")


def test_a_heartbeat_timeout_longer_than_the_timeout_is_refused(store: Store) -> None:
    task = claimed_turn(store)

    with refused("invalid_param", "heartbeat_timeout_ms: got 5001, expected at most timeout_ms 5000") as info:
        begin(store, task, timeout_ms=5_000, heartbeat_timeout_ms=5_001)

    assert info.value.param == "heartbeat_timeout_ms"


# -- order and keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["renamed", "second"])
def test_a_changed_step_order_is_told_with_both_keys_and_the_position(store: Store, key: str) -> None:
    """B073, B074: a changed order was retried for ever, and the page did not say why. Rename, swap, insert, remove."""
    task = claimed_turn(store)
    save(store, task, "first", 0)
    before = dump(store.location)

    for call in (save, begin):
        with refused("conflict", f'step 0 was saved as "first" .step., now "{key}" .step.: the step order changed'):
            call(store, task, key, 0)

    assert dump(store.location) == before


def test_a_changed_kind_is_told_with_both(store: Store) -> None:
    task = claimed_turn(store)
    save(store, task, "s", 0)

    with refused("conflict", 'step 0 was saved as "s" .step., now "s" .sleep.: the step order changed'):
        sleep(store, task, 5_000, key="s", position=0)
    with refused("conflict", 'step 0 was saved as "s" .step., now "s" .signal.: the step order changed'):
        listen(store, task, key="s", position=0)


def test_a_key_used_twice_is_told_with_both_positions(store: Store) -> None:
    """B076: results of earlier rounds were overwritten, with a warning only."""
    task = claimed_turn(store)
    save(store, task, "s", 0)

    for call in (save, begin, lambda *args: sleep(store, task, 1, key="s", position=1)):
        with refused("conflict", 'step key "s" is used twice: at position 0 and at 1'):
            call(store, task, "s", 1)

    assert [step.key for step in current(store).steps] == ["s"]


@pytest.mark.parametrize("position", [1, 7, 63, 64, 2**53 - 1])
def test_a_position_that_is_not_the_next_is_refused(store: Store, position: int) -> None:
    task = claimed_turn(store)

    for call in (save, begin):
        with refused("conflict", f'step "s" came at position {position}; the next position is 0'):
            call(store, task, "s", position)


def test_step_65_is_refused_and_the_turn_may_still_continue(store: Store) -> None:
    """B088: the limit destroyed the run; here it says what to do, and the 64 steps and the state stay."""
    task = claimed_turn(store)
    for position in range(64):
        save(store, task, f"s{position}", position)
    before = dump(store.location)

    for call in (save, begin):
        with refused("conflict", r"would be number 65; a turn holds at most 64 steps\. Continue in the next turn"):
            call(store, task, "s64", 64)

    assert dump(store.location) == before
    assert complete(store, task, "kept", continue_with="the rest").continued_to == 2
    assert len(current(store).steps) == 64


# -- sleep -------------------------------------------------------------------------------------------------------


def test_a_sleep_holds_no_worker_and_is_a_saved_step(store: Store) -> None:
    task = claimed_turn(store)

    asleep = sleep(store, task, 5_000)

    assert (asleep.status, asleep.ready_at_ms, asleep.worker, asleep.deadline_ms) == (
        "waiting",
        START_MS + 5_000,
        None,
        None,
    )
    assert (asleep.steps[0].kind, asleep.steps[0].delay_ms, asleep.steps[0].wake_at_ms, asleep.wait) == (
        "sleep",
        5_000,
        START_MS + 5_000,
        None,
    )
    assert claim(store) is None
    with refused("turn_lease_lost"):
        save(store, task, "s", 1)

    store.clock.pass_ms(5_000)
    again = claimed(store)
    assert (again.turn.attempt, [step.key for step in again.turn.steps]) == (1, ["z"])
    assert again.turn.run is not None
    assert task.turn.run is not None
    assert again.turn.run.id == task.turn.run.id


def test_a_sleep_of_no_time_is_ready_at_once(store: Store) -> None:
    sleep(store, claimed_turn(store), 0)

    assert claimed(store).turn.steps[0].delay_ms == 0


@pytest.mark.parametrize(
    ("kind", "delay_ms", "param", "what"),
    [
        ("sleep", None, "delay_ms", "got None, expected a delay for a sleep"),
        ("step", 5, "delay_ms", "got 5, expected no delay for a step"),
        ("signal", None, "kind", "got 'signal', expected 'step' or 'sleep'"),
    ],
)
def test_a_delay_belongs_to_a_sleep_and_a_signal_to_its_route(
    store: Store, kind: Any, delay_ms: int | None, param: str, what: str
) -> None:

    task = claimed_turn(store)
    fields: dict[str, Any] = {"workflow_id": "a", "turn": 1, "token": task.token, "key": "s", "position": 0}
    request = WorkflowTurnCheckpointRequest(**fields, kind=kind, delay_ms=delay_ms)

    with refused("invalid_param", what) as info:
        store.do(step.save, request)

    assert info.value.param == param


# -- over attempts -----------------------------------------------------------------------------------------------


def test_saved_steps_survive_every_kind_of_rerun(store: Store) -> None:
    """They come back byte for byte and in order."""
    outputs = [Raw(b'{ "n" : 1.0 }'), Raw(b'"\\u0000"'), Raw(b"null")]
    task = claimed_turn(store, max_attempts=9)
    for position, output in enumerate(outputs):
        save(store, task, f"s{position}", position, output)

    for end in (
        lambda t: fail(store, t),
        lambda t: fail(store, t, retry_at_ms=store.clock.now_ms),
        lambda t: store.clock.pass_ms(60_000),
    ):
        end(task)
        store.clock.pass_ms(60_000)
        task = claimed(store)
        assert [bytes(step.output) for step in task.turn.steps] == [bytes(output) for output in outputs]


def test_an_answer_to_a_save_is_the_turn_as_it_is_read(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)

    assert bytes_of(save(store, task)) == bytes_of(current(store))
