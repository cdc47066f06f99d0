"""What came of one run of code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from turnbuckle.flow.sandbox.check import Finding
from turnbuckle.flow.sandbox.limits import Limit


@dataclass(frozen=True)
class CodeOutput:
    """An output of the component. `value` is a data value (blobhub 5.2); `persist` asks to store it for outside."""

    value: Mapping[str, Any]
    persist: bool


@dataclass(frozen=True)
class CodeEvent:
    type: str  # processor.output, processor.warning or processor.error (blobhub 5.7)
    message: str
    attributes: Mapping[str, Any] | None


@dataclass(frozen=True)
class CodeError:
    """Why the code did not reach its end.

    refused: the check found what cannot run; nothing ran.
    exception: the code raised it. `type` is its name, such as ValueError.
    limit: a bound of SandboxLimits was reached; `limit` names it.
    crashed: the sandbox's process ended by itself, as when the kernel or a Ctrl-C in the server's terminal kills it.
        It is not the code's fault: run it again with the answers recorded so far.
    """

    kind: Literal["refused", "exception", "limit", "crashed"]
    type: str
    message: str
    line: int | None = None  # of the author's code
    traceback: str = ""
    limit: Limit | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class CodeOutcome:
    """`printed` and `events` are what came before the end, also when the end is an error."""

    route: str | None  # None when there is an error
    terminal: bool
    outputs: Mapping[str, CodeOutput]  # by route; empty when there is an error
    printed: str
    events: tuple[CodeEvent, ...]
    error: CodeError | None
