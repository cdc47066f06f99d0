"""The events of a run, as they go with the requests of its turns (blobhub 5.7).

Each has a key that says which event of the run it is, so that another attempt tells nothing twice.
"""

from typing import Any, Final

from lbb.workflows import WorkflowContext
from turnbuckle.flow.failures import RunFailed
from turnbuckle.flow.hub_calls import HubCalls
from turnbuckle.hub.document import Component
from turnbuckle.hub.value import size_bytes
from turnbuckle.wire.hub_limits import EVENT_BYTES

_MESSAGE_CHARS: Final = 8_000
_MOST_EVENTS = 100  # that wait for the next step
_MOST_BYTES = 512 * 1024


class RunLog:
    """Of one turn. Events wait for the next request of the turn; `flush` sends them when they have become many."""

    def __init__(self, ctx: WorkflowContext, hub: HubCalls, execution_id: str) -> None:
        self._ctx = ctx
        self._hub = hub
        self._execution_id = execution_id
        self._waiting: list[dict[str, Any]] = []
        self._waiting_bytes = 0

    def post(
        self,
        key: str,
        type: str,
        message: str,
        attributes: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """`more`: `component_id`, `component_key` and `data`, a value to keep. RunFailed for over 64 KiB."""
        event: dict[str, Any] = {"key": key, "type": type, "message": message[:_MESSAGE_CHARS]}
        if attributes is not None:
            event["attributes"] = attributes
        if size_bytes(event) > EVENT_BYTES:
            raise RunFailed("event_too_large", f"an event {type} has over {EVENT_BYTES:,} bytes")
        event |= more
        self._ctx.post_event(event)
        self._waiting.append(event)
        self._waiting_bytes += size_bytes(event)

    def saved(self) -> None:
        """A step took them along."""
        self._waiting.clear()
        self._waiting_bytes = 0

    async def flush(self) -> None:
        """Send them by themselves when they are many: a row of components without a step, or code that tells a lot."""
        if len(self._waiting) < _MOST_EVENTS and self._waiting_bytes < _MOST_BYTES:
            return
        await self._hub.post_events(self._execution_id, self._waiting)
        self._ctx.drop_events()
        self.saved()


def about(component: Component) -> dict[str, Any]:
    """The attributes that every event of a component has."""
    return {"processor_id": component.id, "processor_type": component.type, "processor_name": component.name}
