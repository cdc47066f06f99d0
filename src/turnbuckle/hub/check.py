"""What `check_definition` finds in a workflow document before anything runs (blobhub 5.8).

One function per kind of finding, each over the wiring of the document; findings come in the document's order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from turnbuckle.hub import check_settings
from turnbuckle.hub.catalogue import ANY, FAILURE, ComponentType
from turnbuckle.hub.cycles import endless_cycles
from turnbuckle.hub.data_flow import alias_of, persistence_of, writes
from turnbuckle.hub.document import Component, Connection, Document
from turnbuckle.hub.finding import CodeFinding, Finding, finding
from turnbuckle.hub.results import results_of
from turnbuckle.hub.value import message_text
from turnbuckle.hub.wiring import NOWHERE, Wiring

CodeCheck = Callable[[str], Iterable[CodeFinding]]  # the sandbox's
CODE: Final = "logic.code"


def check(document: Document, check_code: CodeCheck) -> list[Finding]:
    """Everything there is to say about it, errors and warnings."""
    wiring = Wiring(document)
    found = [
        *(finding("bad_document", problem.message, problem.component_id) for problem in document.problems),
        *_starts(wiring),
        *_identities(document),
        *(item for component in document.components for item in _component(wiring, component, check_code)),
        *(item for connection in document.connections for item in _connection(wiring, connection)),
        *_cycles(wiring),
        *_aliases(document),
        *_reach(wiring),
    ]
    return list(dict.fromkeys(found))


def code_text(component: Component) -> str:
    """The code of a `logic.code`: the text blocks of its message, a line break between them; or a bare text."""
    code = component.setting("code")
    return code if isinstance(code, str) else message_text(code)


def _starts(wiring: Wiring) -> Iterator[Finding]:
    starts = wiring.starts()
    if not starts:
        yield finding("no_start", "the document has no flow.start")
    for index in starts[1:]:
        yield finding("several_starts", "the document has another flow.start", wiring.component(index).id)


def _identities(document: Document) -> Iterator[Finding]:
    counts = Counter(component.id for component in document.components)
    for component_id, count in counts.items():
        if count > 1:
            yield finding("duplicate_component_id", f"{count} components have the id {component_id!r}", component_id)


def _component(wiring: Wiring, component: Component, check_code: CodeCheck) -> Iterator[Finding]:
    yield from _ports(component)
    component_type = wiring.type_of(component.index)
    if component_type is None:
        yield finding("unknown_component_type", f"nobody registered the type {component.type!r}", component.id)
        return
    yield from check_settings.check(component, component_type)
    yield from _inputs(wiring, component, component_type)
    yield from _writes(wiring, component)
    if component.type == CODE:
        yield from _code(component, check_code)
    yield from _routes(wiring, component, component_type)


def _ports(component: Component) -> Iterator[Finding]:
    counts = Counter((port.category, port.route) for port in component.ports)
    for (category, route), count in counts.items():
        if count > 1:
            named = f"{category or 'port'} {route!r}"
            yield finding("duplicate_port", f"{component.title!r} has the {named} {count} times", component.id)


def _inputs(wiring: Wiring, component: Component, component_type: ComponentType) -> Iterator[Finding]:
    into = Counter(edge.target_route for _, edge in wiring.data_into(component.index))
    for port in component_type.ports_of("data_input"):
        own = component.port(port.route, "data_input")
        if port.required and port.route not in into and (own is None or own.value is None):
            yield finding("missing_setting", f"{component.title!r} needs its input {port.route!r}", component.id)
    if not component.is_data:
        for route, count in into.items():
            if count > 1:
                message = f"{count} sources lead into {route!r} of {component.title!r}"
                yield finding("duplicate_input", message, component.id)


def _writes(wiring: Wiring, component: Component) -> Iterator[Finding]:
    if component.is_data:
        return
    outputs = {edge.source_route: None for _, edge in wiring.data_from(component.index)}
    for index in writes(wiring, component.index, outputs):
        target = wiring.component(index)
        if persistence_of(target) == "definition":
            message = f"{component.title!r} writes {target.title!r}, whose persistence is `definition`"
            yield finding("read_only_data", message, component.id)


def _code(component: Component, check_code: CodeCheck) -> Iterator[Finding]:
    for found in check_code(code_text(component)):
        yield finding(found.code, f"line {found.line}: {found.message}", component.id, found.line)


def _routes(wiring: Wiring, component: Component, component_type: ComponentType) -> Iterator[Finding]:
    """A component whose results all end the path is an end; one with some that lead on was perhaps forgotten."""
    results = results_of(component, component_type)
    led_on = wiring.results_with_edges(component.index)
    for route in led_on:
        if results is not None and route not in (*results, FAILURE):
            yield finding("unknown_route", f"{component.title!r} never has the result {route!r}", component.id)
    for route in results or ():
        if led_on and route not in led_on and route != FAILURE:
            yield finding("unhandled_route", f"{component.title!r} leads nowhere on {route!r}", component.id)


def _connection(wiring: Wiring, connection: Connection) -> Iterator[Finding]:
    source, target = (wiring.index_of.get(i, NOWHERE) for i in (connection.source_id, connection.target_id))
    name = f"connection {connection.id or connection.index!r}"
    for end, index, component_id in (
        ("source", source, connection.source_id),
        ("target", target, connection.target_id),
    ):
        if index == NOWHERE:
            yield finding("dangling_connection", f"{name}: its {end} {component_id!r} is not in the document")
    if NOWHERE not in (source, target):
        yield from _fit(wiring, connection, name, source, target)


def _fit(wiring: Wiring, connection: Connection, name: str, source: int, target: int) -> Iterator[Finding]:
    giver, taker = wiring.type_of(source), wiring.type_of(target)
    if giver is None or taker is None:
        return
    source_id, target_id = connection.source_id, connection.target_id
    if connection.kind == "flow":
        for component_type, component_id in ((giver, source_id), (taker, target_id)):
            if component_type.kind != "flow":
                message = f"{name}: a {component_type.type} is not on the flow's path"
                yield finding("bad_connection", message, component_id)
        if taker.type == "flow.start":
            yield finding("bad_connection", f"{name}: leads back to the start", target_id)
    elif connection.kind == "provider":
        if giver.kind != "provider":
            yield finding("bad_connection", f"{name}: a {giver.type} is no provider", source_id)
        if not _has(wiring.component(target), taker, "provider_input", connection.target_route):
            message = f"{name}: {target_id!r} has no provider input {connection.target_route!r}"
            yield finding("bad_connection", message, target_id)
    else:
        if not _has(wiring.component(source), giver, "data_output", connection.source_route):
            message = f"{name}: {source_id!r} has no output {connection.source_route!r}"
            yield finding("bad_connection", message, source_id)
        if not _has(wiring.component(target), taker, "data_input", connection.target_route):
            message = f"{name}: {target_id!r} has no input {connection.target_route!r}"
            yield finding("bad_connection", message, target_id)


def _has(component: Component, component_type: ComponentType, category: str, route: str) -> bool:
    declared = {port.route for port in component_type.ports if port.category == category}
    return bool(route) and (ANY in declared or route in declared)


def _cycles(wiring: Wiring) -> Iterator[Finding]:
    for members in endless_cycles(wiring):
        names = ", ".join(repr(wiring.component(index).title) for index in members)
        yield finding(
            "cycle_without_exit", f"no result leads out of the circle of {names}"[:500], _id(wiring, members[0])
        )


def _aliases(document: Document) -> Iterator[Finding]:
    inputs = [c for c in document.components if c.is_data and persistence_of(c) == "execution"]
    counts = Counter(alias_of(component) for component in inputs)
    for component in inputs:
        alias = alias_of(component)
        if alias is not None and counts[alias] > 1:
            yield finding("duplicate_alias", f"{counts[alias]} inputs have the alias {alias!r}", component.id)


def _reach(wiring: Wiring) -> Iterator[Finding]:
    reached, todo = set(wiring.starts()), wiring.starts()
    while todo:
        for target in wiring.all_targets(todo.pop()):
            if target not in reached and target != NOWHERE:
                reached.add(target)
                todo.append(target)
    for component in wiring.components if wiring.starts() else ():
        component_type = wiring.type_of(component.index)
        if component_type is not None and component_type.kind == "flow" and component.index not in reached:
            yield finding("unreachable_component", f"no path leads to {component.title!r}", component.id)


def _id(wiring: Wiring, index: int) -> str:
    return wiring.component(index).id
