"""A run: one executed attempt of a turn, as a record. Usage, results and phases belong to it (lbb-engine 4.10, 6)."""

from typing import Annotated, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Id, Json, Name, Request


class WorkflowRunUsage(Request, omit_defaults=True, frozen=True, kw_only=True):
    """What a run's model calls cost, summed."""

    calls: Count | None = None
    errors: Count | None = None
    tokens_in: Count | None = None
    tokens_out: Count | None = None
    cost_micro_usd: Count | None = None


class WorkflowRunPhase(Answer, frozen=True, kw_only=True):
    phase: str
    started_at_ms: AtMs
    ended_at_ms: AtMs
    done: Count
    total: Count | None = None
    unit: str | None = None


class WorkflowTurnRun(Answer, frozen=True, kw_only=True):
    id: str
    started_at_ms: AtMs
    ended_at_ms: AtMs | None = None
    queue_before: Count
    queue_after: Count | None = None
    phases: list[WorkflowRunPhase] = []  # noqa: RUF012  (msgspec copies the default)
    usage: WorkflowRunUsage | None = None


class WorkflowRunRegion(Request, frozen=True, kw_only=True):
    page: Count
    x0: float
    y0: float
    x1: float
    y1: float


Text512 = Annotated[str, Meta(max_length=512)]


class WorkflowRunValue(Request, omit_defaults=True, frozen=True, kw_only=True):
    property: Text512
    value: Text512
    quote: Annotated[str, Meta(max_length=600)]
    outcome: Annotated[str, Meta(max_length=64)]
    support: str | None = None
    detail: Text512 | None = None
    stated: Text512 | None = None
    unconfirmed: Text512 | None = None
    source: Text512 | None = None
    review_item: Text512 | None = None
    region: WorkflowRunRegion | None = None


RunOutcomeOfInput = Literal["written", "review", "no_value", "failed", "duplicate"]


class WorkflowRunInput(Request, omit_defaults=True, frozen=True, kw_only=True):
    """What a run did with one input instance."""

    iri: Annotated[str, Meta(max_length=2048)] | None = None
    label: Text512
    outcome: RunOutcomeOfInput
    values: Annotated[list[WorkflowRunValue], Meta(max_length=limits.VALUES_PER_INPUT)]
    error: Annotated[str, Meta(max_length=500)] | None = None
    region: WorkflowRunRegion | None = None
    cost_micro_usd: Count | None = None


class WorkflowRunCounts(Request, frozen=True, kw_only=True):
    written: Count = 0
    review: Count = 0
    no_value: Count = 0
    failed: Count = 0
    duplicate: Count = 0


class WorkflowRunResultsReport(Request, frozen=True, kw_only=True):
    inputs: list[WorkflowRunInput]
    counts: WorkflowRunCounts


class WorkflowRunStep(Answer, frozen=True, kw_only=True):
    key: str
    at_ms: AtMs


class WorkflowRunSummary(Answer, frozen=True, kw_only=True):
    """One run, kept 30 days. Fields at their default are left off."""

    v: Literal[1] = 1
    id: str
    workflow: str  # the named workflow, or `instance:<id>`
    identity: str
    turn: Count
    workflow_type: str
    version: str
    attempts: Count  # which attempt this was
    started_at_ms: AtMs
    ended_at_ms: AtMs
    outcome: Literal["done", "more", "failed", "retried", "budget", "cancelled", "paused"]
    error: str | None
    queue_before: Count
    queue_after: Count
    steps: list[WorkflowRunStep]
    phases: list[WorkflowRunPhase]
    origin: Json | None = None
    counters: dict[str, int] | None = None
    sample: list[str] | None = None
    units: Count | None = None
    unit: str | None = None
    usage: WorkflowRunUsage | None = None
    revision: str | None = None
    fingerprint: str | None = None


class WorkflowRunsQuery(Request, frozen=True, kw_only=True):
    id: Name
    after: Id | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT


class WorkflowRunsResponse(Answer, frozen=True, kw_only=True):
    """Runs of one instance, newest first (ours; the reference serves them by named workflow)."""

    runs: list[WorkflowRunSummary]
    next_after: str | None = None


class WorkflowRunQuery(Request, frozen=True, kw_only=True):
    id: Name
    run: Id


class WorkflowRunResultsResponse(Answer, frozen=True, kw_only=True):
    run: WorkflowRunSummary
    results: WorkflowRunResultsReport | None = None
