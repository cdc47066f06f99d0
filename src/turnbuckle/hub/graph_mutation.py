"""What a list of mutations makes of a session graph: all of it, or nothing (blobhub 3.10)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UnsetType
from msgspec.structs import replace

from turnbuckle.hub.graph_element import Direction, Edge, Element, GraphReader, Vertex
from turnbuckle.wire import hub_graph as wire
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_limits import GRAPH_ELEMENT_BYTES


class Change(msgspec.Struct, frozen=True):
    """What one mutation did; `rev` is None when the element is gone. Also an item of `session_graph_changed`."""

    op: str
    element_id: str
    type: str
    rev: int | None


class Mutated(msgspec.Struct, frozen=True):
    changes: tuple[Change, ...]  # one per operation in order; those of removed edges after their vertex
    saved: dict[str, Element]  # to write
    removed: tuple[str, ...]  # to delete

    @property
    def results(self) -> list[dict[str, Any]]:
        return [{"op": c.op, "element_id": c.element_id, "rev": c.rev} for c in self.changes]


def apply(
    reader: GraphReader,
    operations: Sequence[wire.GraphOperation],
    new_id: Callable[[], str],
    now: str,
    user_id: str | None = None,
) -> Mutated:
    """The outcome, to be saved in one transaction. `now` is a six-digit time.

    HubRefused(graph_mutation_conflict) for a `rev` that is another, an id that exists or that is missing;
    (invalid_request_body) for an element over 64 KiB.
    """
    draft = _Draft(reader, now, user_id)
    for number, operation in enumerate(operations):
        try:
            _APPLY[type(operation)](draft, operation, new_id)
        except HubRefused as refused:
            raise HubRefused(refused.code, f"operations[{number}]: {refused.message}") from refused
    return Mutated(
        tuple(draft.changes),
        {element_id: element for element_id, element in draft.touched.items() if element is not None},
        tuple(i for i, element in draft.touched.items() if element is None and reader.element(i) is not None),
    )


class _Draft:
    """The graph as it is after the operations so far."""

    def __init__(self, reader: GraphReader, now: str, user_id: str | None) -> None:
        self.reader, self.now, self.user_id = reader, now, user_id
        self.touched: dict[str, Element | None] = {}  # None: removed
        self.changes: list[Change] = []

    def element(self, element_id: str) -> Element | None:
        if element_id in self.touched:
            return self.touched[element_id]
        return self.reader.element(element_id)

    def edges_at(self, vertex_id: str) -> Iterable[Edge]:
        ways: tuple[Direction, ...] = ("out", "in")
        known = {edge.element_id for way in ways for edge in self.reader.edges_of(vertex_id, way)}
        for element_id in [*sorted(known - self.touched.keys()), *self.touched]:
            edge = self.element(element_id)
            if isinstance(edge, Edge) and vertex_id in (edge.from_id, edge.to_id):
                yield edge

    def save(self, op: str, element: Element) -> None:
        size = len(msgspec.json.encode(element))
        if size > GRAPH_ELEMENT_BYTES:
            message = f"element {element.element_id!r} would have {size:,} bytes, at most {GRAPH_ELEMENT_BYTES:,} fit"
            raise HubRefused("invalid_request_body", message)
        self.touched[element.element_id] = element
        self._tell(op, element, element.rev)

    def remove(self, op: str, element: Element) -> None:
        self.touched[element.element_id] = None
        self._tell(op, element, None)

    def _tell(self, op: str, element: Element, rev: int | None) -> None:
        kind = "vertex" if isinstance(element, Vertex) else "edge"
        self.changes.append(Change(op, element.element_id, kind, rev))


def _conflict(message: str) -> HubRefused:
    return HubRefused("graph_mutation_conflict", message)


def _free_id(draft: _Draft, asked: str | UnsetType, if_rev: int | UnsetType, new_id: Callable[[], str]) -> str:
    if not isinstance(if_rev, UnsetType):
        raise _conflict(f"got if_rev {if_rev}, but the element is yet to be made")
    element_id = new_id() if isinstance(asked, UnsetType) else asked
    if draft.element(element_id) is not None:
        raise _conflict(f"element {element_id!r} exists")
    return element_id


def _present(draft: _Draft, element_id: str, kind: type[Element], if_rev: int | UnsetType) -> Any:
    element = draft.element(element_id)
    if not isinstance(element, kind):
        raise _conflict(f"there is no {kind.__name__.lower()} {element_id!r}")
    if not isinstance(if_rev, UnsetType) and if_rev != element.rev:
        raise _conflict(f"element {element_id!r} has rev {element.rev}, if_rev is {if_rev}")
    return element


def _add_vertex(draft: _Draft, asked: wire.HubAddVertex, new_id: Callable[[], str]) -> None:
    element_id = _free_id(draft, asked.element_id, asked.if_rev, new_id)
    labels = tuple(dict.fromkeys(asked.labels))
    draft.save("add_vertex", Vertex(element_id, labels, asked.props, 1, draft.now, draft.now, draft.user_id))


def _add_edge(draft: _Draft, asked: wire.HubAddEdge, new_id: Callable[[], str]) -> None:
    element_id = _free_id(draft, asked.element_id, asked.if_rev, new_id)
    for end in (asked.from_id, asked.to_id):
        if not isinstance(draft.element(end), Vertex):
            raise _conflict(f"there is no vertex {end!r}")
    edge = Edge(
        element_id, asked.label, asked.from_id, asked.to_id, asked.props, 1, draft.now, draft.now, draft.user_id
    )
    draft.save("add_edge", edge)


def _set_props(kind: type[Element], op: str) -> Callable[[_Draft, Any, Callable[[], str]], None]:
    def set_props(draft: _Draft, asked: Any, new_id: Callable[[], str]) -> None:
        element = _present(draft, asked.element_id, kind, asked.if_rev)
        draft.save(op, _changed(element, element.props | asked.props, draft.now))

    return set_props


def _remove_props(kind: type[Element], op: str) -> Callable[[_Draft, Any, Callable[[], str]], None]:
    def remove_props(draft: _Draft, asked: Any, new_id: Callable[[], str]) -> None:
        element = _present(draft, asked.element_id, kind, asked.if_rev)
        kept = {key: value for key, value in element.props.items() if key not in asked.keys}
        draft.save(op, _changed(element, kept, draft.now))

    return remove_props


def _changed(element: Any, props: dict[str, Any], now: str) -> Element:
    changed: Element = replace(element, props=props, rev=element.rev + 1, updated_at=now)
    return changed


def _delete_vertex(draft: _Draft, asked: wire.HubDeleteVertex, new_id: Callable[[], str]) -> None:
    vertex = _present(draft, asked.element_id, Vertex, asked.if_rev)
    edges = list(draft.edges_at(vertex.element_id))
    draft.remove("delete_vertex", vertex)
    for edge in edges:
        draft.remove("delete_edge", edge)


def _delete_edge(draft: _Draft, asked: wire.HubDeleteEdge, new_id: Callable[[], str]) -> None:
    draft.remove("delete_edge", _present(draft, asked.element_id, Edge, asked.if_rev))


_APPLY: dict[type, Callable[[_Draft, Any, Callable[[], str]], None]] = {
    wire.HubAddVertex: _add_vertex,
    wire.HubAddEdge: _add_edge,
    wire.HubSetVertexProps: _set_props(Vertex, "set_vertex_props"),
    wire.HubSetEdgeProps: _set_props(Edge, "set_edge_props"),
    wire.HubRemoveVertexProps: _remove_props(Vertex, "remove_vertex_props"),
    wire.HubRemoveEdgeProps: _remove_props(Edge, "remove_edge_props"),
    wire.HubDeleteVertex: _delete_vertex,
    wire.HubDeleteEdge: _delete_edge,
}
