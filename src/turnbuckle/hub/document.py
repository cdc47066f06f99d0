"""A workflow document, read liberally: what is missing or odd becomes a problem to report, never an exception.

Source: blobhub 5.1. A port is found by its route alone, and among ports of one route the one of the asked category.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from turnbuckle.hub.value import plain

EdgeKind = Literal["flow", "data", "provider"]
WORKFLOW: Final = "workflow_definition"
PLAYGROUND: Final = "playground_definition"
VALUE: Final = "value"  # the port of a data component
_ENDS: Final[dict[str, EdgeKind]] = {
    "flow_output": "flow",
    "flow_input": "flow",
    "data_output": "data",
    "data_input": "data",
    "provider_output": "provider",
    "provider_input": "provider",
}


class Port(msgspec.Struct, frozen=True):
    category: str
    route: str
    value: Any = None


class Component(msgspec.Struct, frozen=True):
    index: int  # its place in the document
    id: str
    type: str
    name: str
    ports: tuple[Port, ...] = ()

    @property
    def is_data(self) -> bool:
        return self.type.startswith("data.")

    @property
    def title(self) -> str:
        return self.name or self.id

    def port(self, route: str, *categories: str) -> Port | None:
        """The port of that route; where several have it, the first of the categories, else the first of all."""
        named = [port for port in self.ports if port.route == route]
        return next((port for port in named if port.category in categories), named[0] if named else None)

    def setting(self, route: str) -> Any:
        """The plain contents of a setting: a text, choice id, number, any JSON; None when absent."""
        port = self.port(route, "setting")
        return None if port is None else plain(port.value)

    def routes_of(self, category: str) -> Iterator[str]:
        return (port.route for port in self.ports if port.category == category)


class Connection(msgspec.Struct, frozen=True):
    index: int
    id: str
    kind: EdgeKind
    source_id: str
    target_id: str
    route: str = ""  # flow: the result that it leads on from
    source_route: str = ""  # data: the ports
    target_route: str = ""  # data, provider


class Problem(msgspec.Struct, frozen=True):
    """A place that could not be read as it stands."""

    message: str
    component_id: str | None = None


class Document(msgspec.Struct, frozen=True):
    type: str
    version: str
    components: tuple[Component, ...]
    connections: tuple[Connection, ...]
    problems: tuple[Problem, ...] = ()


def parse(raw: Any) -> Document:
    """The document of decoded JSON. Anything at all can be parsed; see its problems."""
    problems: list[Problem] = []
    top = raw if isinstance(raw, Mapping) else {}
    if not isinstance(raw, Mapping):
        problems.append(Problem(f"the document is {type(raw).__name__}, expected an object"))
    components = tuple(_component(i, item, problems) for i, item in _objects(top, "components", problems))
    data_ids = {component.id for component in components if component.is_data}
    connections = tuple(
        made
        for i, item in _objects(top, "connections", problems)
        if (made := _connection(i, item, data_ids, problems)) is not None
    )
    return Document(_text(top.get("type")), _text(top.get("version")), components, connections, tuple(problems))


def _objects(top: Mapping[str, Any], key: str, problems: list[Problem]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    items = top.get(key, [])
    if not isinstance(items, list):
        problems.append(Problem(f"{key} is {type(items).__name__}, expected a list"))
        return
    for i, item in enumerate(items):
        if isinstance(item, Mapping):
            yield i, item
        else:
            problems.append(Problem(f"{key}[{i}] is {type(item).__name__}, expected an object"))


def _component(index: int, item: Mapping[str, Any], problems: list[Problem]) -> Component:
    component_id = _text(item.get("id"))
    if not component_id:
        problems.append(Problem(f"components[{index}] has no id"))
    ports = item.get("ports") or []
    if not isinstance(ports, list):
        problems.append(Problem(f"ports is {type(ports).__name__}, expected a list", component_id))
        ports = []
    read = tuple(
        Port(_text(port.get("category")), _text(port.get("route")), port.get("value"))
        for port in ports
        if isinstance(port, Mapping)
    )
    if len(read) < len(ports):
        problems.append(Problem("a port is no object", component_id))
    return Component(index, component_id, _text(item.get("type")), _text(item.get("name")), read)


def _connection(index: int, item: Mapping[str, Any], data_ids: set[str], problems: list[Problem]) -> Connection | None:
    source_id, target_id = _text(item.get("source_id")), _text(item.get("target_id"))
    kind = _kind(item)
    if kind is None:
        problems.append(Problem(f"connections[{index}] joins two kinds of ports", source_id or None))
        return None
    route = _text(item.get("route"))
    source_route = _text(item.get("source_route")) or route
    target_route = _text(item.get("target_route")) or route
    if kind == "data":
        source_route = source_route or (VALUE if source_id in data_ids else "")
        target_route = target_route or (VALUE if target_id in data_ids else "")
    named = ("", "") if kind == "flow" else (source_route, target_route)
    return Connection(index, _text(item.get("id")), kind, source_id, target_id, route, *named)


def _kind(item: Mapping[str, Any]) -> EdgeKind | None:
    """By its two ports; where neither says, an edge with port routes is a data edge. None when they disagree."""
    ends = {_ENDS[port] for key in ("source_port", "target_port") if (port := _text(item.get(key))) in _ENDS}
    if len(ends) > 1:
        return None
    if ends:
        return ends.pop()
    return "data" if item.get("source_route") or item.get("target_route") else "flow"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
