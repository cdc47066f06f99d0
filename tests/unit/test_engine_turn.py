"""Turn states and the arrows between them: engine/turn.py."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.engine_rows import LEASE, NOW, TOKEN, held, operation, queued
from turnbuckle.engine import turn as turns
from turnbuckle.engine.ids import token_hash
from turnbuckle.engine.turn import (
    CANCELLED,
    COMPLETED,
    DEFERRED,
    ENDED,
    FAILED,
    HELD,
    LISTENING,
    QUEUED,
    RETRYING,
    SLEEPING,
    WAITING,
    Turn,
)
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused

SECOND, MINUTE, DAY = 1_000, 60_000, 86_400_000


def claim(turn: Turn, now_ms: int, token: str = "again") -> Turn:
    return turns.claim(turn, b"w2", token_hash(token), LEASE, 1, now_ms)


# -- arrows ------------------------------------------------------------------------------------------------------

ARROWS: list[tuple[str, Callable[[], Turn], str]] = [
    ("admit", queued, QUEUED),
    ("claim", held, HELD),
    ("sleep", lambda: turns.sleep(held(), 5_000, NOW), SLEEPING),
    ("listen", lambda: turns.listen(held(), 5_000, NOW), LISTENING),
    ("hear", lambda: turns.hear(turns.listen(held(), 5_000, NOW), NOW + 1), QUEUED),
    ("defer", lambda: turns.defer(held(), b"later", NOW + 5_000, NOW), DEFERRED),
    ("fail with attempts left", lambda: turns.fail(held(), b"no", False, 3, NOW), RETRYING),
    ("fail the last attempt", lambda: turns.fail(held(failures=2), b"no", False, 3, NOW), FAILED),
    ("fail for good", lambda: turns.fail(held(), b"no", True, 3, NOW), FAILED),
    ("complete", lambda: turns.complete(held(), b"1", b"hash", None, NOW), COMPLETED),
    ("retry", lambda: turns.retry(turns.fail(held(), b"no", True, 3, NOW), NOW + 1), QUEUED),
    ("skip", lambda: turns.skip(turns.fail(held(), b"no", True, 3, NOW), NOW + 1), FAILED),
    ("cancel a held turn", lambda: turns.cancel(held(), NOW), CANCELLED),
    ("cancel a queued turn", lambda: turns.cancel(queued(), NOW), CANCELLED),
    ("expire with attempts left", lambda: turns.as_of(held(), None, 3, NOW + LEASE), RETRYING),
    ("expire the last attempt", lambda: turns.as_of(held(failures=2), None, 3, NOW + LEASE), FAILED),
]


@pytest.mark.parametrize(("arrow", "make", "status"), ARROWS, ids=[arrow for arrow, _, _ in ARROWS])
def test_each_arrow_leads_to_its_state(arrow: str, make: Callable[[], Turn], status: str) -> None:
    assert make().status == status


@pytest.mark.parametrize(("arrow", "make", "status"), ARROWS, ids=[arrow for arrow, _, _ in ARROWS])
def test_only_a_held_turn_has_a_token_and_a_lease(arrow: str, make: Callable[[], Turn], status: str) -> None:
    """Whatever lets go of a turn makes the old token worthless in the same write."""
    turn = make()

    assert (turn.token_hash is not None) == (turn.lease_until_ms is not None) == (status == HELD)


@pytest.mark.parametrize(("arrow", "make", "status"), ARROWS, ids=[arrow for arrow, _, _ in ARROWS])
def test_a_turn_leaves_the_inbox_only_with_its_end(arrow: str, make: Callable[[], Turn], status: str) -> None:
    """A turn that failed for good stays, and blocks, until a person skips it."""
    leaves = status in (COMPLETED, CANCELLED) or arrow == "skip"

    assert (make().finished_at_ms is not None) == leaves


def test_every_state_is_waiting_ended_queued_or_held() -> None:
    assert {QUEUED, HELD} | WAITING | ENDED == {status for _, _, status in ARROWS}


@pytest.mark.parametrize(("arrow", "make", "status"), ARROWS[1:], ids=[arrow for arrow, _, _ in ARROWS[1:]])
def test_every_change_raises_the_turns_sequence(arrow: str, make: Callable[[], Turn], status: str) -> None:
    before = queued() if arrow in ("claim", "cancel a queued turn") else held()

    assert make().sequence > before.sequence


# -- claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "turn",
    [
        held(),
        turns.complete(held(), None, b"hash", None, NOW),
        turns.fail(held(), b"no", True, 3, NOW),
        turns.cancel(held(), NOW),
        turns.sleep(held(), 5_000, NOW),
    ],
    ids=["held", "completed", "failed", "cancelled", "asleep"],
)
def test_a_turn_that_is_not_ready_cannot_be_claimed(turn: Turn) -> None:
    with pytest.raises(Refused) as refused:
        claim(turn, NOW + 1)

    assert refused.value.code == "conflict"


def test_a_claim_holds_the_turn_for_the_lease() -> None:
    turn = claim(queued(), NOW + 5)

    assert (turn.worker, turn.lease_until_ms, turn.attempt) == (b"w2", NOW + 5 + LEASE, 1)


@pytest.mark.parametrize(
    ("waiting", "ready_at_ms"),
    [
        (turns.sleep(held(), 5_000, NOW), NOW + 5_000),
        (turns.listen(held(), 7_000, NOW), NOW + 7_000),
        (turns.defer(held(), b"later", NOW + 9_000, NOW), NOW + 9_000),
        (turns.fail(held(), b"no", False, 3, NOW), NOW + SECOND),
        (turns.as_of(held(), None, 3, NOW + LEASE), NOW + LEASE + SECOND),
    ],
    ids=["sleep", "listen", "defer", "fail", "expire"],
)
def test_time_alone_makes_a_waiting_turn_ready(waiting: Turn, ready_at_ms: int) -> None:
    with pytest.raises(Refused):
        claim(waiting, ready_at_ms - 1)

    assert claim(waiting, ready_at_ms).status == HELD


# -- attempts and runs (P3) --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("waiting", "attempt"),
    [
        (turns.sleep(held(), 1, NOW), 1),
        (turns.listen(held(), 1, NOW), 1),
        (turns.hear(turns.listen(held(), 1, NOW), NOW), 1),
        (turns.defer(held(), b"later", NOW, NOW), 1),
        (turns.fail(held(), b"no", False, 3, NOW), 2),
        (turns.as_of(held(), None, 3, NOW + LEASE), 2),
        (turns.retry(turns.fail(held(), b"no", True, 3, NOW), NOW), 2),
    ],
    ids=["sleep", "timed out wait", "heard", "uncounted wait", "failure", "expiry", "retried by a person"],
)
def test_the_attempt_grows_only_after_a_counted_failure(waiting: Turn, attempt: int) -> None:
    assert claim(waiting, NOW + DAY).attempt == attempt


@pytest.mark.parametrize(
    "waiting",
    [turns.sleep(held(), 1, NOW), turns.listen(held(), 1, NOW), turns.hear(turns.listen(held(), 1, NOW), NOW)],
    ids=["sleep", "timed out wait", "heard"],
)
def test_a_claim_after_a_sleep_or_a_signal_goes_on_with_the_run(waiting: Turn) -> None:
    assert waiting.run_ended_at_ms is None
    assert claim(waiting, NOW + DAY).run_id == held().run_id


@pytest.mark.parametrize(
    "waiting",
    [
        turns.defer(held(), b"later", NOW, NOW),
        turns.fail(held(), b"no", False, 3, NOW),
        turns.as_of(held(), None, 3, NOW + LEASE),
        turns.retry(turns.fail(held(), b"no", True, 3, NOW), NOW),
    ],
    ids=["uncounted wait", "failure", "expiry", "retried by a person"],
)
def test_any_other_claim_begins_a_new_run(waiting: Turn) -> None:
    again = claim(waiting, NOW + DAY)

    assert waiting.run_ended_at_ms is not None
    assert (again.run_id, again.run_ended_at_ms) == (f"{NOW + DAY:013d}-a-1", None)


def test_two_runs_that_begin_in_one_millisecond_have_two_ids() -> None:
    """P31: the time part is moved by one."""
    waiting = turns.defer(held(), b"later", NOW, NOW)

    again = turns.claim(turns.hurry(waiting, NOW), b"w", b"hash", LEASE, 1, NOW)

    assert (held().run_id, again.run_id) == (f"{NOW:013d}-a-1", f"{NOW + 1:013d}-a-1")


def test_a_claim_after_an_uncounted_wait_clears_it() -> None:
    waiting = turns.defer(held(), b"later", NOW + 5_000, NOW)

    assert waiting.wait_since_ms == NOW
    assert claim(waiting, NOW + 5_000).wait_since_ms is None


def test_a_retry_by_a_person_gives_all_attempts_anew() -> None:
    """P8: the number of the attempt goes on, the count of failures begins again."""
    turn = held()
    for _ in range(2):
        turn = claim(turns.fail(turn, b"no", False, 3, NOW), NOW + DAY)
    failed = turns.fail(turn, b"no", False, 3, NOW)
    turn = claim(turns.retry(failed, NOW), NOW + DAY)
    assert (failed.status, turn.attempt, turn.failures, turn.error) == (FAILED, 4, 0, None)

    for status in (RETRYING, RETRYING, FAILED):
        failed = turns.fail(turn, b"no", False, 3, NOW)
        assert failed.status == status
        if status == RETRYING:
            turn = claim(failed, NOW + DAY)


# -- the lease ---------------------------------------------------------------------------------------------------


def test_a_token_holds_its_turn() -> None:
    turns.hold(held(), token_hash(TOKEN))


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (claim(turns.fail(held(), b"no", False, 3, NOW), NOW + DAY), "a newer claim holds it"),
        (turns.as_of(held(), None, 3, NOW + LEASE), "its lease has ended"),
        (turns.sleep(held(), 1, NOW), "its lease has ended"),
        (turns.complete(held(), None, b"hash", None, NOW), "it is completed"),
        (turns.cancel(held(), NOW), "it is cancelled"),
    ],
    ids=["claimed again", "expired", "asleep", "completed", "cancelled"],
)
def test_a_token_that_lost_is_refused_and_told_why(turn: Turn, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        turns.hold(turn, token_hash(TOKEN))

    assert refused.value.code == "turn_lease_lost"


def test_a_lease_lives_until_its_last_millisecond() -> None:
    assert turns.as_of(held(), None, 3, NOW + LEASE - 1).status == HELD
    assert turns.as_of(held(), None, 3, NOW + LEASE).status == RETRYING


def test_a_renewal_moves_the_lease_and_no_deadline_of_the_step() -> None:
    """A step that hangs while heartbeats arrive still meets its timeout (P2)."""
    renewed = turns.renew(held(), LEASE, NOW + 4_000)

    assert renewed.lease_until_ms == NOW + 4_000 + LEASE
    assert turns.as_of(renewed, operation(timeout_ms=5_000), 3, NOW + 5_000).status == RETRYING


# -- as of now ---------------------------------------------------------------------------------------------------


def test_an_expiry_happens_at_its_time_however_late_one_looks() -> None:
    """The same turn is read one second or one day after: nothing depends on when somebody looks."""
    soon, late = (turns.as_of(held(), None, 3, NOW + LEASE + later) for later in (0, DAY))

    assert soon == late
    assert (late.ready_at_ms, late.updated_at_ms) == (NOW + LEASE + SECOND, NOW + LEASE)


@given(at=st.integers(0, 3 * LEASE), then=st.integers(0, 3 * LEASE), timeout=st.integers(100, 2 * LEASE))
def test_looking_twice_is_as_good_as_looking_once(at: int, then: int, timeout: int) -> None:
    begun = operation(timeout_ms=timeout)
    first = turns.as_of(held(), begun, 3, NOW + at)

    assert turns.as_of(first, begun, 3, NOW + at + then) == turns.as_of(held(), begun, 3, NOW + at + then)


@pytest.mark.parametrize(
    ("running", "at_ms", "which"),
    [
        (None, NOW + LEASE, "lease expired"),
        (operation(timeout_ms=5_000), NOW + 5_000, "operation timed out"),
        (operation(timeout_ms=5_000, heartbeat_timeout_ms=500), NOW + 500, "operation stopped reporting progress"),
        (operation(timeout_ms=2 * LEASE), NOW + LEASE, "lease expired"),
        (operation(timeout_ms=5_000, position=1), NOW + LEASE, "lease expired"),
        (operation(timeout_ms=5_000, token_hash=b"of an earlier attempt"), NOW + LEASE, "lease expired"),
    ],
    ids=["lease", "timeout", "silence", "lease before timeout", "saved already", "an earlier attempt's"],
)
def test_the_first_limit_that_passes_ends_the_attempt(running: object, at_ms: int, which: str) -> None:
    assert turns.as_of(held(), running, 3, at_ms - 1).status == HELD  # type: ignore[arg-type]

    ended = turns.as_of(held(), running, 3, at_ms)  # type: ignore[arg-type]

    assert (ended.status, ended.updated_at_ms) == (RETRYING, at_ms)
    assert (ended.error or b"").decode().startswith(which)


def test_an_expired_turn_says_which_limit_how_long_and_the_last_progress() -> None:
    """B089: a user read only "expired" and could not tell what to change."""
    progress = b'{"phase":"pages","done":3}'
    slow = operation(timeout_ms=5_000, heartbeat_timeout_ms=500, progress=progress, last_heartbeat_ms=NOW + 4_800)

    timed_out = turns.as_of(held(), slow, 3, NOW + 5_000).error
    silent = turns.as_of(held(), slow, 3, NOW + 4_999).error
    assert silent is None
    silent = turns.as_of(held(), operation(heartbeat_timeout_ms=500, progress=progress), 3, NOW + 500).error
    lease = turns.as_of(held(), operation(timeout_ms=DAY, progress=progress), 3, NOW + LEASE).error

    for text, words in (
        (timed_out, ['step "s"', "timeout_ms 5000", '"done":3']),
        (silent, ['step "s"', "heartbeat_timeout_ms 500", '"done":3']),
        (lease, ["worker 'w'", "since 1970-01-01T00:16:40.000Z", 'step "s"', '"done":3']),
    ):
        assert text is not None
        assert [word for word in words if word not in text.decode()] == []


def test_an_error_that_time_wrote_is_as_short_as_any_other() -> None:
    """The last progress may say a lot; an error text is at most 1,000 characters."""
    chatty = operation(progress=b'{"phase":"' + b"p" * 9_000 + b'","done":3}')

    error = turns.as_of(held(), chatty, 3, NOW + 5_000).error

    assert error is not None
    assert len(error.decode()) <= limits.ERROR_CHARS


# -- uncounted waits (P28, P38) ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "until"),
    [(-DAY, SECOND), (0, SECOND), (999, SECOND), (1_000, SECOND), (5_000, 5_000), (366 * DAY, 366 * DAY)],
)
def test_an_uncounted_wait_lasts_at_least_a_second(asked: int, until: int) -> None:
    """A worker whose clock is behind asks for a time that has passed (B049)."""
    assert turns.defer(held(), b"later", NOW + asked, NOW).ready_at_ms == NOW + until


def test_an_uncounted_wait_of_more_than_366_days_is_refused() -> None:
    with pytest.raises(Refused, match="retry_at_ms: got 31622400001 ms ahead, expected at most 366 days") as refused:
        turns.defer(held(), b"later", NOW + 366 * DAY + 1, NOW)

    assert (refused.value.code, refused.value.param) == ("invalid_param", "retry_at_ms")


def test_an_uncounted_wait_counts_nothing() -> None:
    waiting = turns.defer(held(failures=2), b"later", NOW, NOW)

    assert (waiting.failures, claim(waiting, NOW + SECOND).attempt) == (2, 1)


def test_a_person_ends_a_wait_now() -> None:
    assert turns.hurry(turns.defer(held(), b"later", NOW + DAY, NOW), NOW + 5).ready_at_ms == NOW + 5
