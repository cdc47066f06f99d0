"""The call that asks a graph with SPARQL text (lbb-graph 2.10)."""

from collections.abc import Mapping
from typing import Any

from lbb.call import Call, given
from lbb.sparql_results import SparqlResults, read_sparql


def sparql(
    query: str,
    *,
    cursor: str | None = None,
    reason: bool | None = None,
    entailment: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
    consistency: str | None = None,
    min_indexed_seq: int | None = None,
    as_of_commit_seq: int | None = None,
    profile: bool = False,
    request: Mapping[str, Any] | None = None,
) -> Call[SparqlResults]:
    """Ask with SELECT or ASK. `as_of_commit_seq` reads the graph as it was after that commit.

    Tried again only after a 429: a query that broke the server once may do it again.
    """
    body = {"query": query} | given(
        cursor=cursor,
        reason=reason,
        entailment=entailment,
        limit=limit,
        offset=offset,
        as_of_commit_seq=as_of_commit_seq,
        profile=True if profile else None,
        request=request,
    )
    params = {"consistency": consistency, "min_indexed_seq": min_indexed_seq}
    return Call(
        "POST",
        "/v1/query/sparql-text",
        {"params": params, "body": body, "options": {"retry": "rate_limited"}},
        read_sparql,
        is_graph_read=True,
    )
