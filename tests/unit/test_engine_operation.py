"""The running step function: begin, progress, cursor and deadlines: engine/operation.py (P25 to P27)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.engine_rows import NOW, held, operation
from turnbuckle.engine import operation as operations
from turnbuckle.engine import turn as turns
from turnbuckle.engine.operation import NULL, Operation
from turnbuckle.wire.errors import Refused

NEXT = b"token of the next attempt"
CURSOR = b'{"page":7}'


def report(before: Operation, sequence: int, *, details: bytes = NULL, cursor: bytes = NULL, typed: bool = False,
           now_ms: int = NOW + 100) -> Operation:  # fmt: skip
    return operations.report(before, sequence, details, cursor, details if typed else None, now_ms)


# -- begin (P26, P27) --------------------------------------------------------------------------------------------


def test_the_first_begin_is_as_asked() -> None:
    assert operations.begin(operation(), None) == operation()


def test_a_begin_that_is_sent_again_moves_no_deadline() -> None:
    """Its first reply was lost; the step's time runs since the first one."""
    running = report(operation(), 1, cursor=CURSOR)

    again = operations.begin(operation(started_at_ms=NOW + 3_000, last_heartbeat_ms=NOW + 3_000), running)

    assert again is running
    assert again.deadline_ms == NOW + 5_000


def test_the_next_attempt_of_a_step_gets_its_cursor() -> None:
    """And begins anew in all else: deadlines, sequence, progress."""
    before = report(operation(), 4, details=b'{"phase":"p","done":1}', cursor=CURSOR, typed=True)

    begun = operations.begin(operation(token_hash=NEXT, attempt=2, started_at_ms=NOW + 9_000), before)

    assert (begun.cursor, begun.sequence, begun.details, begun.progress) == (CURSOR, 0, NULL, None)
    assert (begun.attempt, begun.deadline_ms) == (2, NOW + 14_000)


@pytest.mark.parametrize("fields", [{"key": "other"}, {"position": 1}, {"key": "other", "position": 1}])
def test_another_step_begins_without_that_cursor(fields: dict[str, object]) -> None:
    before = report(operation(), 1, cursor=CURSOR)

    assert operations.begin(operation(**fields), before).cursor == NULL


def test_a_step_that_raised_may_be_followed_by_another_at_its_position() -> None:
    """P26: the handler went on after the exception; the new operation replaces the old one."""
    begun = operations.begin(operation(key="other", started_at_ms=NOW + 50), operation())

    assert (begun.key, begun.started_at_ms) == ("other", NOW + 50)


@given(st.lists(st.sampled_from(["begin", "again", "report", "next attempt"]), max_size=12))
def test_changes_never_fall(history: list[str]) -> None:
    """The turn's change counter shows them, over all operations of the turn."""
    running, token = operation(), 0
    for sequence, event in enumerate(history, 1):
        if event == "report":
            after = report(running, running.sequence + 1)
        else:
            token += event == "next attempt"
            key = f"s{sequence}" if event == "begin" else running.key
            after = operations.begin(operation(key=key, token_hash=str(token).encode()), running)
        assert after.changes >= running.changes
        assert (after.changes == running.changes) == (after is running)
        running = after


# -- progress (P25; decision 12) ---------------------------------------------------------------------------------


def test_a_report_is_saved_and_moves_the_progress_deadline() -> None:
    silent = operation(heartbeat_timeout_ms=500)

    told = report(silent, 1, details=b'"half"', cursor=CURSOR, now_ms=NOW + 400)

    assert (told.details, told.cursor, told.sequence) == (b'"half"', CURSOR, 1)
    assert turns.as_of(held(), told, 3, NOW + 899).status == "held"
    assert turns.as_of(held(), told, 3, NOW + 900).status == "retrying"


@pytest.mark.parametrize("sequence", [1, 2, 3])
def test_a_late_or_repeated_report_changes_nothing(sequence: int) -> None:
    """And extends no deadline: a worker that repeats itself makes no progress."""
    told = report(operation(), 3, details=b'"new"', cursor=CURSOR)

    assert report(told, sequence, details=b'"old"', now_ms=NOW + 4_000) is told


def test_reports_may_skip_numbers() -> None:
    assert report(operation(), 7).sequence == 7


def test_the_last_typed_progress_stays_until_the_next() -> None:
    """A heartbeat with details of the user's own does not clear the progress bar."""
    typed = report(operation(), 1, details=b'{"phase":"p","done":1}', typed=True, now_ms=NOW + 100)

    untyped = report(typed, 2, details=b'"anything"', now_ms=NOW + 200)

    assert untyped.details == b'"anything"'
    assert (untyped.progress, untyped.progress_at_ms) == (b'{"phase":"p","done":1}', NOW + 100)


def test_progress_of_a_step_that_does_not_run_is_refused() -> None:
    with pytest.raises(Refused, match='no step runs in this attempt; got progress of step "s"'):
        operations.check_key(None, "s")
    with pytest.raises(Refused, match='step "s" runs; got progress of step "other"') as refused:
        operations.check_key(operation(), "other")

    assert refused.value.code == "conflict"
    assert operations.check_key(operation(), "s") == operation()


# -- whose it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "running", "is_running"),
    [
        (held(), operation(), True),
        (held(), None, False),
        (held(step_count=1), operation(), False),
        (held(step_count=1), operation(position=1), True),
        (held(), operation(token_hash=b"of an earlier attempt"), False),
        (turns.sleep(held(), 1, NOW), operation(), False),
    ],
    ids=["runs", "none", "saved", "the next", "an earlier attempt's", "asleep"],
)
def test_an_operation_is_over_when_its_step_is_saved_or_its_attempt_ended(
    turn: turns.Turn, running: Operation | None, is_running: bool
) -> None:
    assert turns.is_running(turn, running) == is_running


def test_deadlines_are_gone_after_the_steps_checkpoint() -> None:
    """P2: a turn between two steps has its lease alone."""
    saved = turns.add_step(held(), NOW)

    assert turns.first_deadline(saved, operation(timeout_ms=100)) == turns.first_deadline(saved, None)


def test_without_a_progress_deadline_silence_ends_nothing() -> None:
    assert [limit for _, limit in operation().deadlines()] == ["timeout"]
    assert [at_ms for at_ms, _ in replace(operation(), heartbeat_timeout_ms=500).deadlines()] == [
        NOW + 5_000,
        NOW + 500,
    ]
