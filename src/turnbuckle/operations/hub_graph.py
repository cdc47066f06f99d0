"""Graphs of a session: vertices and edges under a session object of type `graph` (blobhub 3.10)."""

import itertools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.hub import graph_mutation as mutations
from turnbuckle.hub import graph_query as queries
from turnbuckle.hub.graph_element import Direction, Edge, Vertex
from turnbuckle.operations import hub_cursor
from turnbuckle.operations.hub_object import find_envelope
from turnbuckle.operations.hub_place import Place
from turnbuckle.operations.hub_session import find_by_id, find_open
from turnbuckle.operations.hub_session_feed import add_event, tick
from turnbuckle.operations.hub_time import micro_iso, moment, now_us
from turnbuckle.store import hub_session as sessions
from turnbuckle.store.hub_graph import Elements
from turnbuckle.store.hub_rows import Element, Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_graph import (
    HubApplySessionGraphMutationsRequest,
    HubGetSessionGraphElementRequest,
    HubGetSessionGraphElementsRequest,
    HubListSessionGraphElementsRequest,
    HubListSessionGraphNeighborsRequest,
    HubQuerySessionGraphRequest,
)

VERTEX, EDGE = "vertex", "edge"
_EDGES_MAX = hub_limits.GRAPH_TRAVERSAL
_ROWS_AT_ONCE = 500
_NAMESPACE = uuid.UUID("5f3c2f57-6a35-5b70-8d62-0a7f6d1d8c11")  # of elements that the runner makes

# -- changing ----------------------------------------------------------------------------------------------------


def apply(tx: Transaction, place: Place, request: HubApplySessionGraphMutationsRequest) -> dict[str, Any]:
    """All operations in their order, or none. HubRefused(invalid_graph_envelope | graph_mutation_conflict)."""
    session = find_open(tx, place, request.session_id)
    find_envelope(tx, session, request.alias, "graph")
    elements = Elements(tx, place.graph_id, session.session_id, request.alias)
    now = micro_iso(now_us(tx))
    done = mutations.apply(Reader(elements), request.operations, _ids(place), now, place.visitor.user_id)
    if not done.changes:
        return {"results": []}
    told = _save(tx, session, elements, done, request.alias)
    body = {"session_object": {"alias": request.alias}, "changes": [_change(one) for one in done.changes]}
    sessions.save(tx, session, add_event(tx, told, "session_graph_changed", body))
    return {"results": done.results}


def _ids(place: Place) -> Callable[[], str]:
    """Ids of new elements: random; for a step of the runner the same on every attempt."""
    visitor = place.visitor
    if visitor.execution_id is None or visitor.effect_id is None:
        return lambda: str(uuid.uuid4())
    numbers = itertools.count()
    return lambda: str(uuid.uuid5(_NAMESPACE, f"{visitor.execution_id}/{visitor.effect_id}/{next(numbers)}"))


def _save(tx: Transaction, session: Session, elements: Elements, done: mutations.Mutated, alias: str) -> Session:
    """The session after the changes, each with a place of its own in the order of changes."""
    for element_id in done.removed:
        elements.delete(element_id)
    for element in done.saved.values():
        session = tick(tx, session)
        known = elements.get(element.element_id)
        if known is None:
            elements.add(_row(session, alias, element))
        else:
            changed = msgspec.structs.replace(
                known,
                props=msgspec.json.encode(element.props),
                rev=element.rev,
                updated_at_us=session.last_at_us,
                updated_sequence=session.sequence,
            )
            elements.save(known, changed)
    return session


def _row(session: Session, alias: str, element: Vertex | Edge) -> Element:
    is_vertex = isinstance(element, Vertex)
    return Element(
        graph_id=session.graph_id,
        session_id=session.session_id,
        alias=alias,
        element_id=element.element_id,
        type=VERTEX if is_vertex else EDGE,
        labels=msgspec.json.encode(element.labels if isinstance(element, Vertex) else [element.label]),
        from_id=element.from_id if isinstance(element, Edge) else None,
        to_id=element.to_id if isinstance(element, Edge) else None,
        props=msgspec.json.encode(element.props),
        rev=element.rev,
        user_id=element.user_id or "",
        created_at_us=session.last_at_us,
        created_sequence=session.sequence,
        updated_at_us=session.last_at_us,
        updated_sequence=session.sequence,
    )


def _change(change: mutations.Change) -> dict[str, Any]:
    return {"element_id": change.element_id, "type": change.type, "op": change.op, "rev": change.rev}


class Reader:
    """The graph as the rules read it; whole listings come in pieces, in the order the elements were made."""

    def __init__(self, elements: Elements) -> None:
        self._elements = elements

    def element(self, element_id: str) -> Vertex | Edge | None:
        row = self._elements.get(element_id)
        return None if row is None else _element(row)

    def vertices(self) -> Iterator[Vertex]:
        return (one for one in self._all(VERTEX) if isinstance(one, Vertex))

    def edges(self) -> Iterator[Edge]:
        return (one for one in self._all(EDGE) if isinstance(one, Edge))

    def edges_of(self, vertex_id: str, direction: Direction) -> Iterator[Edge]:
        find = self._elements.out_of if direction == "out" else self._elements.into
        rows = sorted(find(vertex_id, _EDGES_MAX), key=lambda row: (row.created_at_us, row.created_sequence))
        return (one for one in map(_element, rows) if isinstance(one, Edge))

    def _all(self, type: str) -> Iterator[Vertex | Edge]:
        after: tuple[int, int] | None = None
        while True:
            rows = self._elements.by_creation(after, type, _ROWS_AT_ONCE, ascending=True)
            yield from map(_element, rows)
            if len(rows) < _ROWS_AT_ONCE:
                return
            after = rows[-1].created_at_us, rows[-1].created_sequence


def _element(row: Element) -> Vertex | Edge:
    props, labels = msgspec.json.decode(row.props), _labels(row)
    times = (row.rev, micro_iso(row.created_at_us), micro_iso(row.updated_at_us), row.user_id)
    if row.type == VERTEX:
        return Vertex(row.element_id, tuple(labels), props, *times)
    return Edge(row.element_id, labels[0], row.from_id or "", row.to_id or "", props, *times)


# -- reading -----------------------------------------------------------------------------------------------------


def elements_of(tx: Transaction, place: Place, session_id: str, alias: str) -> Elements:
    """HubRefused(access_denied | invalid_graph_envelope)."""
    session = find_by_id(tx, place, session_id)
    find_envelope(tx, session, alias, "graph")
    return Elements(tx, place.graph_id, session.session_id, alias)


def query(tx: Transaction, place: Place, request: HubQuerySessionGraphRequest) -> dict[str, Any]:
    """HubRefused(invalid_graph_query | graph_traversal_limit_exceeded)."""
    reader = Reader(elements_of(tx, place, request.session_id, request.alias))
    return {"results": queries.query(reader, request.query.start, request.query.steps)}


def list_elements(tx: Transaction, place: Place, request: HubListSessionGraphElementsRequest) -> dict[str, Any]:
    """By creation, newest first unless `ascending`; by last change with `updated_since`."""
    elements = elements_of(tx, place, request.session_id, request.alias)
    after, since_us = hub_cursor.read_place(request.cursor), moment("updated_since", request.updated_since)
    type = request.type if isinstance(request.type, str) else None
    if since_us is None:
        found = elements.by_creation(after, type, request.rows + 1, ascending=request.ascending)
    else:
        found = elements.by_change(since_us, after, type, request.rows + 1, ascending=request.ascending)
    page = found[: request.rows]
    cursor = None
    if len(found) > len(page):
        last = page[-1]
        at = (last.created_at_us, last.created_sequence) if since_us is None else (
            last.updated_at_us, last.updated_sequence)  # fmt: skip
        cursor = hub_cursor.of_place(*at)
    if request.ids_only:
        return {"element_ids": [_short(one) for one in page], "cursor": cursor}
    return {"elements": [of_element(one) for one in page], "cursor": cursor}


def get_element(tx: Transaction, place: Place, request: HubGetSessionGraphElementRequest) -> dict[str, Any]:
    """HubRefused(not_found)."""
    found = elements_of(tx, place, request.session_id, request.alias).get(request.element_id)
    if found is None:
        raise HubRefused("not_found", f"the graph {request.alias} has no element {request.element_id!r}")
    return {"element": of_element(found)}


def get_elements(tx: Transaction, place: Place, request: HubGetSessionGraphElementsRequest) -> dict[str, Any]:
    """Those that are there, in the order they are asked for."""
    elements = elements_of(tx, place, request.session_id, request.alias)
    found = {one.element_id: one for one in elements.some(request.element_ids)}
    wanted = dict.fromkeys(request.element_ids)
    return {"elements": [of_element(found[id]) for id in wanted if id in found]}


def list_neighbors(tx: Transaction, place: Place, request: HubListSessionGraphNeighborsRequest) -> dict[str, Any]:
    """Edges at the named vertices, by id, with the vertices at their other ends."""
    elements = elements_of(tx, place, request.session_id, request.alias)
    edges: dict[str, Element] = {}
    others: dict[str, set[str]] = {}
    for vertex_id in dict.fromkeys(request.from_):
        for edge, other in _at(elements, vertex_id, request):
            edges[edge.element_id] = edge
            others.setdefault(edge.element_id, set()).add(other)
    vertices = {one.element_id: one for one in elements.some({id for ids in others.values() for id in ids})}
    after = hub_cursor.read_text(request.cursor) or ""
    fitting = sorted(id for id in edges if id > after and _fits(request, others[id], vertices))
    page = fitting[: request.rows]
    shown = sorted({id for edge_id in page for id in others[edge_id] if id in vertices})
    return {
        "edges": [of_element(edges[id]) for id in page],
        "vertices": [of_element(vertices[id]) for id in shown],
        "cursor": hub_cursor.of_text(page[-1]) if len(fitting) > len(page) else None,
    }


def _at(elements: Elements, vertex_id: str, request: HubListSessionGraphNeighborsRequest) -> list[tuple[Element, str]]:
    """(edge, the vertex at its other end)."""
    found: list[tuple[Element, str]] = []
    if request.direction != "in":
        found += [(edge, edge.to_id or "") for edge in elements.out_of(vertex_id, _EDGES_MAX)]
    if request.direction != "out":
        found += [(edge, edge.from_id or "") for edge in elements.into(vertex_id, _EDGES_MAX)]
    if not isinstance(request.label, str):
        return found
    return [(edge, other) for edge, other in found if request.label in _labels(edge)]


def _fits(request: HubListSessionGraphNeighborsRequest, others: set[str], vertices: dict[str, Element]) -> bool:
    wanted = request.neighbor_label
    if not isinstance(wanted, str):
        return True
    return any(id in vertices and wanted in _labels(vertices[id]) for id in others)


def _labels(element: Element) -> list[str]:
    labels: list[str] = msgspec.json.decode(element.labels)
    return labels


def _short(element: Element) -> dict[str, Any]:
    return {"element_id": element.element_id, "type": element.type, "rev": element.rev}


def of_element(element: Element) -> dict[str, Any]:
    shown: dict[str, Any] = _short(element)
    if element.type == VERTEX:
        shown["labels"] = Raw(element.labels)
    else:
        shown |= {"label": _labels(element)[0], "from_id": element.from_id, "to_id": element.to_id}
    return shown | {
        "props": Raw(element.props),
        "created_at": micro_iso(element.created_at_us),
        "updated_at": micro_iso(element.updated_at_us),
        "user_id": element.user_id,
    }
