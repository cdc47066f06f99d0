"""When something happens next to an instance, and its one-word status: engine/instance.py."""

import pytest
from msgspec.structs import replace

from tests.unit.engine_rows import LEASE, NOW, held, instance, operation, queued
from turnbuckle.engine import instance as instances
from turnbuckle.engine import turn as turns
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import Turn
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.limits import HISTORY_MS

SECOND = 1_000
FAILED = turns.fail(held(), b"no", True, 3, NOW)


# -- the two times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "running", "claimable_at_ms", "due_at_ms"),
    [
        (None, None, None, None),
        (queued(), None, NOW, None),
        (held(), None, NOW + LEASE + SECOND, NOW + LEASE),
        (held(failures=1), None, NOW + LEASE + 2 * SECOND, NOW + LEASE),
        (held(failures=2), None, None, NOW + LEASE),
        (held(), operation(timeout_ms=5_000), NOW + 6_000, NOW + 5_000),
        (held(), operation(timeout_ms=5_000, heartbeat_timeout_ms=300), NOW + 1_300, NOW + 300),
        (turns.sleep(held(), 7_000, NOW), None, NOW + 7_000, None),
        (turns.listen(held(), 7_000, NOW), None, NOW + 7_000, None),
        (turns.hear(turns.listen(held(), 7_000, NOW), NOW + 5), None, NOW + 5, None),
        (turns.defer(held(), b"later", NOW + 7_000, NOW), None, NOW + 7_000, None),
        (turns.fail(held(), b"no", False, 3, NOW), None, NOW + SECOND, None),
        (FAILED, None, None, None),
    ],
    ids=[
        "idle",
        "queued",
        "held",
        "held, failed before",
        "held, last attempt",
        "step timeout",
        "progress timeout",
        "asleep",
        "listening",
        "heard",
        "deferred",
        "retrying",
        "blocked",
    ],
)
def test_two_times_say_what_happens_next(
    head: Turn | None, running: Operation | None, claimable_at_ms: int | None, due_at_ms: int | None
) -> None:
    """Each open turn is held, due, or waiting on a named thing: nothing waits for ever unseen (B070)."""
    scheduled = instances.schedule(instance(), head, running)

    assert (scheduled.claimable_at_ms, scheduled.due_at_ms) == (claimable_at_ms, due_at_ms)


def test_a_held_last_attempt_is_claimable_at_its_end_when_failed_turns_are_skipped() -> None:
    """The claim lets the failed turn go and takes the next message, even before upkeep has looked."""
    scheduled = instances.schedule(instance(on_exhausted="skip"), held(failures=2), None)

    assert (scheduled.claimable_at_ms, scheduled.due_at_ms) == (NOW + LEASE, NOW + LEASE)


def test_a_paused_instance_is_never_claimable_but_still_due() -> None:
    """P10: the held turn goes on, so its attempt may end by itself."""
    scheduled = instances.schedule(instance(paused_at_ms=NOW), held(), None)

    assert (scheduled.claimable_at_ms, scheduled.due_at_ms) == (None, NOW + LEASE)


# -- status (P9) -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "now_ms", "status"),
    [
        (None, NOW, "idle"),
        (queued(), NOW, "queued"),
        (held(), NOW, "running"),
        (turns.sleep(held(), 7_000, NOW), NOW + 6_999, "waiting"),
        (turns.sleep(held(), 7_000, NOW), NOW + 7_000, "queued"),
        (turns.fail(held(), b"no", False, 3, NOW), NOW, "waiting"),
        (FAILED, NOW, "failed"),
    ],
)
def test_the_status_is_one_word(head: Turn | None, now_ms: int, status: str) -> None:
    assert instances.status(instance(), head, now_ms) == status


@pytest.mark.parametrize("head", [None, queued(), held(), FAILED])
def test_paused_wins_over_every_other_status(head: Turn | None) -> None:
    assert instances.status(instance(paused_at_ms=NOW), head, NOW) == "paused"


# -- creation (P4) -----------------------------------------------------------------------------------------------


def test_the_same_creation_is_no_conflict() -> None:
    instances.check_same_creation(instance(head=3, sequence=9), instance())


def test_an_id_in_use_by_another_type_is_refused_with_both() -> None:
    """B011: the error was unclear about what the id already was."""
    asked = instance(workflow_type="other", version="v2", request_hash=b"other")

    with pytest.raises(Refused, match="it is t@v1, this request says other@v2") as refused:
        instances.check_same_creation(instance(), asked)

    assert refused.value.code == "conflict"


def test_an_id_in_use_with_another_state_is_refused_with_both_hashes() -> None:
    with pytest.raises(Refused, match=f"request {b'hash'.hex()}, now {b'other'.hex()}"):
        instances.check_same_creation(instance(), instance(request_hash=b"other"))


# -- the inbox ---------------------------------------------------------------------------------------------------


def test_the_first_message_becomes_the_head_and_later_ones_wait() -> None:
    one = instances.admit(instance(), NOW + 1)
    two = instances.admit(one, NOW + 2)

    assert (one.head, one.last_turn, one.pending) == (1, 1, 1)
    assert (two.head, two.last_turn, two.pending) == (1, 2, 2)


@pytest.mark.parametrize(
    ("turn", "completed"),
    [
        (turns.complete(held(), None, b"hash", None, NOW), 1),
        (turns.skip(FAILED, NOW), 0),
        (turns.cancel(held(), NOW), 0),
    ],
    ids=["completed", "skipped", "cancelled"],
)
def test_a_turn_that_leaves_makes_room_for_the_next(turn: Turn, completed: int) -> None:
    busy = instance(head=1, last_turn=2, pending=2)

    left = instances.let_go(busy, turn, 4, 2, NOW)

    assert (left.head, left.pending, left.completed) == (2, 1, completed)


def test_the_change_counter_never_falls_when_the_head_moves_on() -> None:
    """An instance shows its own counter plus its head's."""
    turn = turns.complete(held(), None, b"hash", None, NOW)
    busy = instance(head=1, last_turn=1, pending=1, sequence=7)

    left = instances.let_go(busy, turn, 4, None, NOW)

    assert left.sequence > busy.sequence + turn.sequence + 4


@pytest.mark.parametrize(("number", "prune_at_ms"), [(256, None), (257, NOW + HISTORY_MS)])
def test_history_is_looked_at_a_day_after_it_passed_256_turns(number: int, prune_at_ms: int | None) -> None:
    done = replace(turns.complete(held(), None, b"hash", None, NOW), number=number)

    assert instances.let_go(instance(head=number, pending=1), done, 0, None, NOW).prune_at_ms == prune_at_ms


# -- control (P7, P15) -------------------------------------------------------------------------------------------


def test_a_failed_head_may_be_retried_or_skipped() -> None:
    assert instances.check_head(instance(), FAILED, 1, "retry") is FAILED


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (None, "cannot retry turn 1: the inbox is empty"),
        (replace(FAILED, number=2), "cannot retry turn 1: the current turn is 2"),
        (held(), "cannot retry turn 1: it has not failed, it is held"),
    ],
)
def test_any_other_turn_may_not(head: Turn | None, why: str) -> None:
    """A repeated command cannot hit the next turn."""
    with pytest.raises(Refused, match=why) as refused:
        instances.check_head(instance(), head, 1, "retry")

    assert refused.value.code == "conflict"


@pytest.mark.parametrize(
    ("head", "resume", "wake"),
    [
        (None, False, False),
        (queued(), False, False),
        (held(), False, False),
        (turns.sleep(held(), 9_000, NOW), False, False),
        (turns.listen(held(), 9_000, NOW), False, False),
        (turns.defer(held(), b"later", NOW + 9_000, NOW), True, True),
        (turns.fail(held(), b"no", False, 3, NOW), True, False),
        (FAILED, False, False),
    ],
    ids=["idle", "queued", "held", "asleep", "listening", "deferred", "retrying", "failed"],
)
def test_resume_and_wake_end_no_sleep_and_no_wait_for_a_signal(head: Turn | None, resume: bool, wake: bool) -> None:
    assert (instances.may_hurry(head, "resume"), instances.may_hurry(head, "wake")) == (resume, wake)


def test_pausing_twice_or_resuming_what_runs_changes_nothing() -> None:
    paused: Instance = instances.pause(instance(), NOW + 1)

    assert instances.pause(paused, NOW + 2) is paused
    assert instances.resume(instance(), NOW + 2) == instance()
    assert instances.resume(paused, NOW + 3).paused_at_ms is None
