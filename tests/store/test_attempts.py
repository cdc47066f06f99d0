"""Attempt accounting end to end: what counts, what does not, and that no saved step is ever lost."""

import itertools
from collections.abc import Callable, Sequence

import pytest

from tests.store.calls import (
    Store,
    begin,
    claim,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    fail,
    inspect,
    listen,
    plain,
    progress,
    refused,
    release,
    runs,
    save,
    signal_to,
    sleep,
)
from turnbuckle.wire.turn import WorkflowTurnTask

BUDGET = "LbbError: the budget of the month is spent (code workflow_budget_exceeded, request req_1)"
End = Callable[[Store, WorkflowTurnTask], object]


def _position(store: Store) -> int:
    return len(current(store).steps)


def uncounted_wait(store: Store, task: WorkflowTurnTask) -> None:
    fail(store, task, "WorkflowWait: not yet", retry_at_ms=store.clock.now_ms + 5_000)


def budget_wait(store: Store, task: WorkflowTurnTask) -> None:
    fail(store, task, BUDGET, retry_at_ms=store.clock.now_ms + 5_000)


def sleeping(store: Store, task: WorkflowTurnTask) -> None:
    position = _position(store)
    sleep(store, task, 5_000, key=f"z{position}", position=position)


def heard_signal(store: Store, task: WorkflowTurnTask) -> None:
    position = _position(store)
    listen(store, task, position=position, key=f"r{position}")
    signal_to(store, position, id=f"e{position}")


def timed_out_wait(store: Store, task: WorkflowTurnTask) -> None:
    position = _position(store)
    listen(store, task, position=position, key=f"r{position}", timeout_ms=1_000)


def exception(store: Store, task: WorkflowTurnTask) -> None:
    fail(store, task, "ValueError: boom")


def lost_worker(store: Store, task: WorkflowTurnTask) -> None:
    store.clock.pass_ms(60_000)


def step_timeout(store: Store, task: WorkflowTurnTask) -> None:
    position = _position(store)
    begin(store, task, f"slow{position}", position, timeout_ms=1_000)
    store.clock.pass_ms(1_000)


COUNTED: list[End] = [exception, lost_worker, step_timeout]
UNCOUNTED: list[End] = [uncounted_wait, budget_wait, sleeping, heard_signal, timed_out_wait, release]


def play(store: Store, ends: Sequence[End]) -> tuple[list[int], WorkflowTurnTask | None]:
    """Run the turn once per end; each run saves a step first. The attempt at each claim, and the turn claimed last."""
    task: WorkflowTurnTask | None = claimed_turn(store, max_attempts=3)
    seen: list[int] = []
    prefix: str | None = None
    keys: list[str] = []
    for end in ends:
        assert task is not None, f"no turn before {end.__name__}"
        seen.append(task.turn.attempt)
        assert [step.key for step in task.turn.steps][: len(keys)] == keys  # none lost, none moved
        assert prefix in (None, task.effect_prefix)
        prefix = task.effect_prefix
        save(store, task, f"s{_position(store)}", _position(store), output=len(seen))
        keys = [step.key for step in current(store).steps]
        end(store, task)
        store.clock.pass_ms(60_000)
        task = claim(store)
    return seen, task


def test_a_turn_fails_for_good_exactly_at_its_third_counted_failure(store: Store) -> None:
    """With three attempts, whatever waits lie between; and no step with a saved output is lost."""
    ends: list[End] = [
        uncounted_wait,
        exception,
        release,
        sleeping,
        budget_wait,
        heard_signal,
        exception,
        timed_out_wait,
        uncounted_wait,
        release,
        exception,
    ]

    seen, left = play(store, ends)

    assert seen == [1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3]
    assert (current(store).status, current(store).error, left) == ("failed", "ValueError: boom", None)
    outputs = [plain(step.output) for step in current(store).steps if step.key.startswith("s")]
    assert outputs == list(range(1, len(ends) + 1))


@pytest.mark.parametrize("counted", list(itertools.product(COUNTED, repeat=3)), ids=lambda ends: "-".join(
    end.__name__ for end in ends))  # fmt: skip
def test_any_three_counted_failures_are_three(store: Store, counted: tuple[End, ...]) -> None:
    play(store, list(counted))

    assert (current(store).status, current(store).attempt) == ("failed", 3)


@pytest.mark.parametrize("end", UNCOUNTED, ids=lambda end: str(end.__name__))
def test_what_is_uncounted_never_adds_up(store: Store, end: End) -> None:
    seen, left = play(store, [end] * 12)

    assert (seen, left and left.turn.attempt) == ([1] * 12, 1)


@pytest.mark.parametrize("max_attempts", [1, 2, 5])
def test_a_turn_has_the_attempts_its_instance_gives(store: Store, max_attempts: int) -> None:
    task: WorkflowTurnTask | None = claimed_turn(store, max_attempts=max_attempts)
    failures = 0
    while task is not None:
        failures += 1
        fail(store, task)
        store.clock.pass_ms(60_000)
        task = claim(store)

    assert failures == max_attempts


def test_the_delay_doubles_with_each_failure(store: Store) -> None:
    """P1: 1, 2, 4 seconds; waits between do not change it."""
    task = claimed_turn(store, max_attempts=9)
    delays = []
    for _ in range(4):
        delays.append(fail(store, task).ready_at_ms - store.clock.now_ms)
        store.clock.pass_ms(60_000)
        release(store, claimed(store))
        store.clock.pass_ms(1_000)
        task = claimed(store)

    assert delays == [1_000, 2_000, 4_000, 8_000]


def test_a_release_counts_nothing_and_is_claimable_a_second_later(store: Store) -> None:
    """A worker that stopped for a deploy used up an attempt; the third deploy failed the turn."""
    task = claimed_turn(store, max_attempts=1)
    begin(store, task)
    progress(store, task, 1, None, {"page": 3})

    released = release(store, task)
    store.clock.pass_ms(999)
    assert claim(store) is None
    store.clock.pass_ms(1)

    again = claimed(store, "another")
    assert (released.status, again.turn.attempt) == ("waiting", 1)
    operation = begin(store, again).operation
    assert operation is not None
    assert plain(operation.checkpoint) == {"page": 3}


def test_each_run_has_a_record_and_waits_for_time_or_signals_end_none(store: Store) -> None:
    """P29: the outcomes in order; a sleep and a signal go on with their run."""
    ends = [sleeping, uncounted_wait, heard_signal, budget_wait, exception, timed_out_wait, release, lost_worker]
    _, task = play(store, ends)
    assert task is not None
    complete(store, task, continue_with=1)

    outcomes = [run.outcome for run in reversed(runs(store))]

    assert outcomes == ["paused", "budget", "retried", "paused", "retried", "more"]
    assert [run.attempts for run in reversed(runs(store))] == [1, 1, 1, 2, 2, 3]


def test_a_person_gives_all_attempts_anew(store: Store) -> None:
    play(store, [exception] * 3)
    control(store, "retry", 1)
    kept = len(current(store).steps)

    for failures in (1, 2, 3):
        task = claimed(store)
        assert len(task.turn.steps) == kept
        assert fail(store, task).status == ("failed" if failures == 3 else "waiting")
        store.clock.pass_ms(60_000)
    assert inspect(store).status == "failed"


def test_a_failure_told_late_counts_once(store: Store) -> None:
    """The lease ended first: the late report is refused, not counted again."""
    task = claimed_turn(store)
    store.clock.pass_ms(60_000)

    with refused("turn_lease_lost"):
        fail(store, task)
    store.clock.pass_ms(1_000)

    assert claimed(store).turn.attempt == 2
