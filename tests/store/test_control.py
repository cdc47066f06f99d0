"""What people do to an instance: pause, resume, retry, skip, cancel, wake (lbb-engine 3.10, P7 to P10, P15 to P17)."""

from typing import Any

import pytest

from tests.clock import START_MS
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
    fail_for_good,
    heartbeat,
    history,
    inspect,
    listen,
    plain,
    progress,
    refused,
    save,
    send,
    signal_to,
    sleep,
    start,
)
from tests.tables import dump

HOUR = 3_600_000


# -- pause and resume --------------------------------------------------------------------------------------------


def test_a_paused_instance_is_not_claimed_until_it_is_resumed(store: Store) -> None:
    start(store)
    send(store)

    assert control(store, "pause").status == "paused"
    assert claim(store) is None
    assert control(store, "resume").status == "queued"
    assert claimed(store).turn.number == 1


def test_a_held_turn_goes_on_to_its_end_under_a_pause(store: Store) -> None:
    """P10: only new claims stop."""
    task = claimed_turn(store, messages=2)
    control(store, "pause")

    heartbeat(store, task)
    begin(store, task)
    save(store, task)
    assert complete(store, task).status == "completed"

    assert (claim(store), inspect(store).status) == (None, "paused")


def test_timers_and_signals_go_on_under_a_pause(store: Store) -> None:
    task = claimed_turn(store)
    control(store, "pause")
    listen(store, task)
    signal_to(store, 5)
    assert claim(store) is None

    control(store, "resume")

    assert plain(claimed(store).turn.steps[0].output)["value"] == 5


def test_a_lease_that_ends_under_a_pause_counts_and_waits_for_the_resume(store: Store) -> None:
    claimed_turn(store)
    control(store, "pause")
    store.clock.pass_ms(HOUR)
    assert (inspect(store).status, current(store).status, claim(store)) == ("paused", "queued", None)

    control(store, "resume")

    assert claimed(store).turn.attempt == 2


@pytest.mark.parametrize("action", ["resume", "wake"])
def test_an_uncounted_wait_ends_now(store: Store, action: str) -> None:
    fail(store, claimed_turn(store), retry_at_ms=START_MS + HOUR)
    store.clock.pass_ms(5)

    control(store, action)

    assert (current(store).ready_at_ms, claimed(store).turn.attempt) == (START_MS + 5, 1)


def test_resume_ends_the_delay_of_a_retry_and_wake_does_not(store: Store) -> None:
    fail(store, claimed_turn(store))
    before = dump(store.location)

    control(store, "wake")
    assert (claim(store), dump(store.location)) == (None, before)

    control(store, "resume")
    assert claimed(store).turn.attempt == 2


@pytest.mark.parametrize("action", ["resume", "wake"])
@pytest.mark.parametrize("wait", [lambda s, t: sleep(s, t, HOUR), lambda s, t: listen(s, t)], ids=["sleep", "signal"])
def test_neither_ends_a_sleep_or_a_wait_for_a_signal(store: Store, action: str, wait: Any) -> None:
    """P15."""
    wait(store, claimed_turn(store))
    before = dump(store.location)

    control(store, action)

    assert (claim(store), dump(store.location)) == (None, before)


def test_pausing_twice_or_resuming_what_runs_changes_nothing(store: Store) -> None:
    """P7."""
    start(store)
    before = dump(store.location)
    control(store, "resume")
    assert dump(store.location) == before

    control(store, "pause")
    paused = dump(store.location)
    store.clock.pass_ms(5)
    control(store, "pause")
    assert dump(store.location) == paused


# -- retry and skip ----------------------------------------------------------------------------------------------


def test_a_retried_turn_keeps_steps_and_cursor_and_has_all_attempts_anew(store: Store) -> None:
    """P8."""
    task = claimed_turn(store, max_attempts=2)
    save(store, task, "s", output="kept")
    begin(store, task, "t", 1)
    progress(store, task, 1, None, "cursor", key="t")
    fail_for_good(store, task)

    assert control(store, "retry", 1).status == "queued"

    attempts = []
    for _ in range(2):
        again = claimed(store)
        attempts.append(again.turn.attempt)
        assert [plain(step.output) for step in again.turn.steps] == ["kept"]
        assert again.effect_prefix == task.effect_prefix
        operation = begin(store, again, "t", 1).operation
        assert operation is not None
        assert plain(operation.checkpoint) == "cursor"
        fail(store, again)
        store.clock.pass_ms(HOUR)
    assert (attempts, current(store).status) == ([2, 3], "failed")


def test_a_skipped_turn_stays_failed_in_the_history_and_the_next_runs(store: Store) -> None:
    """P17: the state stays as before the failed turn."""
    task = claimed_turn(store, messages=2, state="before")
    fail_for_good(store, task)

    control(store, "skip", 1)

    assert [(one.number, one.status, one.error) for one in history(store).turns] == [(1, "failed", "no")]
    following = claimed(store)
    assert (following.turn.number, plain(following.state), inspect(store).completed_turns) == (2, "before", 0)


@pytest.mark.parametrize("action", ["retry", "skip"])
def test_a_repeated_command_cannot_hit_the_next_turn(store: Store, action: str) -> None:
    """The number of the turn is required."""
    task = claimed_turn(store, messages=2)
    fail_for_good(store, task)
    control(store, "skip", 1)
    fail_for_good(store, claimed(store))
    before = dump(store.location)

    with refused("conflict", f"cannot {action} turn 1: the current turn is 2"):
        control(store, action, 1)

    assert dump(store.location) == before


@pytest.mark.parametrize("action", ["retry", "skip", "cancel_turn"])
def test_a_command_about_a_turn_needs_its_number(store: Store, action: str) -> None:
    fail_for_good(store, claimed_turn(store))

    with refused("invalid_param", f"turn: got nothing, expected the number of the turn to {action}") as info:
        control(store, action)

    assert info.value.param == "turn"


@pytest.mark.parametrize("action", ["retry", "skip"])
def test_a_turn_that_has_not_failed_is_neither_retried_nor_skipped(store: Store, action: str) -> None:
    claimed_turn(store)

    with refused("conflict", f"cannot {action} turn 1: it has not failed, it is held"):
        control(store, action, 1)
    with refused("conflict", f"cannot {action} turn 9: the current turn is 1"):
        control(store, action, 9)


# -- cancel ------------------------------------------------------------------------------------------------------


def test_a_cancelled_held_turn_ends_at_once_and_its_holder_learns_it(store: Store) -> None:
    """P16: the state is unchanged and the next message runs."""
    task = claimed_turn(store, messages=2, state="before")
    save(store, task)

    control(store, "cancel_turn", 1)

    assert (current(store).status, current(store).finished_at_ms) == ("cancelled", START_MS)
    for call in (heartbeat, complete, lambda s, t: save(s, t, "t", 1), fail):
        with refused("turn_lease_lost"):
            call(store, task)
    assert (claimed(store).turn.number, plain(inspect(store).state)) == (2, "before")


@pytest.mark.parametrize(
    "wait",
    [lambda s, t: sleep(s, t, HOUR), lambda s, t: listen(s, t), lambda s, t: fail(s, t), fail_for_good],
    ids=["asleep", "listening", "retrying", "failed"],
)
def test_any_unfinished_turn_can_be_cancelled(store: Store, wait: Any) -> None:
    wait(store, claimed_turn(store))

    control(store, "cancel_turn", 1)

    assert (current(store).status, inspect(store).status) == ("cancelled", "idle")


def test_a_turn_in_line_can_be_cancelled_and_is_passed_over(store: Store) -> None:
    task = claimed_turn(store, messages=3)

    control(store, "cancel_turn", 2)
    complete(store, task)

    assert (claimed(store).turn.number, inspect(store).pending_messages) == (3, 1)
    assert [(one.number, one.status) for one in history(store).turns] == [(1, "completed"), (2, "cancelled")]


def test_a_finished_or_unknown_turn_cannot_be_cancelled(store: Store) -> None:
    complete(store, claimed_turn(store))

    with refused("conflict", "cannot cancel turn 1: it has finished .completed."):
        control(store, "cancel_turn", 1)
    with refused("turn_not_found", "a has no turn 9"):
        control(store, "cancel_turn", 9)
