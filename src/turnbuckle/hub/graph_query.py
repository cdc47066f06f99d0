"""The query language of session graphs: a start, then steps over a stream of elements (blobhub 3.10).

`{"start": ["V", "ann"], "steps": [["out", "knows"], ["has", "age", "gt", 30], ["values", "name"]]}`. The last step may
give values instead of elements: `values`, `properties`, `project`, `count`. `limit` and `dedup` are ours.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from turnbuckle.hub.graph_element import Direction, Edge, Element, GraphReader, Vertex
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_limits import GRAPH_TRAVERSAL

TERMINAL: Final = frozenset({"values", "properties", "project", "count"})
_WAYS: Final[dict[str, tuple[Direction, ...]]] = {"out": ("out",), "in": ("in",), "both": ("out", "in")}
_ORDERED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": lambda left, right: bool(left < right),
    "lte": lambda left, right: bool(left <= right),
    "gt": lambda left, right: bool(left > right),
    "gte": lambda left, right: bool(left >= right),
}
OPERATORS: Final = ("eq", "neq", *_ORDERED)


def query(
    reader: GraphReader, start: Sequence[Any], steps: Sequence[Sequence[Any]], most: int = GRAPH_TRAVERSAL
) -> list[Any]:
    """The results: elements as JSON objects, or what a last step makes of them.

    HubRefused(invalid_graph_query) names the step; (graph_traversal_limit_exceeded) after `most` looked-at elements.
    """
    budget = _Budget(most)
    found: Iterable[Any] = budget.count(_start(reader, start))
    for number, step in enumerate(steps):
        name = step[0] if step and isinstance(step[0], str) else None
        if name in TERMINAL and number < len(steps) - 1:
            raise _invalid(number, f"{name!r} must be the last step")
        make = None if name is None else _STEPS.get(name)
        if make is None:
            raise _invalid(number, f"got {list(step)!r}"[:200] + f", expected one of {', '.join(_STEPS)}")
        found = make(_At(reader, budget, number), found, step[1:])
    return [msgspec.to_builtins(item) if isinstance(item, Vertex | Edge) else item for item in found]


E = TypeVar("E", bound=Element)


class _Budget:
    """How many elements a query may still look at."""

    def __init__(self, most: int) -> None:
        self.most, self.left = most, most

    def count(self, elements: Iterable[E]) -> Iterator[E]:
        for element in elements:
            if self.left == 0:
                raise HubRefused("graph_traversal_limit_exceeded", f"the query looked at {self.most:,} elements")
            self.left -= 1
            yield element


class _At:
    """One step of a query while it runs."""

    def __init__(self, reader: GraphReader, budget: _Budget, number: int) -> None:
        self.reader, self.budget, self.number = reader, budget, number

    def text(self, arguments: Sequence[Any], what: str) -> str:
        if len(arguments) != 1 or not isinstance(arguments[0], str):
            raise _invalid(self.number, f"got {list(arguments)!r}, expected {what}"[:200])
        return arguments[0]

    def optional_text(self, arguments: Sequence[Any], what: str) -> str | None:
        return self.text(arguments, what) if arguments else None

    def none(self, arguments: Sequence[Any]) -> None:
        if arguments:
            raise _invalid(self.number, f"got {list(arguments)!r}, expected nothing more"[:200])


def _invalid(number: int | str, what: str) -> HubRefused:
    where = f"steps[{number}]" if isinstance(number, int) else number
    return HubRefused("invalid_graph_query", f"{where}: {what}")


def _start(reader: GraphReader, start: Sequence[Any]) -> Iterator[Element]:
    kind = start[0] if start else None
    if kind not in ("V", "E") or len(start) > 2:
        raise _invalid("start", f'got {list(start)!r}, expected ["V"], ["E"], ["V", id] or ["E", id]'[:200])
    if len(start) == 1:
        return iter(reader.vertices() if kind == "V" else reader.edges())
    if not isinstance(start[1], str):
        raise _invalid("start", f"got the id {start[1]!r}, expected a text"[:200])
    element = reader.element(start[1])
    is_asked = isinstance(element, Vertex if kind == "V" else Edge)
    return iter([element] if element is not None and is_asked else [])


def _edges(way: str) -> Callable[[_At, Iterable[Any], Sequence[Any]], Iterator[Any]]:
    def step(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
        label = at.optional_text(arguments, "an edge label, or nothing")
        return (edge for _, edge in _leaving(at, found, way, label))

    return step


def _neighbours(way: str) -> Callable[[_At, Iterable[Any], Sequence[Any]], Iterator[Any]]:
    def step(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
        label = at.optional_text(arguments, "an edge label, or nothing")
        return at.budget.count(_across(at, _leaving(at, found, way, label)))

    return step


def _leaving(at: _At, found: Iterable[Any], way: str, label: str | None) -> Iterator[tuple[Direction, Edge]]:
    for vertex in found:
        if not isinstance(vertex, Vertex):
            raise _invalid(at.number, "got an edge, expected vertices; go on with inV or outV")
        for direction in _WAYS[way]:
            for edge in at.budget.count(at.reader.edges_of(vertex.element_id, direction)):
                if label is None or edge.label == label:
                    yield direction, edge


def _across(at: _At, edges: Iterable[tuple[Direction, Edge]]) -> Iterator[Element]:
    for direction, edge in edges:
        vertex = at.reader.element(edge.to_id if direction == "out" else edge.from_id)
        if vertex is not None:
            yield vertex


def _end(of: str) -> Callable[[_At, Iterable[Any], Sequence[Any]], Iterator[Any]]:
    def ends(at: _At, found: Iterable[Any]) -> Iterator[Element]:
        for edge in found:
            if not isinstance(edge, Edge):
                raise _invalid(at.number, "got a vertex, expected edges")
            vertex = at.reader.element(edge.to_id if of == "inV" else edge.from_id)
            if vertex is not None:
                yield vertex

    def step(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
        at.none(arguments)
        return at.budget.count(ends(at, found))

    return step


def _has_label(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    label = at.text(arguments, "a label")
    return (element for element in found if label in _labels(element))


def _labels(element: Element) -> tuple[str, ...]:
    return element.labels if isinstance(element, Vertex) else (element.label,)


def _has(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    if len(arguments) != 3 or not isinstance(arguments[0], str) or arguments[1] not in OPERATORS:
        raise _invalid(at.number, f"got {list(arguments)!r}, expected key, {'/'.join(OPERATORS)}, value"[:200])
    key, operator, value = arguments
    return (element for element in found if _holds(element.props, key, operator, value))


def _holds(props: dict[str, Any], key: str, operator: str, value: Any) -> bool:
    """An absent key is equal to nothing and comes in no order; only `neq` holds for it."""
    if operator in ("eq", "neq"):
        return (key in props and _same(props[key], value)) == (operator == "eq")
    return key in props and _comparable(props[key], value) and _ORDERED[operator](props[key], value)


def _same(one: Any, other: Any) -> bool:
    """As JSON: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _comparable(one: Any, other: Any) -> bool:
    return any(
        isinstance(one, kind) and isinstance(other, kind) and not isinstance(one, bool) and not isinstance(other, bool)
        for kind in (str, int | float)
    )


def _values(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    key = at.text(arguments, "a key")
    return (element.props[key] for element in found if key in element.props)


def _properties(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    at.none(arguments)
    return (element.props for element in found)


def _project(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    keys = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else list(arguments)
    if not keys or not all(isinstance(key, str) for key in keys):
        raise _invalid(at.number, f"got {list(arguments)!r}, expected keys"[:200])
    return ({key: element.props.get(key) for key in keys} for element in found)


def _limit(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    most = arguments[0] if len(arguments) == 1 else None
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        raise _invalid(at.number, f"got {list(arguments)!r}, expected a number from 0"[:200])
    return islice(found, most)


def _dedup(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    at.none(arguments)
    return iter({element.element_id: element for element in found}.values())


def _count(at: _At, found: Iterable[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    at.none(arguments)
    return iter([sum(1 for _ in found)])


_STEPS: Final[dict[str, Callable[[_At, Iterable[Any], Sequence[Any]], Iterator[Any]]]] = {
    **{way: _neighbours(way) for way in _WAYS},
    **{f"{way}E": _edges(way) for way in _WAYS},
    "inV": _end("inV"),
    "outV": _end("outV"),
    "hasLabel": _has_label,
    "has": _has,
    "limit": _limit,
    "dedup": _dedup,
    "values": _values,
    "properties": _properties,
    "project": _project,
    "count": _count,
}
