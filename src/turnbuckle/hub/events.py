"""The types of events in a run's log (blobhub 5.7). `message` is always a short line for people."""

from typing import Any, Final

import msgspec

FLOW_ENTERED: Final = "flow.entered"
FLOW_EXITED: Final = "flow.exited"
FLOW_ERROR: Final = "flow.error"
ENTERED: Final = "processor.entered"
EXITED: Final = "processor.exited"
ERROR: Final = "processor.error"
OUTPUT: Final = "processor.output"
WARNING: Final = "processor.warning"
PAUSED: Final = "processor.paused"  # ours
# type -> when it is written
EXECUTION_EVENTS: Final = {
    FLOW_ENTERED: "The run begins.",
    FLOW_EXITED: "The run ended cleanly, or was stopped: then `reason` is `stopped`.",
    FLOW_ERROR: "The run failed.",
    ENTERED: "Control enters a component.",
    EXITED: "A component is done; with its `route` and `duration_ms`.",
    ERROR: "A component failed, or its code says so.",
    OUTPUT: "A component's code printed or posted something, or stored an output.",
    WARNING: "A component's code warns.",
    PAUSED: "The run waits at a breakpoint before a component.",
}


class Event(msgspec.Struct, frozen=True):
    type: str
    message: str
    attributes: dict[str, Any]


def flow_stopped(reason: str = "stopped") -> Event:
    """The last event of a stopped run; its status is saved before (5.5 rule 9)."""
    return Event(FLOW_EXITED, "Stopped", {"status": "stopped", "reason": "stopped", "cause": reason})
