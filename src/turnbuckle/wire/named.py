"""A named workflow: a worker's type, a trigger and settings on a graph (lbb-graph 5.1, 5.2, 5.8)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Name, Request
from turnbuckle.wire.call import ModelCallRow
from turnbuckle.wire.instance import InstanceStatus, OnExhausted
from turnbuckle.wire.run import WorkflowRunCounts, WorkflowRunInput, WorkflowRunSummary, WorkflowRunUsage
from turnbuckle.wire.schedule import WorkflowScheduleSettings
from turnbuckle.wire.stream import WorkflowStreamSettings
from turnbuckle.wire.watch import Term, WorkflowInFlight, WorkflowPass, WorkflowWatch, WorkflowWatchRequest

_Terms = Annotated[list[Term], Meta(max_length=limits.OWNED_NAMES)]
_Batch = Annotated[int, Meta(ge=1, le=limits.WATCH_BATCH_MAX)]
_Usd = Annotated[float, Meta(ge=0, le=1_000_000_000)]
TriggerKind = Literal["watch", "schedule", "stream", "review"]


class WorkflowWorkerType(Request, frozen=True, kw_only=True):
    """What a worker registers: its turns are claimed by this pair."""

    workflow_type: Name
    version: Name


class WorkflowOwns(Request, omit_defaults=True, frozen=True, kw_only=True):
    """What the workflow writes: these never wake it. Asked by name, shown as IRIs."""

    classes: _Terms | None = None
    relations: _Terms | None = None
    properties: _Terms | None = None


# -- status ------------------------------------------------------------------------------------------------------


class WorkflowSpend(Answer, omit_defaults=False, frozen=True, kw_only=True):
    month: str  # UTC, YYYY-MM
    cost_micro_usd: Count


class WorkflowBackfill(Answer, frozen=True, kw_only=True):
    scanned: Count
    target_seq: Count
    cursor: str | None = None


class NamedWorkflowStatus(Answer, frozen=True, kw_only=True):
    state: Literal["backfilling", "ready", "paused", "failed", "unavailable"]
    pending: Count | None = None  # what waits for a message
    pending_since_ms: AtMs | None = None
    processed_through_seq: Count | None = None
    published_seq: Count | None = None
    lag_commits: Count | None = None
    counters: dict[str, int] | None = None
    backfill: WorkflowBackfill | None = None
    spend: WorkflowSpend | None = None
    budget_usd_per_month: float | None = None
    last_error: str | None = None
    last_error_at: str | None = None  # RFC 3339


class NamedWorkflowShardState(Answer, frozen=True, kw_only=True):
    index: Count
    workflow_id: str
    next_message: Count
    pending_messages: Count | None = None  # unfinished turns, whoever sent them
    status: InstanceStatus | None = None  # absent: the instance was deleted
    running: Count | None = None  # the turn a worker holds
    in_flight: WorkflowInFlight | None = None  # the oldest unfinished message of the trigger
    window_full_since: str | None = None  # RFC 3339


class NamedWorkflowDetails(Answer, frozen=True, kw_only=True):
    """What a watch knows beside its status."""

    batch: Count
    every_field: bool
    instance_id: str
    next_message: Count
    paused: bool
    pending_instances: Count
    pending_removed: Count
    workflow: WorkflowWorkerType
    ontology_version: Count | None = None
    in_flight: WorkflowInFlight | None = None


# -- by name -----------------------------------------------------------------------------------------------------


class WorkflowReviewTrigger(Request, omit_defaults=True, frozen=True, kw_only=True):
    """Answers to review items arrive as messages."""

    workflow: str | None = None  # whose items; absent: the workflow's own


class NamedWorkflowTriggerRequest(Request, omit_defaults=True, frozen=True, kw_only=True):
    """One kind each."""

    id: str | None = None
    watch: WorkflowWatchRequest | None = None
    schedule: WorkflowScheduleSettings | None = None
    stream: WorkflowStreamSettings | None = None
    review: WorkflowReviewTrigger | None = None


class NamedWorkflowRequest(Request, omit_defaults=True, frozen=True, kw_only=True):
    """All settings; the same request again changes nothing."""

    name: str
    workflow: WorkflowWorkerType
    triggers: Annotated[list[NamedWorkflowTriggerRequest], Meta(min_length=1, max_length=2)]
    shards: Annotated[int, Meta(ge=1, le=limits.SHARDS_MAX)] | None = None
    route_by: Term | None = None  # a field: instances with one value of it go to one shard
    window: Annotated[int, Meta(ge=1, le=limits.WINDOW_MAX)] | None = None
    batch: _Batch | None = None
    owns: WorkflowOwns | None = None
    fan_in: str | None = None
    on_exhausted: OnExhausted | None = None
    budget_usd_per_month: _Usd | None = None


class NamedWorkflowTrigger(Answer, frozen=True, kw_only=True):
    id: str
    kind: TriggerKind
    watch: WorkflowWatch | None = None
    schedule: WorkflowScheduleSettings | None = None
    stream: WorkflowStreamSettings | None = None
    review: WorkflowReviewTrigger | None = None
    next_at_ms: list[int] | None = None  # ours: the coming slots of a schedule


class NamedWorkflow(Answer, frozen=True, kw_only=True):
    object: Literal["workflow"]
    name: str
    starter: str
    runs_in: Literal["worker", "lbb"]
    workflow: WorkflowWorkerType
    triggers: list[NamedWorkflowTrigger]
    shards: Count
    window: Count
    batch: Count
    on_exhausted: OnExhausted
    paused: bool
    status: NamedWorkflowStatus
    created: str  # RFC 3339
    updated: str
    route_by: str | None = None
    owns: WorkflowOwns | None = None
    fan_in: str | None = None
    budget_usd_per_month: float | None = None
    shard_states: list[NamedWorkflowShardState] | None = None
    details: NamedWorkflowDetails | None = None
    pass_: WorkflowPass | None = msgspec.field(name="pass", default=None)
    active_revision: str | None = None


class NamedWorkflowQuery(Request, frozen=True, kw_only=True):
    name: str


class NamedWorkflowsQuery(Request, frozen=True, kw_only=True):
    """With `name` one workflow, else a page of them."""

    name: str | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.NAMED_PAGE
    cursor: str | None = None


class NamedWorkflowsResponse(Answer, frozen=True, kw_only=True):
    object: Literal["list"]
    data: list[NamedWorkflow]  # by name
    has_more: bool
    next_cursor: str | None = None


class NamedWorkflowDeleteQuery(Request, frozen=True, kw_only=True):
    name: str
    confirm: str  # the name once more


class NamedWorkflowDeleteResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    deleted: bool


class NamedWorkflowPauseRequest(Request, frozen=True, kw_only=True):
    paused: bool = True


class NamedWorkflowRunResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    workflow: NamedWorkflow
    queued: bool


# -- by starter --------------------------------------------------------------------------------------------------


class WorkflowGate(Request, frozen=True, kw_only=True):
    below: float


class TriggeredWorkflowRequest(Request, omit_defaults=True, frozen=True, kw_only=True):
    """What `use_workflow_starter` sends."""

    starter: Annotated[str, Meta(min_length=1, max_length=128)]  # with or without its version, such as `@v1`
    name: str | None = None  # absent: the class's name in lower case
    watch: WorkflowWatchRequest | None = None
    params: dict[str, Any] | None = None  # the starter's own settings
    gate: WorkflowGate | None = None
    budget_usd_per_month: _Usd | None = None
    workflow: WorkflowWorkerType | None = None
    owns: WorkflowOwns | None = None
    batch: _Batch | None = None


class TriggeredWorkflow(Answer, frozen=True, kw_only=True):
    starter: str
    version: str
    name: str
    status: NamedWorkflowStatus
    watch: WorkflowWatch | None = None
    workflow: WorkflowWorkerType | None = None
    owns: WorkflowOwns | None = None
    batch: Count | None = None
    details: NamedWorkflowDetails | None = None
    created_at: str | None = None  # RFC 3339
    updated_at: str | None = None
    active_revision: str | None = None


class TriggeredWorkflowsQuery(Request, frozen=True, kw_only=True):
    starter: str | None = None
    name: str | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.NAMED_PAGE
    cursor: str | None = None


class TriggeredWorkflowsResponse(Answer, frozen=True, kw_only=True):
    object: Literal["list"]
    data: list[TriggeredWorkflow]
    has_more: bool
    next_cursor: str | None = None


# -- runs of all its shards --------------------------------------------------------------------------------------


RunOutcome = Literal["done", "more", "failed", "retried", "budget", "cancelled", "paused"]


class NamedWorkflowRunsQuery(Request, frozen=True, kw_only=True):
    name: str
    outcome: RunOutcome | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT
    cursor: str | None = None


class NamedWorkflowRunsResponse(Answer, frozen=True, kw_only=True):
    """Newest first; kept 30 days."""

    object: Literal["list"]
    data: list[WorkflowRunSummary]
    has_more: bool
    next_cursor: str | None = None


class NamedWorkflowRunQuery(Request, frozen=True, kw_only=True):
    name: str
    id: str


class NamedWorkflowRunAnswer(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """One run with its model calls, at most 1,000."""

    run: WorkflowRunSummary
    calls: list[ModelCallRow]
    calls_truncated: bool


class NamedWorkflowRunStatsQuery(Request, frozen=True, kw_only=True):
    name: str
    hours: Annotated[int, Meta(ge=1, le=168)] = 24


class NamedWorkflowRunStats(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """What the runs did that began in the last hours. Usage and counts are of the newest 10,000 at most."""

    name: str
    hours: Count
    from_ms: AtMs
    to_ms: AtMs
    runs: Count
    outcomes: dict[str, int]
    running_ms: Count  # the runs' durations together
    usage: WorkflowRunUsage
    counts: WorkflowRunCounts
    truncated: bool  # there were more runs than usage and counts tell of


class NamedWorkflowRunResultsQuery(Request, frozen=True, kw_only=True):
    name: str
    run: str | None = None  # its id
    outcome: str | None = None  # a list with commas: written, review, no_value, failed, duplicate
    iri: str | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT
    cursor: str | None = None


class NamedWorkflowRunResult(WorkflowRunInput, omit_defaults=True, frozen=True, kw_only=True):
    """What a run did with one input."""

    id: str
    run: str
    turn: Count
    at_ms: AtMs


class NamedWorkflowRunResultCounts(Answer, omit_defaults=False, frozen=True, kw_only=True):
    counts: WorkflowRunCounts
    inputs: Count  # what the run told of
    listed: Count  # what of it was kept


class NamedWorkflowRunResultsResponse(Answer, frozen=True, kw_only=True):
    """Newest run first, each in the order it told of its inputs."""

    object: Literal["list"]
    data: list[NamedWorkflowRunResult]
    has_more: bool
    next_cursor: str | None = None
    run_counts: NamedWorkflowRunResultCounts | None = None
