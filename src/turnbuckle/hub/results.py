"""Which results a component can have, as far as the document tells."""

from typing import Any

from turnbuckle.hub.catalogue import ComponentType
from turnbuckle.hub.document import Component
from turnbuckle.hub.value import message_text


def results_of(component: Component, component_type: ComponentType) -> tuple[str, ...] | None:
    """In the catalogue's order, those that a setting adds first; None when only the run can tell."""
    if component_type.routes is None:
        return None
    if component_type.type == "review.ask":
        return None if component.setting("options") else component_type.routes
    return (*_added(component, component_type), *component_type.routes)


def _added(component: Component, component_type: ComponentType) -> tuple[str, ...]:
    if component_type.routes_setting is None:
        return ()
    cases = component.setting(component_type.routes_setting)
    named = [case.get("route") for case in cases if isinstance(case, dict)] if isinstance(cases, list) else []
    return tuple(dict.fromkeys(route for route in named if isinstance(route, str)))


def may_choose(component: Component) -> bool:
    """Whether code could have another result than `success`, or end the run: with `set_result` or `result`."""
    code: Any = component.setting("code")
    return "result" in (code if isinstance(code, str) else message_text(code))
