"""An instance: a durable object with a state and an inbox (lbb-engine 3.1 to 3.11)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Id, Json, Name, PageLimit, Request, TurnNumber
from turnbuckle.wire.step import WorkflowProgress
from turnbuckle.wire.turn import WorkflowMessageOrigin, WorkflowTurn, WorkflowTurnWait

InstanceStatus = Literal["idle", "queued", "running", "waiting", "failed", "paused"]
OnExhausted = Literal["block", "skip"]


class WorkflowInstance(Answer, frozen=True, kw_only=True):
    id: str
    workflow_type: str
    version: str
    state: Json
    status: InstanceStatus
    pending_messages: Count
    completed_turns: Count
    history_through: Count
    sequence: Count
    created_at_ms: AtMs
    updated_at_ms: AtMs
    lease_ms: Count  # ours
    max_attempts: Count  # ours
    on_exhausted: OnExhausted = "block"
    current_turn: WorkflowTurn | None = None
    progress: WorkflowProgress | None = None
    history_pruned_through: Count = 0


class WorkflowInstanceCreateRequest(Request, frozen=True, kw_only=True):
    id: Name
    workflow_type: Name
    version: Name
    state: Json | UnsetType = UNSET  # absent is null
    lease_ms: Annotated[int, Meta(ge=limits.LEASE_MS[0], le=limits.LEASE_MS[1])] = limits.LEASE_DEFAULT_MS
    max_attempts: Annotated[int, Meta(ge=limits.ATTEMPTS[0], le=limits.ATTEMPTS[1])] = limits.ATTEMPTS_DEFAULT
    on_exhausted: OnExhausted = "block"


class WorkflowInstanceQuery(Request, frozen=True, kw_only=True):
    id: Name
    payloads: bool = True  # ours; as for the list


class WorkflowInstancesQuery(Request, frozen=True, kw_only=True):
    after: Name | None = None
    limit: PageLimit = limits.PAGE_DEFAULT
    workflow_type: Name | None = None  # ours
    status: InstanceStatus | None = None  # ours
    payloads: bool = True  # ours; false: state, message, outputs and signals come as null, none is read


class WorkflowInstancesResponse(Answer, frozen=True, kw_only=True):
    instances: list[WorkflowInstance]
    next_after: str | None = None


class WorkflowMessageRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    id: Id
    message: Json
    origin: WorkflowMessageOrigin | None = None


class WorkflowInboxQuery(Request, frozen=True, kw_only=True):
    id: Name
    after: TurnNumber = 0
    limit: PageLimit = limits.PAGE_DEFAULT
    payloads: bool = False


class WorkflowInboxMessage(Answer, frozen=True, kw_only=True):
    turn: Count
    message_id: str
    status: Literal["queued", "waiting", "running", "failed"]
    attempt: Count
    received_at_ms: AtMs
    ready_at_ms: AtMs
    message_bytes: Count
    message: Json | None = None
    origin: Json | None = None
    error: str | None = None
    progress: WorkflowProgress | None = None
    wait: WorkflowTurnWait | None = None


class WorkflowInboxResponse(Answer, frozen=True, kw_only=True):
    """The unfinished turns of one instance, oldest first."""

    workflow_id: str
    workflow_type: str
    version: str
    status: InstanceStatus
    messages: list[WorkflowInboxMessage]
    pending_messages: Count
    oldest_received_at_ms: AtMs | None = None
    newest_received_at_ms: AtMs | None = None
    next_after: Count | None = None


class WorkflowInboxByTypeQuery(Request, frozen=True, kw_only=True):
    workflow_type: Name
    version: Name | None = None
    after: Name | None = None
    limit: PageLimit = limits.PAGE_DEFAULT


class WorkflowInboxInstance(Answer, frozen=True, kw_only=True):
    workflow_id: str
    version: str
    status: InstanceStatus
    pending_messages: Count
    oldest_received_at_ms: AtMs | None = None
    head: WorkflowInboxMessage | None = None


class WorkflowInboxByTypeResponse(Answer, frozen=True, kw_only=True):
    workflow_type: str
    identities: Count  # instances of the type, idle ones too
    instances: list[WorkflowInboxInstance]
    version: str | None = None
    next_after: str | None = None


ControlAction = Literal["pause", "resume", "retry", "skip", "cancel_turn", "wake"]


class WorkflowInstanceControlRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    action: ControlAction
    turn: TurnNumber | None = None


class WorkflowInstanceDeleteRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name


class WorkflowInstanceDeleteResponse(Answer, frozen=True, kw_only=True):
    deleted: bool
