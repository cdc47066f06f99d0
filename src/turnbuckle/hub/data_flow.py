"""How values travel: what a run starts with, what a component gets, and where its outputs go (blobhub 5.4, 5.5).

A component pulls: each input is the newest value among the edges into it, else the port's own. Outputs are pushed into
data components, and from one data component on into the next.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnbuckle.hub.catalogue import ANY, FAILURE
from turnbuckle.hub.document import VALUE, Component, Document
from turnbuckle.hub.position import Fault, Held, Outcome, Position
from turnbuckle.hub.value import size_bytes
from turnbuckle.hub.wiring import NOWHERE, Wiring
from turnbuckle.wire.hub_limits import VALUE_BYTES


def alias_of(component: Component) -> str | None:
    alias = component.setting("alias")
    return alias if isinstance(alias, str) and alias else None


def persistence_of(component: Component) -> str:
    """`execution` or `session`; anything else is `definition`, whose value never changes."""
    persistence = component.setting("persistence")
    return persistence if persistence in ("execution", "session") else "definition"


def session_aliases(document: Document) -> list[str]:
    """The session objects that a run reads when it starts."""
    found = (alias_of(c) for c in document.components if c.is_data and persistence_of(c) == "session")
    return list(dict.fromkeys(alias for alias in found if alias is not None))


def initial_data(
    document: Document, input_data: Iterable[tuple[str, Any]], session_objects: Mapping[str, Any]
) -> dict[int, Any]:
    """The data components' values at the start. An input that nobody waits for is ignored; of two the later counts."""
    given = {"execution": dict(input_data), "session": session_objects, "definition": {}}
    return {
        component.index: _initial(component, given[persistence_of(component)])
        for component in document.components
        if component.is_data
    }


def _initial(component: Component, given: Mapping[str, Any]) -> Any:
    alias = alias_of(component)
    if alias is not None and alias in given:
        return given[alias]
    port = component.port(VALUE, "setting")
    return None if port is None else port.value


def inputs_of(wiring: Wiring, at: Position, index: int) -> dict[str, Any]:
    """Route -> value for each input that the component, its type or an edge names; None where there is no value."""
    newest: dict[str, Held] = {}
    for source, edge in wiring.data_into(index):
        held = _held(wiring, at, source, edge.source_route)
        known = newest.get(edge.target_route)
        if held is not None and held.value is not None and (known is None or held.at >= known.at):
            newest[edge.target_route] = held
    component = wiring.component(index)
    return {
        route: newest[route].value if route in newest else _own_value(component, route)
        for route in dict.fromkeys(_input_routes(wiring, component))
    }


def _held(wiring: Wiring, at: Position, source: int, route: str) -> Held | None:
    if source == NOWHERE:
        return None
    if wiring.component(source).is_data:
        return at.data.get(source)
    given = at.outputs.get(source)
    return None if given is None else Held(given.at, given.value.get(route))


def _input_routes(wiring: Wiring, component: Component) -> Iterator[str]:
    yield from component.routes_of("data_input")
    component_type = wiring.type_of(component.index)
    if component_type is not None:
        yield from (port.route for port in component_type.ports_of("data_input") if port.route != ANY)
    yield from (edge.target_route for _, edge in wiring.data_into(component.index))


def _own_value(component: Component, route: str) -> Any:
    port = component.port(route, "data_input")
    return None if port is None else port.value


def writes(wiring: Wiring, index: int, outputs: Mapping[str, Any]) -> dict[int, Any]:
    """The data components that these outputs change, with their new values; of two into one the later edge counts."""
    written: dict[int, Any] = {}
    for target, edge in wiring.data_from(index):
        if edge.source_route in outputs and target != NOWHERE and wiring.component(target).is_data:
            for reached in _reached(wiring, target):
                written[reached] = outputs[edge.source_route]
    return written


def _reached(wiring: Wiring, index: int) -> list[int]:
    """The data component and those that its value goes on to."""
    found, todo = [index], [index]
    while todo:
        for target, _ in wiring.data_from(todo.pop()):
            if target != NOWHERE and target not in found and wiring.component(target).is_data:
                found.append(target)
                todo.append(target)
    return found


def session_writes(wiring: Wiring, index: int, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Alias -> value of the session objects that the runner must save with these outputs."""
    changed = ((wiring.component(i), value) for i, value in writes(wiring, index, outputs).items())
    return {
        alias: value
        for component, value in changed
        if persistence_of(component) == "session" and (alias := alias_of(component)) is not None
    }


def settle(wiring: Wiring, index: int, outcome: Outcome, value_bytes: int = VALUE_BYTES) -> Outcome:
    """The outcome as it counts: a value over the limit fails the run, a write to fixed data fails the component.

    The runner asks this before it saves the step; the walk asks it again, so both always see the same.
    """
    for route, value in outcome.outputs.items():
        if (size := size_bytes(value)) > value_bytes:
            fault = Fault("value_too_large", f"output {route!r} has {size:,} bytes, the limit is {value_bytes:,}")
            return Outcome(FAILURE, error=fault, is_fatal=True)
    for target in writes(wiring, index, outcome.outputs):
        component = wiring.component(target)
        if persistence_of(component) == "definition":
            fault = Fault("read_only_data", f"{component.title!r} has persistence `definition` and cannot be written")
            return Outcome(FAILURE, error=fault)
    return outcome
