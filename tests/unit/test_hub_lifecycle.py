"""What may become of a session, an execution and a revision, and what is refused (blobhub 2.8, 3.3, 3.4)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from turnbuckle.hub import execution, limits, revision, session
from turnbuckle.hub.execution import Execution, ExecutionError
from turnbuckle.hub.revision import Revision
from turnbuckle.hub.session import Session
from turnbuckle.wire.hub_errors import HubRefused

STATUSES = (session.OPEN, session.CLOSING, session.CLOSED, session.DELETING)
ERROR = ExecutionError("code_error", "it broke", "c1")


def a_session(status: str = session.OPEN, alias: str | None = "sdk-demo") -> Session:
    return replace(session.create("s1", "r1", 1, alias=alias), status=status)


def an_execution(status: str = execution.CREATING) -> Execution:
    return replace(execution.create("e1", "s1", "r1", "d1", 1), status=status)


def a_revision(phase: str = revision.DRAFT, status: str = revision.READY) -> Revision:
    return replace(revision.first("r1", "b1", 1), phase=phase, status=status)


def after(action: Callable[[], Any]) -> str:
    """The status it leads to, or the code it is refused with."""
    try:
        return str(action().status)
    except HubRefused as refused:
        return refused.code


NO = "session_not_open"


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        # from:                                     open        closing     closed      deleting
        (lambda s: session.close(s, 0, 2), ("closed", "closing", "closed", NO)),
        (lambda s: session.close(s, 1, 2), ("closing", "closing", "closed", NO)),
        (lambda s: session.reopen(s, 2), ("open", NO, "open", NO)),
        (lambda s: session.delete(s, 0, 2), ("deleted", NO, "deleted", "deleting")),
        (lambda s: session.delete(s, 1, 2), ("deleting", NO, "deleting", "deleting")),
        (lambda s: session.without_runs(s, 2), ("open", "closed", "closed", "deleted")),
        (lambda s: session.update(s, 2, description="d"), ("open", NO, NO, NO)),
    ],
)
def test_a_session_goes_only_where_its_status_lets_it(
    action: Callable[[Session], Session], expected: tuple[str, ...]
) -> None:
    assert tuple(after(partial(action, a_session(status))) for status in STATUSES) == expected


@pytest.mark.parametrize("status", STATUSES[1:])
def test_only_an_open_session_takes_writes(status: str) -> None:
    with pytest.raises(HubRefused) as refused:
        session.check_open(a_session(status))

    assert (refused.value.code, refused.value.kind.status) == ("session_not_open", 409)


def test_a_new_session_is_open_with_its_alias() -> None:
    made = session.create("s1", "r1", 5, alias="sdk-demo", user_id="u1")

    assert (made.status, made.alias, made.created_at_ms) == ("open", "sdk-demo", 5)


@pytest.mark.parametrize("alias", ["abcde", "a" * 43, "5f2c0a0e-9d1b-4c3a-8f7e-0123456789ab", "Upper-case"])
def test_a_session_takes_no_bad_alias(alias: str) -> None:
    assert after(lambda: session.create("s1", "r1", 1, alias=alias)) == "invalid_request_body"
    assert after(lambda: session.update(a_session(), 2, alias=alias)) == "invalid_request_body"


@pytest.mark.parametrize("live_runs", [0, 3])
def test_the_feed_tells_each_step_once_whether_runs_are_live_or_not(live_runs: int) -> None:
    """Deleting an open session never tells `session_closed` (blobhub 3.3)."""

    def told(act: Callable[[Session, int, int], Session]) -> list[str]:
        before = a_session()
        going = act(before, live_runs, 2)
        gone = session.without_runs(going, 3)
        return [*session.events_of(before, going), *session.events_of(going, gone)]

    assert told(session.close) == ["session_closing", "session_closed"]
    assert told(session.delete) == ["session_deleting", "session_deleted"]


def test_a_session_nobody_named_expires_a_week_after_its_last_run() -> None:
    week = 7 * 24 * 3_600_000
    nameless = a_session(alias=None)

    assert session.expires_at_ms(nameless, 0, None) == 1 + week
    assert session.expires_at_ms(nameless, 0, 500) == 500 + week
    assert session.expires_at_ms(nameless, 1, 500) is None
    assert session.expires_at_ms(a_session(), 0, 500) is None


EXECUTION_STATUSES = ("creating", "running", "stopping", "completed", "failed", "stopped")
BAD = "invalid_execution_status"


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        # from:                                      creating    running     stopping    completed    failed    stopped
        (lambda e: execution.start(e, "sha", 2), ("running", "running", "stopping", "completed", "failed", "stopped")),
        (lambda e: execution.complete(e, 2), ("completed", "completed", "stopped", "completed", "failed", "stopped")),
        (lambda e: execution.fail(e, ERROR, 2), ("failed", "failed", "stopped", "completed", "failed", "stopped")),
        (lambda e: execution.stop(e, False, 2), (BAD, "stopping", BAD, BAD, BAD, BAD)),
        (
            lambda e: execution.end_with(e, "session_closed", False, 2),
            ("stopping", "stopping", "stopping", "completed", "failed", "stopped"),
        ),
        (
            lambda e: execution.stopped(e, 2),
            ("creating", "running", "stopped", "completed", "failed", "stopped"),
        ),
    ],
)
def test_an_execution_goes_only_where_its_status_lets_it(
    action: Callable[[Execution], Execution], expected: tuple[str, ...]
) -> None:
    found = tuple(after(partial(action, an_execution(status))) for status in EXECUTION_STATUSES)

    assert found == expected


ACTIONS: list[Callable[[Execution, int], Execution]] = [
    lambda e, now: execution.start(e, "sha", now),
    lambda e, now: execution.complete(e, now),
    lambda e, now: execution.fail(e, ERROR, now),
    lambda e, now: execution.end_with(e, "session_closed", False, now),
    lambda e, now: execution.end_with(e, "session_deleted", True, now),
    lambda e, now: execution.stopped(e, now),
    lambda e, now: execution.after_turn(e, "completed", None, now),
    lambda e, now: execution.after_turn(e, "completed", ERROR, now),
    lambda e, now: execution.after_turn(e, "failed", None, now),
    lambda e, now: execution.after_turn(e, "cancelled", None, now),
]
ARROWS = {
    ("creating", "running"),
    ("creating", "stopping"),
    ("creating", "completed"),  # its turn ended before anything was told of it
    ("creating", "failed"),
    ("creating", "stopped"),  # its turn was cancelled by a person
    ("running", "completed"),
    ("running", "failed"),
    ("running", "stopping"),
    ("running", "stopped"),
    ("stopping", "stopped"),
}


@given(st.lists(st.sampled_from(ACTIONS), max_size=12))
def test_whatever_happens_an_end_is_final_and_a_stopping_run_is_stopped(actions: list[Any]) -> None:
    at = an_execution()
    for now_ms, action in enumerate(actions, start=2):
        then = action(at, now_ms)
        assert then.status == at.status or (at.status, then.status) in ARROWS
        if not at.is_live:
            assert then == at
        assert (then.ended_at_ms is not None) == (not then.is_live)
        assert (then.error is not None) == (then.status == "failed")
        at = then


@pytest.mark.parametrize(("is_parked", "stop_by_ms"), [(True, 100), (False, 5_100)])
def test_a_parked_run_stops_at_once_and_a_busy_one_has_five_seconds(is_parked: bool, stop_by_ms: int) -> None:
    assert execution.stop(an_execution("running"), is_parked, 100).stop_by_ms == stop_by_ms


def test_a_run_no_worker_has_ends_at_once_with_its_session() -> None:
    ending = execution.end_with(an_execution(), "session_closed", False, 100)

    assert (ending.status, ending.stop_by_ms) == ("stopping", 100)
    assert execution.stopped(ending, 101).status == "stopped"


def test_a_turn_without_attempts_fails_the_run_and_says_so() -> None:
    failed = execution.after_turn(an_execution("running"), "failed", None, 9)

    assert failed.error is not None
    assert (failed.status, failed.error.code, failed.ended_at_ms) == ("failed", "attempts_exhausted", 9)


def test_a_child_is_one_deeper_than_its_parent() -> None:
    child = execution.create("e2", "s1", "r1", "d1", 5, parent=replace(an_execution(), depth=2))

    assert (child.depth, child.parent_id) == (3, "e1")


@pytest.mark.parametrize("status", ["creating", "committing", "deleting", "failed"])
def test_a_revision_that_is_not_ready_answers_nothing(status: str) -> None:
    with pytest.raises(HubRefused) as refused:
        revision.check_readable(a_revision(status=status))

    assert refused.value.code == "revision_not_ready"


@pytest.mark.parametrize(
    ("phase", "reads", "writes"),
    [
        ("draft", None, None),
        ("managed", None, None),
        ("commit", None, "revision_not_writable"),
        ("snapshot", "access_denied", "access_denied"),
    ],
)
def test_a_phase_says_what_may_be_done(phase: str, reads: str | None, writes: str | None) -> None:
    def refusal(check: Callable[[Revision], None]) -> str | None:
        try:
            check(a_revision(phase))
        except HubRefused as refused:
            return refused.code
        return None

    assert (refusal(revision.check_readable), refusal(revision.check_writable)) == (reads, writes)


def test_a_draft_is_committed_in_two_steps() -> None:
    going = revision.commit(a_revision(), 0, "first", 2)
    done = revision.ready(going, 3)

    assert (going.phase, going.status) == ("draft", "committing")
    assert (done.phase, done.status, done.comment) == ("commit", "ready", "first")
    assert done.is_committed


@pytest.mark.parametrize(
    ("before", "live_runs", "code"),
    [
        (a_revision(), 1, "revision_in_use"),
        (a_revision("commit"), 0, "revision_not_writable"),
        (a_revision("managed"), 0, "revision_not_writable"),
        (a_revision(status="committing"), 0, "revision_not_ready"),
    ],
)
def test_what_cannot_be_committed_is_refused(before: Revision, live_runs: int, code: str) -> None:
    assert after(lambda: revision.commit(before, live_runs, None, 2)) == code


def test_a_draft_branches_from_the_committed_default_only() -> None:
    made = revision.branch(a_revision("commit"), "r2", "more", 5)

    assert (made.phase, made.status, made.parent_id) == ("draft", "creating", "r1")
    assert (revision.ready(made, 6).phase, revision.ready(made, 6).status) == ("draft", "ready")
    assert after(lambda: revision.branch(None, "r2", "more", 5)) == "revision_not_found"
    assert after(lambda: revision.branch(a_revision(), "r2", "more", 5)) == "revision_not_committed"
    assert after(lambda: revision.branch(a_revision("commit", "committing"), "r2", "m", 5)) == "revision_not_committed"


def test_a_failed_revision_names_what_failed() -> None:
    assert revision.fail(a_revision(status="committing"), "commit", 9).failed_operation == "commit"


def test_one_more_than_the_limit_is_refused_with_the_limit() -> None:
    changed: dict[str, limits.LimitValue] = {limits.EXECUTIONS: 2}
    limits.check_limit(limits.EXECUTIONS, 1, changed)

    with pytest.raises(HubRefused) as refused:
        limits.check_limit(limits.EXECUTIONS, 2, changed)

    assert refused.value.kind.status == 400
    assert refused.value.limit == {"id": "workflow.executions_per_session", "value": 2, "held": 2}


def test_the_limits_of_a_blob_come_in_groups_and_say_where_they_are_set() -> None:
    shown = limits.groups("blobhub.compute.workflow", {limits.SESSIONS: 5}, {limits.SESSIONS: 4})
    found = {limit["id"]: limit for group in shown for limit in group["limits"]}

    assert found[limits.SESSIONS] == {"id": limits.SESSIONS, "value": 5, "source": "blob", "held": 4}
    assert found[limits.CODE_IMPORTS] == {"id": limits.CODE_IMPORTS, "value": [], "source": "default"}
    assert limits.SCHEDULES not in found
    assert all(group["label"] for group in shown)
