"""What code of a component may use up, and how it is told that it did."""

from dataclasses import dataclass
from typing import Literal

Limit = Literal["time", "memory", "recursion", "calls", "printed", "event", "output", "code"]


@dataclass(frozen=True)
class SandboxLimits:
    """Bounds of one run of code. A breach of any but `recursion` cannot be caught by the code."""

    time_s: float = 60.0  # while code runs; waiting for the host does not count (blobhub 9, row 9)
    memory_bytes: int = 64 * 2**20
    recursion_depth: int = 500
    calls: int = 1_000  # of helpers, the clock and random numbers
    printed_bytes: int = 48 * 1024  # so that it fits into one event of 64 KiB
    event_bytes: int = 60 * 1024  # one event that the code posts; 64 KiB with what the runner adds (blobhub 5.5)
    output_bytes: int = 4 * 2**20  # all outputs together, and all events together, as JSON
    value_bytes: int = 2**20  # one output, or what one helper is asked (blobhub 5.5, step 10)
    code_bytes: int = 256 * 1024


_SENTENCES: dict[Limit, str] = {
    "time": "The code ran longer than {0.time_s:g} s.",
    "memory": "The code needed more than {0.memory_bytes} bytes of memory.",
    "recursion": "The code called itself more than {0.recursion_depth} levels deep.",
    "calls": "The code asked the host more than {0.calls} times (helpers, clock, random numbers).",
    "printed": "The code printed more than {0.printed_bytes} bytes.",
    "event": "An event is over {0.event_bytes} bytes as JSON.",
    "output": (
        "An output or an argument is over {0.value_bytes} bytes as JSON,"
        " or all outputs or all events over {0.output_bytes}."
    ),
    "code": "The code is longer than {0.code_bytes} bytes.",
}


def breach_sentence(limit: Limit, limits: SandboxLimits) -> str:
    return f"{_SENTENCES[limit].format(limits)} Limit: {limit}."
