"""SPARQL as text: the question, and the rows of one page of its answer (lbb-graph 2.10)."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, Count, Request


class SparqlTextQuery(Request, frozen=True, kw_only=True):
    consistency: Literal["eventual", "strong"] = "eventual"  # every commit is published at once, so both read the head
    min_indexed_seq: Count | None = None


class SparqlTextRequest(Request, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=limits.SPARQL_CHARS)]  # SELECT or ASK
    as_of_commit_seq: Count | None = None
    limit: Annotated[int, Meta(ge=0, le=limits.SPARQL_PAGE_ROWS)] | None = None
    offset: Count | None = None
    cursor: Annotated[str, Meta(max_length=512)] | None = None  # `next_cursor` of the page before, with the same query
    entailment: Literal["none", "subclass", "rdfs", "owl"] | None = None
    reason: bool | None = None
    profile: bool | None = None
    request: dict[str, Any] | None = None  # the client's own notes: they change nothing
    route: str | None = None  # there is one way to answer, so a wish for another changes nothing


class SparqlRowPage(Answer, omit_defaults=False, frozen=True, kw_only=True):
    returned: Count
    total: Count  # rows of the whole answer
    offset: Count
    limit: Count
    has_more: bool
    next_offset: Count | None = None


class SparqlSnapshot(Answer, frozen=True, kw_only=True):
    commit_seq: Count  # the graph's head when the query came
    compacted_seq: Count  # what the index had then
    served_at_seq: Count | None = None  # the commit that the rows show
    as_of_commit_seq: Count | None = None  # as it was asked for
    stale: bool | None = None
    stale_reason: str | None = None


class SparqlProfile(Answer, frozen=True, kw_only=True):
    wait_ms: float  # until the index had the commit and a place was free
    query_ms: float  # in the index's process


class SparqlTextResponse(Answer, frozen=True, kw_only=True):
    results: str  # a SPARQL 1.1 Query Results JSON document
    row_page: SparqlRowPage
    snapshot: SparqlSnapshot
    next_cursor: str | None = None
    profile: SparqlProfile | None = None
