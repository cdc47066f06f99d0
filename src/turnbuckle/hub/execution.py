"""An execution: one run of a definition, and what may become of it (blobhub 3.4, decisions 35 to 38 and 52).

It is an engine instance `exec.<execution id>` in the reserved graph `hub`; its status follows that instance's turns.
"""

from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_limits import STOP_GRACE_MS

CREATING: Final = "creating"  # -> running, by start; -> stopping, by its session's end; -> failed
RUNNING: Final = "running"  # -> completed, failed; -> stopping, by stop or its session's end
STOPPING: Final = "stopping"  # -> stopped, whatever the run itself says meanwhile
COMPLETED: Final = "completed"
FAILED: Final = "failed"
STOPPED: Final = "stopped"
LIVE: Final = frozenset({CREATING, RUNNING, STOPPING})
ENDED: Final = frozenset({COMPLETED, FAILED, STOPPED})

GRAPH: Final = "hub"  # the engine's graph that holds all executions of an environment
WORKFLOW_TYPE: Final = "flow"
VERSION: Final = "v1"

StopReason = Literal["stopped", "session_closed", "session_deleted", "parent_ended"]


class ExecutionError(msgspec.Struct, frozen=True, omit_defaults=True):
    code: str
    message: str
    component_id: str | None = None


class Execution(msgspec.Struct, frozen=True):
    execution_id: str
    session_id: str
    revision_id: str  # of its session: where the run lives
    definition_id: str
    status: str
    created_at_ms: int
    updated_at_ms: int
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    stop_by_ms: int | None = None  # while stopping: when its turn is cancelled
    stop_reason: str | None = None
    document_sha256: str | None = None  # fixed at the start
    parent_id: str | None = None  # the execution that started it
    depth: int = 0  # of executions started by executions
    error: ExecutionError | None = None

    @property
    def is_live(self) -> bool:
        return self.status in LIVE


def instance_id(execution_id: str) -> str:
    return f"exec.{execution_id}"


def create(
    execution_id: str,
    session_id: str,
    revision_id: str,
    definition_id: str,
    now_ms: int,
    *,
    parent: Execution | None = None,
) -> Execution:
    return Execution(
        execution_id,
        session_id,
        revision_id,
        definition_id,
        CREATING,
        now_ms,
        now_ms,
        parent_id=None if parent is None else parent.execution_id,
        depth=0 if parent is None else parent.depth + 1,
    )


def start(execution: Execution, document_sha256: str, now_ms: int) -> Execution:
    """A worker has it. A later start of the same run, after a crash or in its next turn, changes nothing."""
    if execution.status != CREATING:
        return execution
    return replace(
        execution, status=RUNNING, document_sha256=document_sha256, started_at_ms=now_ms, updated_at_ms=now_ms
    )


def complete(execution: Execution, now_ms: int) -> Execution:
    """The run came to a clean end. One that was stopped meanwhile is stopped, not completed."""
    return _end(execution, COMPLETED, now_ms)


def fail(execution: Execution, error: ExecutionError, now_ms: int) -> Execution:
    """A fault, a dead end, a guard, or a turn without attempts left. One that was stopped meanwhile is stopped."""
    ended = _end(execution, FAILED, now_ms)
    return replace(ended, error=error) if ended.status == FAILED and execution.is_live else ended


def stop(execution: Execution, is_parked: bool, now_ms: int) -> Execution:
    """On its way to stopped, asked for by a person: at once when it is parked, else within 5 s.

    HubRefused(invalid_execution_status) unless it is running (decision 37).
    """
    if execution.status != RUNNING:
        raise HubRefused("invalid_execution_status", f"the execution is {execution.status}, expected running")
    return _stopping(execution, "stopped", is_parked, now_ms)


def end_with(execution: Execution, reason: StopReason, is_parked: bool, now_ms: int) -> Execution:
    """On its way to stopped, since its session or its parent ends: from `creating` too. An ended one stays.

    One that no worker has, and one that is parked, ends at once.
    """
    if execution.status not in (CREATING, RUNNING):
        return execution
    return _stopping(execution, reason, is_parked or execution.status == CREATING, now_ms)


def stopped(execution: Execution, now_ms: int) -> Execution:
    """Its turn has ended or was cancelled. The status is saved before the final event `flow.exited`."""
    return _end(execution, STOPPED, now_ms) if execution.status == STOPPING else execution


def after_turn(execution: Execution, turn_status: str, error: ExecutionError | None, now_ms: int) -> Execution:
    """The execution when its last turn has ended, whoever ended it: the worker, upkeep, or a person.

    `turn_status` is the engine's word; a turn that failed for good fails the run, a cancelled one stops it.
    """
    if turn_status == "completed":
        return complete(execution, now_ms) if error is None else fail(execution, error, now_ms)
    if turn_status == "failed":
        why = error or ExecutionError("attempts_exhausted", "the run's turn has no attempts left")
        return fail(execution, why, now_ms)
    if turn_status == "cancelled":
        return _end(execution, STOPPED, now_ms)
    return execution


def _stopping(execution: Execution, reason: StopReason, ends_now: bool, now_ms: int) -> Execution:
    by_ms = now_ms if ends_now else now_ms + STOP_GRACE_MS
    return replace(execution, status=STOPPING, stop_by_ms=by_ms, stop_reason=reason, updated_at_ms=now_ms)


def _end(execution: Execution, status: str, now_ms: int) -> Execution:
    """Ended for good. The first end stays; a stopping run can only be stopped."""
    if execution.status in ENDED:
        return execution
    word = STOPPED if execution.status == STOPPING else status
    return replace(execution, status=word, ended_at_ms=now_ms, updated_at_ms=now_ms)
