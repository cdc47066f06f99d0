"""A stream: events from outside that a workflow gets in batches (lbb-graph 5.4; the settings' names are ours)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import limits
from turnbuckle.wire.base import ID_PATTERN, Answer, AtMs, Count, Json, Request

EventId = Annotated[str, Meta(min_length=1, max_length=limits.EVENT_ID_CHARS, pattern=ID_PATTERN)]


class WorkflowStreamSettings(Request, omit_defaults=True, frozen=True, kw_only=True):
    """A batch goes out when it is full or its oldest event has waited long enough."""

    batch: Annotated[int, Meta(ge=1, le=limits.EVENTS_PER_REQUEST)] = 100  # events in a message, at most
    wait_ms: Annotated[int, Meta(ge=0, le=limits.HOUR_MS)] = limits.SECOND_MS
    rate_per_minute: Annotated[int, Meta(ge=1, le=limits.INT_MAX)] | None = None
    pending_max: Annotated[int, Meta(ge=1, le=limits.STREAM_PENDING)] = limits.STREAM_PENDING


class WorkflowStreamEvent(Request, omit_defaults=True, frozen=True, kw_only=True):
    """One event. Its id is told apart for a day; events of one `key` reach one shard in order."""

    id: EventId
    key: EventId | None = None
    type: Annotated[str, Meta(max_length=limits.EVENT_ID_CHARS)] | None = None
    time: Annotated[str, Meta(max_length=64)] | None = None
    data: Json | UnsetType = UNSET


class WorkflowStreamEventsQuery(Request, frozen=True, kw_only=True):
    name: str


class WorkflowStreamEventsRequest(Request, frozen=True, kw_only=True):
    events: Annotated[list[WorkflowStreamEvent], Meta(min_length=1, max_length=limits.EVENTS_PER_REQUEST)]


class WorkflowStreamEventsResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    workflow: str
    accepted: Count
    duplicates: Count  # their ids were known: nothing was done with them
    pending: Count  # events that wait for a batch


class WorkflowEventsMessage(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """What one batch sends. The events are in the blob, a JSON list in the order they came."""

    type: Literal["events"] = "events"
    workflow: str
    trigger: str
    graph: str
    shard: Count
    blob: str  # its key, the SHA-256
    count: Count
    bytes: Count
    first_received_at: AtMs
    last_received_at: AtMs
    origin: Json | None = None
