"""A turn: one message being worked on. A worker's requests, and what is read (lbb-engine 3.1, 3.12 to 3.19)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import limits
from turnbuckle.wire.base import (
    Answer,
    AtMs,
    Count,
    Id,
    Json,
    Name,
    PollMs,
    Request,
    Token,
    TurnNumber,
    WorkerName,
)
from turnbuckle.wire.effect import WorkflowEffect
from turnbuckle.wire.run import WorkflowRunResultsReport, WorkflowRunUsage, WorkflowTurnRun
from turnbuckle.wire.step import Events, WorkflowProgress, WorkflowStepCheckpoint, WorkflowTurnOperation

TurnStatus = Literal["queued", "running", "waiting", "completed", "failed", "cancelled"]


class WorkflowMessageOrigin(Request, omit_defaults=True, frozen=True, kw_only=True):
    """Where a message came from. Stored with the turn, no part of the message's identity."""

    kind: Annotated[str, Meta(min_length=1)]
    actor: str | None = None
    attempt: Count | None = None
    due_at_ms: AtMs | None = None
    event: str | None = None
    fields: list[str] | None = None
    from_seq: Count | None = None
    to_seq: Count | None = None
    target_seq: Count | None = None
    media_type: str | None = None
    message_id: str | None = None
    note: Annotated[str, Meta(max_length=limits.ORIGIN_NOTE_CHARS)] | None = None
    ontology_version: Count | None = None
    reason: str | None = None
    requests: list[str] | None = None
    revision: str | None = None
    sha256: str | None = None
    trigger: str | None = None
    turn: Count | None = None
    uploaded_at_ms: AtMs | None = None


class WorkflowTurnSignal(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    value: Json
    at_ms: AtMs
    consumed_by: str | None = None


class WorkflowTurnWait(Answer, frozen=True, kw_only=True):
    """An uncounted wait. A sleep or a signal wait is not one."""

    since_ms: AtMs
    until_ms: AtMs
    reason: Literal["capacity"] | None = None  # absent: a retry


class WorkflowTurn(Answer, frozen=True, kw_only=True):
    workflow_id: str
    number: Count
    message_id: str
    message: Json
    version: str
    status: TurnStatus
    attempt: Count
    created_at_ms: AtMs
    updated_at_ms: AtMs
    ready_at_ms: AtMs  # when a worker may claim it
    steps: list[WorkflowStepCheckpoint]
    result: Json
    state_after: Json
    sequence: Count
    origin: Json | None = None
    worker: str | None = None
    deadline_ms: AtMs | None = None  # end of the lease while running
    finished_at_ms: AtMs | None = None
    operation: WorkflowTurnOperation | None = None
    progress: WorkflowProgress | None = None
    signals: list[WorkflowTurnSignal] | None = None
    effects: list[WorkflowEffect] | None = None  # ours: what its steps did outside, or may have done
    wait: WorkflowTurnWait | None = None
    error: str | None = None
    continued_to: Count | None = None
    run: WorkflowTurnRun | None = None


class WorkflowClaimPair(Request, frozen=True, kw_only=True):
    workflow_type: Name
    version: Name


class WorkflowTurnClaimRequest(Request, frozen=True, kw_only=True):
    worker: WorkerName
    workflows: Annotated[list[WorkflowClaimPair], Meta(min_length=1, max_length=limits.CLAIM_PAIRS)]
    wait_ms: PollMs = 0
    include_execution_credential: bool = False


class WorkflowTurnTask(Answer, frozen=True, kw_only=True):
    """What a worker needs to run a turn: it holds the turn while it renews the lease under `token`."""

    workflow_type: str
    state: Json
    token: str
    lease_ms: Count
    effect_prefix: str
    turn: WorkflowTurn
    results_max: Count | None = None


class WorkflowTurnClaimResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    task: WorkflowTurnTask | None


class WorkflowTurnLeaseRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token


class WorkflowTurnSignalRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    id: Id
    name: Name
    value: Json


class WorkflowTurnContinuation(Request, frozen=True, kw_only=True):
    message: Json


class WorkflowTurnCompleteRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token
    state: Json
    result: Json | UnsetType = UNSET
    continuation: WorkflowTurnContinuation | None = None
    usage: WorkflowRunUsage | None = None
    results: WorkflowRunResultsReport | None = None
    events: Events | None = None


class WorkflowTurnFailRequest(Request, frozen=True, kw_only=True):
    workflow_id: Name
    turn: TurnNumber
    token: Token
    error: str
    non_retryable: bool = False
    retry_at_ms: AtMs | None = None
    usage: WorkflowRunUsage | None = None
    results: WorkflowRunResultsReport | None = None
    events: Events | None = None


class WorkflowTurnQuery(Request, frozen=True, kw_only=True):
    id: Name
    turn: TurnNumber
    wait_ms: PollMs = 0  # ours: wait this long for the turn to finish (decision 45)


class WorkflowTurnHistoryQuery(Request, frozen=True, kw_only=True):
    id: Name
    after: TurnNumber = 0
    limit: Annotated[int, Meta(ge=1, le=limits.HISTORY_PAGE_MAX)] = limits.HISTORY_PAGE_MAX
    payloads: bool = True  # ours; false: message, result, state, outputs and signals come as null, none is read


class WorkflowTurnHistoryResponse(Answer, frozen=True, kw_only=True):
    turns: list[WorkflowTurn]
    next_after: Count | None = None
