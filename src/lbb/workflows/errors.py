"""What a workflow raises, grouped by what it does to the turn (lbb-engine 5.8).

    Exception
    ├── WorkflowError       the turn fails for good: running it again cannot help
    ├── WorkflowWait        the turn waits until a time; no attempt is counted
    └── WorkflowTurnFailed  raised by `handle.result`: the turn ended without a result (ours)
    BaseException
    ├── Suspended           the turn sleeps or waits for a signal; it goes on with a later claim
    └── TurnStopped         this attempt is over: lease lost, timed out, released, or the handler has returned

Any other exception fails the attempt, and the turn runs again while it has attempts left.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lbb.models import WorkflowTurn

_BARE_EXCEPT = (
    "It is a BaseException, so that `except Exception` lets it pass. "
    "A bare `except:` catches it: raise it again, because every further call of ctx raises it too."
)


class WorkflowError(Exception):
    """Fails the turn for good. Raise it when the message or the state can never be worked on."""


class WorkflowWait(Exception):
    """The turn runs again at `retry_at_ms` (Unix milliseconds, at least a second ahead) and counts no attempt."""

    def __init__(self, retry_at_ms: int, message: str = "the turn waits") -> None:
        super().__init__(message)
        if isinstance(retry_at_ms, bool) or not isinstance(retry_at_ms, int | float):
            raise TypeError(f"retry_at_ms is Unix milliseconds, not {type(retry_at_ms).__name__}")
        self.retry_at_ms = int(retry_at_ms)


class WorkflowTurnFailed(Exception):
    """The turn that was waited for failed or was cancelled. `turn` is what the server says of it."""

    def __init__(self, turn: "WorkflowTurn") -> None:
        reason = f": {turn.error}" if turn.error else ""
        super().__init__(f"turn {turn.number} of {turn.workflow_id} is {turn.status}{reason}")
        self.turn = turn


class Suspended(BaseException):
    """Unwinds the handler of a turn that sleeps or waits. The turn goes on with a later claim."""

    def __init__(self, turn: str, key: str) -> None:
        super().__init__(f'turn {turn} is suspended by step "{key}"; this is not an error. {_BARE_EXCEPT}')


class TurnStopped(BaseException):
    """Unwinds the handler of an attempt that is over in this worker."""

    def __init__(self, turn: str, reason: str) -> None:
        super().__init__(f"this attempt of turn {turn} is over: {reason}. {_BARE_EXCEPT}")
