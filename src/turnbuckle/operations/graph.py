"""The graph a request is about, and graphs as such: made, deleted, listed (lbb-graph 2.1).

The engine makes a graph on its first use (P33).
"""

import re
import secrets

from turnbuckle.operations.caller import Caller
from turnbuckle.store import commit as commits
from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.graph import (
    GraphCreateResponse,
    GraphDeleteQuery,
    GraphDeleteResponse,
    GraphKey,
    GraphListItem,
    GraphPublicationRetry,
    GraphPublicationStatus,
    GraphsQuery,
    GraphsResponse,
)
from turnbuckle.wire.server import NoQuery

_NAME = re.compile(limits.GRAPH_PATTERN)
HUB = "hub"  # reserved: of the executions of the second API, with all that belongs to them
_ROWS_AT_ONCE = 1_000  # decision 17
_LATE_MS = limits.HOUR_MS  # a request that was on its way when its graph went may add rows until then
NOWHERE = ""  # the id of no graph: reads of a graph nobody has used find nothing


def check_name(name: str) -> None:
    """Refused(invalid_param) unless the name is one of a graph."""
    if not _NAME.fullmatch(name):
        expected = "1 to 63 of a-z, 0-9, `_`, `-`, the first a letter or digit"
        raise Refused("invalid_param", f"graph: got {name[:80]!r}, expected {expected}", param="graph")


def use(tx: Transaction, environment: str, name: str) -> str:
    """The graph's opaque id; an unknown graph is made."""
    known = graphs.find(tx, environment, name)
    if known is not None:
        return known
    graphs.add(tx, environment, name, secrets.token_hex(8))
    made = graphs.find(tx, environment, name)  # ours, or that of an operation that was faster
    assert made is not None
    return made


def look(tx: Transaction, environment: str, name: str) -> str:
    """The graph's opaque id for a read, NOWHERE when it is unknown."""
    return graphs.find(tx, environment, name) or NOWHERE


def key_of(caller: Caller) -> GraphKey:
    """The graph as answers name it."""
    return GraphKey(tenant_id=caller.environment, graph_id=caller.graph)


# -- as such -----------------------------------------------------------------------------------------------------


def create(tx: Transaction, graph_id: str, query: NoQuery, caller: Caller) -> GraphCreateResponse:
    """Make the graph. Refused(conflict) when something was declared or committed there already (decision 44)."""
    _check_not_reserved(caller.graph)
    head = graphs.lock(tx, use(tx, caller.environment, caller.graph))
    assert head is not None
    if not head.is_blank:
        what = (
            f"graph {caller.graph!r} is there, at commit {head.head_seq} and ontology version {head.ontology_version}"
        )
        raise Refused("conflict", what, param="graph")
    return GraphCreateResponse(graph=key_of(caller), commit_seq=0, ontology_version=0)


def delete(tx: Transaction, graph_id: str, query: GraphDeleteQuery, caller: Caller) -> GraphDeleteResponse:
    """Free the name at once; upkeep removes the rows, the engine's too, piece by piece. A repeat finds nothing."""
    if query.confirm != caller.graph:
        what = f"confirm: got {query.confirm[:80]!r}, expected the graph's name {caller.graph!r}"
        raise Refused("invalid_param", what, param="confirm")
    _check_not_reserved(caller.graph)
    known = graphs.find(tx, caller.environment, caller.graph)
    if known is not None:
        graphs.lock(tx, known)
        graphs.delete(tx, known)
        tx.announce("deleted", known)
    return GraphDeleteResponse(graph=key_of(caller), deleted=known is not None)


def _check_not_reserved(name: str) -> None:
    if name == HUB:
        raise Refused("invalid_param", f"graph: the name {name!r} is the server's own", param="graph")


def has_deleted(tx: Transaction) -> bool:
    """Whether a deleted graph may have rows."""
    return bool(graphs.deleted(tx))


def clear_deleted(tx: Transaction) -> bool:
    """Remove a piece of the oldest deleted graph that has rows; whether there may be more."""
    for graph_id, deleted_at_ms in graphs.deleted(tx):
        if graphs.clear(tx, graph_id, _ROWS_AT_ONCE):
            return True
        if deleted_at_ms < tx.now_ms - _LATE_MS:
            graphs.forget(tx, graph_id)
    return False


def list_page(tx: Transaction, graph_id: str, query: GraphsQuery, caller: Caller) -> GraphsResponse:
    """Graphs of the environment by name."""
    names = graphs.page(tx, caller.environment, query.cursor or "", query.limit + 2)
    shown = [name for name in names if name != HUB]
    page = shown[: query.limit]
    has_more = len(shown) > len(page)
    return GraphsResponse(
        data=[GraphListItem(graph_id=name) for name in page],
        has_more=has_more,
        next_cursor=page[-1] if has_more else None,
    )


def publication_status(tx: Transaction, graph_id: str, query: NoQuery, caller: Caller) -> GraphPublicationStatus:
    """A commit is published with itself, so the state is always `current`. Refused(not_found) without the graph."""
    head = graphs.head(tx, graph_id)
    if head is None:
        raise Refused("not_found", f"there is no graph {caller.graph!r}; `create_graph` of a client makes it")
    newest = commits.get(tx, graph_id, head.head_seq)
    return GraphPublicationStatus(
        state="current",
        epoch=0,
        head_seq=head.head_seq,
        target_seq=head.head_seq,
        published_seq=head.head_seq,
        lag_commits=0,
        last_progress_at_micros=0 if newest is None else newest.at_ms * 1_000,
        retry=GraphPublicationRetry(eventual_read_available=True, message="every commit can be read", retry_after_ms=0),
    )


def environments_with(tx: Transaction, name: str) -> list[str]:
    """The environments that have a graph of that name."""
    return graphs.environments_with(tx, name)
