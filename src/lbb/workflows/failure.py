"""What a failed handler means for its turn (lbb-engine 5.8)."""

from dataclasses import dataclass

from lbb.errors import LbbError
from lbb.execution_reads import WorkflowExecutionError
from lbb.workflows import limits
from lbb.workflows.errors import TurnStopped, WorkflowError, WorkflowWait


@dataclass(frozen=True, slots=True)
class Failure:
    """What turns/fail says. With `retry_at_ms` the turn waits until then and no attempt is counted."""

    error: str
    non_retryable: bool = False
    retry_at_ms: int | None = None


def failure_of(error: BaseException, now_ms: int) -> Failure | None:
    """None when nothing is to be sent: the lease or the fence is lost, and the turn's next holder goes on."""
    if isinstance(error, TurnStopped) or is_fence_lost(error):
        return None
    text = describe(error)
    match error:
        case WorkflowError() | WorkflowExecutionError():
            return Failure(text, non_retryable=True)
        case WorkflowWait() | LbbError(code="workflow_budget_exceeded", retry_at_ms=int()):
            return waiting(text, error.retry_at_ms or 0, now_ms)
        case _:
            return Failure(text)


def is_fence_lost(error: BaseException) -> bool:
    """Whether a commit was refused because its token no longer holds the turn (lbb-graph 2.7)."""
    return isinstance(error, LbbError) and error.code == "workflow_fence_lost"


def waiting(text: str, retry_at_ms: int, now_ms: int) -> Failure:
    """An uncounted wait until `retry_at_ms`, at least a second ahead."""
    return Failure(text, retry_at_ms=max(retry_at_ms, now_ms + limits.WAIT_MIN_MS))


def describe(error: BaseException) -> str:
    """`LbbError: bad page (code invalid_param, request req_42)`, at most 1,000 characters that UTF-8 can hold.

    Only the outermost exception. A failure must always be storable, so text that cannot be made is replaced.
    """
    try:
        text = str(error)
    except Exception as exc:
        text = f"<its text cannot be made: {type(exc).__name__}>"
    name = type(error).__name__
    return f"{name}: {text}{_suffix(error)}"[: limits.ERROR_CHARS].encode("utf-8", "replace").decode()


def _suffix(error: BaseException) -> str:
    if not isinstance(error, LbbError):
        return ""
    named = {"code": error.code, "request": error.request_id}
    known = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    return f" ({known})" if known else ""
