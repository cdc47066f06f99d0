"""Code of `logic.code` components, run in Monty with the names of blobhub 5.6.

- `run_code` runs it; `SandboxPool` holds the processes; `Host` answers what it asks; `RecordingHost` replays answers.
- `check_code` says what is wrong with it before anything runs.
- supported.py and docs/reference/sandbox.md are written by `python -m turnbuckle.flow.sandbox.probe`.
"""

from turnbuckle.flow.sandbox.check import Finding, check_code
from turnbuckle.flow.sandbox.host import AMBIENT, OUTWARD, CodeDiverged, Host, HostRefusal
from turnbuckle.flow.sandbox.limits import SandboxLimits
from turnbuckle.flow.sandbox.outcome import CodeError, CodeEvent, CodeOutcome, CodeOutput
from turnbuckle.flow.sandbox.pool import SandboxPool
from turnbuckle.flow.sandbox.recorded import Answer, RecordingHost
from turnbuckle.flow.sandbox.run import SandboxNames, run_code

__all__ = [
    "AMBIENT",
    "OUTWARD",
    "Answer",
    "CodeDiverged",
    "CodeError",
    "CodeEvent",
    "CodeOutcome",
    "CodeOutput",
    "Finding",
    "Host",
    "HostRefusal",
    "RecordingHost",
    "SandboxLimits",
    "SandboxNames",
    "SandboxPool",
    "check_code",
    "run_code",
]
