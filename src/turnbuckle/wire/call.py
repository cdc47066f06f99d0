"""The log of model calls: one row for each call that reached a model, kept 31 days (lbb-graph 3.6)."""

from typing import Annotated, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Id, Json, Request

ActivityName = Literal["reason", "decide", "embed", "chat"]
CallUse = Literal["extract", "decide", "embed", "chat"]
CallScope = Literal["live", "test"]


class ModelCallUsage(Answer, frozen=True, kw_only=True):
    tokens_in: Count | None = None
    tokens_out: Count | None = None
    cost_micro_usd: Count | None = None
    ms: Count | None = None  # from the first byte sent to the last one got, retries and all


class ModelCallRow(Answer, frozen=True, kw_only=True):
    """A call as the list shows it."""

    id: str
    at_ms: AtMs
    job: ActivityName
    provider: str
    model: str
    ok: bool
    error: str | None = None
    summary: str
    instance: str | None = None
    run_id: str | None = None
    step: str | None = None
    scope: CallScope | None = None
    use: CallUse | None = None
    usage: ModelCallUsage | None = None
    sampled: bool  # whether a judge looks at it; none does yet


class ModelCallRun(Answer, frozen=True, kw_only=True):
    identity: str | None = None
    turn: Count | None = None
    run_id: str | None = None
    instance: str | None = None


class ModelCallOrigin(Answer, frozen=True, kw_only=True):
    route: str  # `activities/<job>`, or `tests/<workflow>`
    workflow: str | None = None  # the named workflow that was charged
    run: ModelCallRun | None = None


class ModelCall(ModelCallRow, frozen=True, kw_only=True):
    """A call with what was asked and answered. What was too long is kept as the start of its JSON text."""

    graph: str
    input: Json
    output: Json
    truncated: bool
    origin: ModelCallOrigin


class ModelCallsQuery(Request, frozen=True, kw_only=True):
    job: ActivityName | None = None
    day: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] | None = None  # UTC
    checked: bool | None = None  # calls that a judge looked at, or did not
    after: Id | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.CALLS_PAGE_MAX)] = limits.PAGE_DEFAULT


class ModelCallsResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """Newest first."""

    calls: list[ModelCallRow]
    next_after: str | None = None


class ModelCallQuery(Request, frozen=True, kw_only=True):
    id: Id


class ModelCallResponse(Answer, frozen=True, kw_only=True):
    call: ModelCall
