"""What a component raises, and which failures are the server's or the network's and may pass.

Exception
├── ComponentFailed   the component gives the result `failure`; the run fails where no edge leads on
│   └── RunFailed     the run fails, whatever edges there are
└── SandboxLost       the attempt fails and is repeated: nobody's fault
"""

from typing import Any

import httpx

from lbb import LbbError
from lbb.workflows import WorkflowError, WorkflowWait
from turnbuckle.hub.position import Fault, Outcome


class ComponentFailed(Exception):
    """Raise it in a component's step or beside it. `code` is a word in snake case, `message` a sentence."""

    is_fatal = False

    def __init__(self, code: str, message: str, outputs: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.outputs = outputs or {}

    @property
    def outcome(self) -> Outcome:
        return Outcome("failure", self.outputs, error=Fault(self.code, self.message), is_fatal=self.is_fatal)


class RunFailed(ComponentFailed):
    """A guard of the run was breached (blobhub 5.5, rule 10)."""

    is_fatal = True


class SandboxLost(Exception):
    """The process that ran code was ended from outside."""


def may_pass(error: Exception) -> bool:
    """Whether the attempt fails with it, so that the turn runs again: not a failure of the component."""
    return isinstance(error, LbbError | WorkflowError | WorkflowWait | httpx.RequestError | SandboxLost)
