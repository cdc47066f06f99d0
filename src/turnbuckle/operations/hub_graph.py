"""Graphs of a session: vertices and edges under a session object of type `graph` (blobhub 3.10)."""

import uuid
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from turnbuckle.operations import hub_cursor
from turnbuckle.operations.hub_object import find_envelope
from turnbuckle.operations.hub_place import Place
from turnbuckle.operations.hub_session import find_by_id, find_open
from turnbuckle.operations.hub_session_feed import add_event, tick
from turnbuckle.operations.hub_time import micro_iso, moment
from turnbuckle.store import hub_session as sessions
from turnbuckle.store.hub_graph import Elements
from turnbuckle.store.hub_rows import Element, Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_graph import (
    GraphOperation,
    HubAddEdge,
    HubAddVertex,
    HubApplySessionGraphMutationsRequest,
    HubDeleteEdge,
    HubDeleteVertex,
    HubGetSessionGraphElementRequest,
    HubGetSessionGraphElementsRequest,
    HubListSessionGraphElementsRequest,
    HubListSessionGraphNeighborsRequest,
    HubRemoveEdgeProps,
    HubRemoveVertexProps,
    HubSetEdgeProps,
    HubSetVertexProps,
)

VERTEX, EDGE = "vertex", "edge"
_EDGES_MAX = hub_limits.GRAPH_TRAVERSAL
_NAMESPACE = uuid.UUID("5f3c2f57-6a35-5b70-8d62-0a7f6d1d8c11")  # of elements that the runner makes

# -- changing ----------------------------------------------------------------------------------------------------


def apply(tx: Transaction, place: Place, request: HubApplySessionGraphMutationsRequest) -> dict[str, Any]:
    """All operations in their order, or none. HubRefused(invalid_graph_envelope | graph_mutation_conflict)."""
    session = find_open(tx, place, request.session_id)
    find_envelope(tx, session, request.alias, "graph")
    work = _Mutations(tx, place, session, request.alias)
    results = [work.apply(index, operation) for index, operation in enumerate(request.operations)]
    if not work.changes:
        return {"results": results}
    body = {"session_object": {"alias": request.alias}, "changes": work.changes}
    sessions.save(tx, session, add_event(tx, work.session, "session_graph_changed", body))
    return {"results": results}


class _Mutations:
    """The operations of one call, each on what the ones before it left."""

    def __init__(self, tx: Transaction, place: Place, session: Session, alias: str) -> None:
        self.session = session  # with the time and sequence of the last change
        self.changes: list[dict[str, Any]] = []
        self._tx, self._place, self._alias = tx, place, alias
        self._elements = Elements(tx, place.graph_id, session.session_id, alias)

    def apply(self, index: int, operation: GraphOperation) -> dict[str, Any]:
        where = f"operations[{index}]"
        match operation:
            case HubAddVertex():
                made = self._new(index, operation.element_id, VERTEX, operation.labels, operation.props)
                return self._add(operation, where, made)
            case HubAddEdge():
                self._get(operation.from_id, VERTEX, where)
                self._get(operation.to_id, VERTEX, where)
                made = self._new(index, operation.element_id, EDGE, [operation.label], operation.props)
                ends = {"from_id": operation.from_id, "to_id": operation.to_id}
                return self._add(operation, where, msgspec.structs.replace(made, **ends))
            case HubSetVertexProps() | HubSetEdgeProps():
                props = operation.props
                return self._change(operation, where, lambda old: old | props)
            case HubRemoveVertexProps() | HubRemoveEdgeProps():
                keys = set(operation.keys)
                return self._change(operation, where, lambda old: {k: v for k, v in old.items() if k not in keys})
            case HubDeleteVertex() | HubDeleteEdge():
                return self._delete(operation, where)

    def _new(
        self, index: int, element_id: str | UnsetType, type: str, labels: list[str], props: dict[str, Any]
    ) -> Element:
        self.session = tick(self._tx, self.session)
        at_us, sequence = self.session.last_at_us, self.session.sequence
        return Element(
            graph_id=self.session.graph_id,
            session_id=self.session.session_id,
            alias=self._alias,
            element_id=element_id if isinstance(element_id, str) else self._new_id(index),
            type=type,
            labels=msgspec.json.encode(labels),
            from_id=None,
            to_id=None,
            props=_sized(props),
            rev=1,
            user_id=self._place.visitor.user_id,
            created_at_us=at_us,
            created_sequence=sequence,
            updated_at_us=at_us,
            updated_sequence=sequence,
        )

    def _new_id(self, index: int) -> str:
        visitor = self._place.visitor
        if visitor.execution_id is None or visitor.effect_id is None:
            return str(uuid.uuid4())
        return str(uuid.uuid5(_NAMESPACE, f"{visitor.execution_id}/{visitor.effect_id}/{index}"))

    def _add(self, operation: HubAddVertex | HubAddEdge, where: str, made: Element) -> dict[str, Any]:
        if isinstance(operation.if_rev, int):
            raise _conflict(where, f"a new element has no revision, if_rev is {operation.if_rev}")
        if not self._elements.add(made):
            raise _conflict(where, f"the element {made.element_id!r} is there already")
        return self._told(operation, made)

    def _get(self, element_id: str, type: str, where: str) -> Element:
        found = self._elements.get(element_id)
        if found is None or found.type != type:
            raise _conflict(where, f"there is no {type} {element_id!r}")
        return found

    def _changing(self, operation: Any, where: str) -> Element:
        type = VERTEX if isinstance(operation, HubSetVertexProps | HubRemoveVertexProps | HubDeleteVertex) else EDGE
        found = self._get(operation.element_id, type, where)
        if isinstance(operation.if_rev, int) and operation.if_rev != found.rev:
            raise _conflict(where, f"{found.element_id!r} has revision {found.rev}, if_rev is {operation.if_rev}")
        return found

    def _change(
        self, operation: GraphOperation, where: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        found = self._changing(operation, where)
        self.session = tick(self._tx, self.session)
        changed = msgspec.structs.replace(
            found,
            props=_sized(change(msgspec.json.decode(found.props))),
            rev=found.rev + 1,
            updated_at_us=self.session.last_at_us,
            updated_sequence=self.session.sequence,
        )
        self._elements.save(found, changed)
        return self._told(operation, changed)

    def _delete(self, operation: HubDeleteVertex | HubDeleteEdge, where: str) -> dict[str, Any]:
        found = self._changing(operation, where)
        if found.type == VERTEX:
            for edge in self._edges_at(found.element_id):
                self._elements.delete(edge.element_id)
                self.changes.append(_change_of("delete_edge", edge))
        self._elements.delete(found.element_id)
        return self._told(operation, found)

    def _edges_at(self, vertex_id: str) -> list[Element]:
        found = self._elements.out_of(vertex_id, _EDGES_MAX) + self._elements.into(vertex_id, _EDGES_MAX)
        return list({edge.element_id: edge for edge in found}.values())  # a loop comes twice

    def _told(self, operation: GraphOperation, element: Element) -> dict[str, Any]:
        op = str(operation.__struct_config__.tag)
        self.changes.append(_change_of(op, element))
        return {"op": op, "element_id": element.element_id, "rev": element.rev}


def _change_of(op: str, element: Element) -> dict[str, Any]:
    return {"element_id": element.element_id, "type": element.type, "op": op, "rev": element.rev}


def _sized(props: dict[str, Any]) -> bytes:
    encoded = msgspec.json.encode(props)
    if len(encoded) > hub_limits.GRAPH_ELEMENT_BYTES:
        raise HubRefused("request_too_large", f"props: got {len(encoded)} bytes, expected at most 64 KiB")
    return encoded


def _conflict(where: str, what: str) -> HubRefused:
    return HubRefused("graph_mutation_conflict", f"{where}: {what}")


# -- reading -----------------------------------------------------------------------------------------------------


def elements_of(tx: Transaction, place: Place, session_id: str, alias: str) -> Elements:
    """HubRefused(access_denied | invalid_graph_envelope)."""
    session = find_by_id(tx, place, session_id)
    find_envelope(tx, session, alias, "graph")
    return Elements(tx, place.graph_id, session.session_id, alias)


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
