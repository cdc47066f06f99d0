"""A step: a named unit of a turn with one saved output; and the operation, the step function that runs now."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Json, Name, Request, Token, TurnNumber

StepKind = Literal["step", "sleep", "signal"]
OperationKind = Literal["step", "model", "tool"]
# Ours: what the log of an execution of the second API is to have, from a key of scope `runtime` (decision 36).
Events = Annotated[list[Json], Meta(max_length=limits.EVENTS_PER_STEP)]
Position = Annotated[int, Meta(ge=0, le=limits.INT_MAX)]


class WorkflowStepCheckpoint(Answer, frozen=True, kw_only=True):
    """A saved step, as a replay reads it."""

    key: str
    kind: StepKind
    output: Json
    at_ms: AtMs
    delay_ms: Count | None = None  # a sleep's delay, a signal's timeout
    signal_name: str | None = None
    wake_at_ms: AtMs | None = None


class WorkflowTurnOperation(Answer, frozen=True, kw_only=True):
    """The step function that runs now. Renewing the lease never moves its deadlines."""

    key: str
    kind: OperationKind
    attempt: Count
    started_at_ms: AtMs
    deadline_ms: AtMs
    timeout_ms: Count
    heartbeat_timeout_ms: Count | None = None
    last_heartbeat_ms: AtMs
    sequence: Count
    details: Json
    checkpoint: Json


class WorkflowProgress(Answer, frozen=True, kw_only=True):
    """The last typed progress of the operation. Times are RFC 3339 UTC."""

    phase: str
    done: Count
    total: Count | None = None
    unit: str | None = None
    started_at: str
    heartbeat_at: str


class WorkflowTurnOperationRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token
    key: Name
    position: Position
    kind: OperationKind
    timeout_ms: Annotated[int, Meta(ge=limits.STEP_TIMEOUT_MS[0], le=limits.STEP_TIMEOUT_MS[1])]
    heartbeat_timeout_ms: Annotated[int, Meta(ge=limits.STEP_TIMEOUT_MS[0], le=limits.STEP_TIMEOUT_MS[1])] | None = None
    events: Events | None = None


class WorkflowTurnProgressRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token
    key: Name
    sequence: Annotated[int, Meta(ge=1, le=limits.INT_MAX)]
    details: Json
    checkpoint: Json


class WorkflowTurnCheckpointRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token
    position: Position
    key: Name
    kind: StepKind
    output: Json | UnsetType = UNSET  # absent is null
    delay_ms: Annotated[int, Meta(ge=limits.SLEEP_MS[0], le=limits.SLEEP_MS[1])] | None = None
    events: Events | None = None


class WorkflowTurnWaitSignalRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token
    position: Position
    key: Name
    name: Name
    timeout_ms: Annotated[int, Meta(ge=limits.SIGNAL_TIMEOUT_MS[0], le=limits.SIGNAL_TIMEOUT_MS[1])]
