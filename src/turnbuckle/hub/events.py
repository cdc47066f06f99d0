"""What a run's log and a session's feed tell: the types of events and what each carries (blobhub 3.7, 5.7).

An execution event is `{"type", "message", "attributes"}` here; ids and the time are the store's. `message` is always a
short line for people.
"""

from typing import Any, Final

import msgspec

from turnbuckle.hub.document import Component
from turnbuckle.hub.position import Ended, Fault
from turnbuckle.wire.hub_limits import EVENT_BYTES

FLOW_ENTERED: Final = "flow.entered"
FLOW_EXITED: Final = "flow.exited"
FLOW_ERROR: Final = "flow.error"
ENTERED: Final = "processor.entered"
EXITED: Final = "processor.exited"
ERROR: Final = "processor.error"
OUTPUT: Final = "processor.output"
WARNING: Final = "processor.warning"
# type -> when it is written
EXECUTION_EVENTS: Final = {
    FLOW_ENTERED: "The run begins.",
    FLOW_EXITED: "The run ended cleanly, or was stopped.",
    FLOW_ERROR: "The run failed.",
    ENTERED: "Control enters a component.",
    EXITED: "A component is done; with its result and how long it took.",
    ERROR: "A component failed, or its code says so.",
    OUTPUT: "A component's code printed or posted something, or stored an output.",
    WARNING: "A component's code warns.",
}
SESSION_EVENTS: Final = (
    "session_object_modified",
    "session_object_deleted",
    "session_thread_item_posted",
    "session_graph_changed",
    "session_closing",
    "session_closed",
    "session_deleting",
    "session_deleted",
    "execution_started",
    "execution_ended",
)


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    type: str
    message: str
    attributes: dict[str, Any] = {}
    data_id: str | None = None  # of a stored output


class EventTooLarge(Exception):
    """An event over the limit of 64 KiB; the run that writes it fails."""

    def __init__(self, size: int) -> None:
        super().__init__(f"an event of {size:,} bytes; the limit is {EVENT_BYTES:,}")


def check_size(event: Event) -> Event:
    size = len(msgspec.json.encode(event))
    if size > EVENT_BYTES:
        raise EventTooLarge(size)
    return event


def flow_entered(definition: str) -> Event:
    return Event(FLOW_ENTERED, f"Started {definition}")


def flow_ended(ended: Ended) -> Event:
    """The last event of a run that came to an end of its own."""
    if ended.status == "completed":
        return Event(FLOW_EXITED, "Completed", {"status": "completed"})
    # A flow.end with status `failed` is an end that the document asks for, and has no fault.
    fault = ended.error or Fault("failed", "The definition ended the run as failed")
    named = {} if ended.component_id is None else {"processor_id": ended.component_id}
    return Event(FLOW_ERROR, fault.message, {"status": "failed", "code": fault.code, **named})


def flow_stopped(reason: str = "stopped") -> Event:
    """The last event of a stopped run; its status is saved before (5.5 rule 9)."""
    return Event(FLOW_EXITED, "Stopped", {"status": "stopped", "reason": "stopped", "cause": reason})


def entered(component: Component, key: str) -> Event:
    return Event(ENTERED, f"Entered {component.title}", _processor(component, key))


def exited(component: Component, key: str, duration_ms: int, route: str | None, terminal: bool = False) -> Event:
    attributes = _processor(component, key) | {"duration_ms": duration_ms, "terminal": terminal}
    line = f"{component.title} took {duration_ms} ms"
    if route is not None:
        attributes["route"] = route
        line += f": {route}"
    return Event(EXITED, line, attributes)


def error(component: Component, key: str, fault: Fault) -> Event:
    return Event(ERROR, fault.message or fault.code, _processor(component, key) | {"code": fault.code})


def posted(
    event_type: str, component: Component, key: str, message: str, attributes: dict[str, Any] | None = None
) -> Event:
    """One of OUTPUT, WARNING and ERROR, by the component's code. Its attributes cannot pretend to be another's."""
    return Event(event_type, message, {**(attributes or {}), **_processor(component, key)})


def stored(component: Component, key: str, route: str, data_id: str) -> Event:
    """An output is kept for reading from outside."""
    return Event(OUTPUT, f"{component.title} stored {route}", _processor(component, key) | {"route": route}, data_id)


def _processor(component: Component, key: str) -> dict[str, Any]:
    return {
        "processor_id": component.id,
        "processor_type": component.type,
        "processor_name": component.name,
        "component_key": key,
    }
