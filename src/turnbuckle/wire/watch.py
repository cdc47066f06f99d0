"""A watch: a class and optional fields whose changes send instances to a workflow (lbb-graph 5.1, 5.3, 5.4)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Request
from turnbuckle.wire.turn import WorkflowMessageOrigin

# Letters, digits and marks of terms: a name, `p:text`, `<https://...>`, and one `/` between a link and a step.
Term = Annotated[str, Meta(min_length=1, max_length=limits.WATCH_PATH_CHARS)]
WatchReason = Literal["backfill", "changed", "refresh", "schema_changed"]


class WorkflowWatchFieldRequest(Request, omit_defaults=True, frozen=True, kw_only=True):
    """`path`: `text`, `label`, an IRI in angle brackets, `p:text`, or a link and a step such as `about/label`."""

    path: Term
    name: Annotated[str, Meta(min_length=1, max_length=limits.WATCH_NAME_CHARS)] | None = None
    max: Annotated[int, Meta(ge=1, le=limits.INT_MAX)] | None = None  # kept and shown; a worker reads it


class WorkflowWatchRequest(Request, omit_defaults=True, frozen=True, kw_only=True):
    class_: Term = msgspec.field(name="class")  # an IRI, a name, or `class:Note`
    fields: Annotated[list[Term | WorkflowWatchFieldRequest], Meta(max_length=limits.WATCH_FIELDS)] | None = None
    exclude: Annotated[list[Term], Meta(max_length=limits.WATCH_FIELDS)] | None = None  # fields that wake nothing


class WorkflowWatchField(Answer, frozen=True, kw_only=True):
    path: list[str]  # IRIs: the field's, or a relation's and the field's of the record it leads to
    name: str
    max: Count | None = None


class WorkflowWatch(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """A watch with its terms as IRIs, which survive a renaming."""

    class_: str = msgspec.field(name="class")
    fields: list[WorkflowWatchField]  # none: every fact of the instance counts
    exclude: list[str]


class WorkflowTriggerMessage(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """What a watch sends to a shard. The turn reads the graph at `as_of_commit_seq` or later."""

    type: Literal["instances"]
    workflow: str
    graph: str  # its name
    as_of_commit_seq: Count
    reason: WatchReason
    instances: list[str]  # IRIs
    removed: list[str]  # IRIs of records that left the class
    origin: WorkflowMessageOrigin | None = None


# -- giving instances back ---------------------------------------------------------------------------------------


class WorkflowRequeueItem(Request, frozen=True, kw_only=True):
    instance: Annotated[str, Meta(min_length=1, max_length=limits.IRI_CHARS)]
    error: Annotated[str, Meta(max_length=limits.ERROR_CHARS)] | None = None


class WorkflowRequeueRequest(Request, frozen=True, kw_only=True):
    """What a turn could not do. The same items of the same turn again change nothing."""

    workflow_id: str
    turn: Annotated[int, Meta(ge=1, le=limits.INT_MAX)]
    items: Annotated[list[WorkflowRequeueItem], Meta(min_length=1, max_length=limits.REQUEUE_ITEMS)]


class WorkflowRequeueResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    attempt: Count  # which one the requeued instances will be
    not_before: str | None  # RFC 3339; null when all are exhausted
    requeued: list[str]
    exhausted: list[str]  # given back once too often: they wait for a change


# -- the queue ---------------------------------------------------------------------------------------------------


class WorkflowQueueItem(Answer, frozen=True, kw_only=True):
    """An instance that waits for a message."""

    iri: str
    reason: WatchReason
    origin: WorkflowMessageOrigin
    shard: Count
    due_at_ms: AtMs  # ours
    removed: bool = False


class WorkflowPass(Answer, frozen=True, kw_only=True):
    """A walk over all instances of the class."""

    reason: WatchReason
    target_seq: Count
    scanned: Count
    cursor: str | None = None  # the last IRI it has seen
    origin: WorkflowMessageOrigin | None = None


class WorkflowInFlight(Answer, frozen=True, kw_only=True):
    """A message that was sent and whose turn has not finished."""

    message_id: str
    turn: Count
    sent_at_ms: AtMs


class WorkflowShardTurn(Answer, frozen=True, kw_only=True):
    turn: Count
    message_id: str
    status: Literal["queued", "waiting", "running", "failed"]
    attempt: Count
    received_at_ms: AtMs
    error: str | None = None


class WorkflowQueueShard(Answer, frozen=True, kw_only=True):
    index: Count
    workflow_id: str
    turns: list[WorkflowShardTurn]  # the first unfinished ones, at most 10
    in_flight: WorkflowInFlight | None = None  # the oldest


class WorkflowQueueQuery(Request, frozen=True, kw_only=True):
    name: str
    trigger: str | None = None  # its id; absent: the workflow's main trigger
    cursor: str | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.QUEUE_PAGE_MAX)] = limits.PAGE_DEFAULT


class WorkflowQueueResponse(Answer, frozen=True, kw_only=True):
    """What waits, the next to be sent first."""

    object: Literal["list"]
    data: list[WorkflowQueueItem]
    has_more: bool
    name: str
    trigger: str
    pending: Count
    next_cursor: str | None = None
    processed_through_seq: Count | None = None
    pass_: WorkflowPass | None = msgspec.field(name="pass", default=None)
    shards: list[WorkflowQueueShard] | None = None
