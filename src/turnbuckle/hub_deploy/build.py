"""A document with the contents of the manifest's files in its components (blobhub 6.3, 6.4)."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnbuckle.hub_deploy import files, message
from turnbuckle.hub_deploy.compiler import compile_code
from turnbuckle.hub_deploy.imports import ImportRoots
from turnbuckle.hub_deploy.manifest import CodeBinding, ComponentBinding, DefinitionEntry, ValueBinding
from turnbuckle.hub_deploy.message import Drift
from turnbuckle.hub_deploy.problem import Advisory, DeployProblem

_CODE, _LANGUAGE, _VALUE = "code", "language", "value"
_PYTHON = "python"


@dataclass(frozen=True)
class Built:
    document: dict[str, Any]
    advisories: tuple[Advisory, ...] = ()


def build(entry: DefinitionEntry, document: Any, roots: ImportRoots, now: str, *, force: bool) -> Built:
    """The document to deploy; `document` itself stays as it is. `now` as in blobhub 2.1.

    DeployProblem REMOTE_EDIT | UNMANAGED_CODE for code that would be lost, unless `force`; COMPONENT_*, and those of
    the compiler.
    """
    made = copy.deepcopy(document)
    advisories: list[Advisory] = []
    for binding in entry.components:
        component = component_of(made, binding, entry.alias)
        match binding.content:
            case CodeBinding() as code:
                compiled = compile_code(code, roots)
                advisories += compiled.advisories
                port = _code_port(component, f"{entry.alias}, {binding.title}")
                content = message.content_of(compiled.blocks)
                check_kept(port.get("value"), content, f"{entry.alias}, {binding.title}", force=force)
                port["value"] = message.built(content, port.get("value"), now)
            case ValueBinding(source):
                _port(component, _VALUE, f"{entry.alias}, {binding.title}")["value"] = files.read(source)
    return Built(made, tuple(advisories))


def check_kept(value: Any, content: Any, where: str, *, force: bool) -> None:
    """DeployProblem REMOTE_EDIT | UNMANAGED_CODE when the value holds other code than `content` that nobody built."""
    if force or not message.has_content(value) or message.content_in(value) == content:
        return
    state = message.drift_of(value)
    if state is Drift.REMOTE_EDIT:
        raise DeployProblem("REMOTE_EDIT", f"{where}: the code was edited after it was built")
    if state is Drift.UNMANAGED:
        raise DeployProblem("UNMANAGED_CODE", f"{where}: there is code that was not built from files")


def check_remote_kept(entry: DefinitionEntry, built: Any, remote: Any, *, force: bool) -> None:
    """The same for what is deployed: an edit made there since the last pull is not lost either."""
    for binding in entry.components:
        if isinstance(binding.content, CodeBinding):
            ours, theirs = (code_value(document, binding) for document in (built, remote))
            check_kept(theirs, message.content_in(ours), f"{entry.alias}, {binding.title}, as deployed", force=force)


def states_of(entry: DefinitionEntry, document: Any) -> dict[str, Drift]:
    """Whose the code of each bound component is, by its title in the manifest."""
    return {
        binding.title: message.drift_of(code_value(document, binding))
        for binding in entry.components
        if isinstance(binding.content, CodeBinding)
    }


def code_value(document: Any, binding: ComponentBinding) -> Any:
    """What the port `code` holds; None when component or port are missing."""
    found = _named(document, binding)
    port = _find(found[0], _CODE) if len(found) == 1 else None
    return None if port is None else port.get("value")


def component_of(document: Any, binding: ComponentBinding, where: str) -> dict[str, Any]:
    """DeployProblem COMPONENT_NOT_FOUND | COMPONENT_NAME_AMBIGUOUS."""
    found = _named(document, binding)
    if not found:
        raise DeployProblem("COMPONENT_NOT_FOUND", f"{where} has no component {binding.title!r}")
    if len(found) > 1:
        raise DeployProblem("COMPONENT_NAME_AMBIGUOUS", f"{where} has {len(found)} components named {binding.title!r}")
    return found[0]


def _named(document: Any, binding: ComponentBinding) -> list[dict[str, Any]]:
    key, wanted = ("id", binding.id) if binding.id is not None else ("name", binding.name)
    return [one for one in components_of(document) if one.get(key) == wanted]


def components_of(document: Any) -> list[dict[str, Any]]:
    components = document.get("components") if isinstance(document, Mapping) else None
    return [one for one in components if isinstance(one, dict)] if isinstance(components, list) else []


def _code_port(component: dict[str, Any], where: str) -> dict[str, Any]:
    language = _port(component, _LANGUAGE, where).get("value")
    chosen = language.get("id") if isinstance(language, Mapping) else language
    if chosen != _PYTHON:
        raise DeployProblem("LANGUAGE_NOT_PYTHON", f"{where}: the language is {chosen!r}")
    return _port(component, _CODE, where)


def _port(component: dict[str, Any], route: str, where: str) -> dict[str, Any]:
    found = _find(component, route)
    if found is None:
        raise DeployProblem("COMPONENT_PORT_MISSING", f"{where} has no port {route!r}")
    return found


def _find(component: dict[str, Any], route: str) -> dict[str, Any] | None:
    """By its route, whatever its category; among several the setting."""
    ports = component.get("ports")
    found = [port for port in (ports if isinstance(ports, list) else []) if isinstance(port, dict)]
    named = [port for port in found if port.get("route") == route]
    return next((port for port in named if port.get("category") == "setting"), named[0] if named else None)
