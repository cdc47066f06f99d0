"""Graphs: made, deleted, listed, and how far their reads are (lbb-graph 2.1 and 2.11)."""

from typing import Annotated, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, Count, Request


class GraphKey(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """A graph as answers name it: by the names its users know (decision 43)."""

    tenant_id: str  # the environment
    graph_id: str  # the graph's name
    branch_id: str = "main"


class GraphCreateResponse(Answer, frozen=True, kw_only=True):
    graph: GraphKey
    commit_seq: Count
    ontology_version: Count


class GraphDeleteQuery(Request, frozen=True, kw_only=True):
    confirm: str  # the graph's name again


class GraphDeleteResponse(Answer, frozen=True, kw_only=True):
    graph: GraphKey
    deleted: bool  # false: there was none


class GraphsQuery(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=limits.GRAPHS_PAGE_MAX)] = limits.GRAPHS_PAGE_MAX
    cursor: str | None = None


class GraphListItem(Answer, frozen=True, kw_only=True):
    graph_id: str  # the graph's name


class GraphsResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    object: Literal["list"] = "list"
    data: list[GraphListItem]
    has_more: bool
    next_cursor: str | None = None


class GraphSnapshot(Answer, frozen=True, kw_only=True):
    """The commit that a read shows."""

    commit_seq: Count
    compacted_seq: Count
    served_at_seq: Count | None = None  # the head at that moment
    as_of_commit_seq: Count | None = None  # the commit that was asked for


class GraphPublicationRetry(Answer, omit_defaults=False, frozen=True, kw_only=True):
    eventual_read_available: bool
    message: str
    retry_after_ms: Count


class GraphPublicationStatus(Answer, frozen=True, kw_only=True):
    """How far ordinary reads are behind the newest commit. Here a commit is published with itself."""

    state: Literal["current", "queued", "compacting", "building", "publishing", "blocked"]
    epoch: Count
    head_seq: Count
    target_seq: Count
    published_seq: Count
    lag_commits: Count
    last_progress_at_micros: Count
    retry: GraphPublicationRetry
    current_stage: str | None = None
