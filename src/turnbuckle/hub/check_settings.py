"""Whether a component's settings are there and have values they can have (blobhub 5.3, 5.8)."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from turnbuckle.hub.alias import is_object_alias
from turnbuckle.hub.catalogue import ComponentType, PortType
from turnbuckle.hub.document import VALUE, Component
from turnbuckle.hub.finding import Finding, finding
from turnbuckle.hub.reference import BadReference, parse_path


def check(component: Component, component_type: ComponentType) -> Iterator[Finding]:
    """Of `language` it is `bad_language`, of every other setting `missing_setting` or `bad_setting`."""
    for port in component_type.ports_of("setting"):
        value = component.setting(port.route)
        if value is None or value == "":
            if port.required:
                yield _found(
                    component, port, "missing_setting", f"{component.title!r} needs its setting {port.route!r}"
                )
        elif not (component.is_data and port.route == VALUE):  # input of any type may stand there
            what = _wrong(component_type, port, value)
            if what is not None:
                code = "bad_language" if port.route == "language" else "bad_setting"
                message = f"{component.title!r}, setting {port.route!r}: got {value!r}"[:200]
                yield _found(component, port, code, f"{message}, expected {what}")


def _found(component: Component, port: PortType, code: str, message: str) -> Finding:
    return finding("bad_language" if port.route == "language" else code, message, component.id)


def _wrong(component_type: ComponentType, port: PortType, value: Any) -> str | None:
    """What was expected instead, or None when it is fine."""
    if port.choices:
        return None if value in port.choices else " or ".join(port.choices)
    fits, expected = _FITS.get(port.data_type, (_anything, ""))
    if not fits(value):
        return expected
    special = _SPECIAL.get((component_type.type, port.route)) or _SPECIAL.get(("*", port.route))
    return special(value) if special is not None else None


def _anything(value: Any) -> bool:
    return True


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_FITS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "text": (lambda value: isinstance(value, str), "a text"),
    "choice": (lambda value: isinstance(value, str), "a choice"),
    "integer": (_is_integer, "a whole number"),
    "float": (_is_number, "a number"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
}


def _positive(value: Any) -> str | None:
    return None if value > 0 else "more than 0"


def _not_negative(value: Any) -> str | None:
    return None if value >= 0 else "0 or more"


def _reference(value: Any) -> str | None:
    try:
        parse_path(value)
    except BadReference as exc:
        return f"the path of a definition ({exc})"
    return None


def _object_alias(value: Any) -> str | None:
    return None if is_object_alias(value) else "an alias of a session object"


def _cases(value: Any) -> str | None:
    is_list = isinstance(value, list) and all(
        isinstance(case, dict) and isinstance(case.get("route"), str) and "equals" in case for case in value
    )
    return None if is_list else 'a list of {"route", "equals"}'


def _headers(value: Any) -> str | None:
    fine = isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    return None if fine else "an object of texts"


def _options(value: Any) -> str | None:
    fine = isinstance(value, list) and all(isinstance(o, dict) and isinstance(o.get("id"), str) for o in value)
    return None if fine else 'a list of {"id", "label"}'


_SPECIAL: Final[dict[tuple[str, str], Callable[[Any], str | None]]] = {
    ("*", "timeout_s"): _positive,
    ("*", "max_tokens"): _positive,
    ("io.sleep", "seconds"): _not_negative,
    ("io.http", "headers"): _headers,
    ("io.wait_input", "alias"): _object_alias,
    ("session.object_read", "alias"): _object_alias,
    ("session.object_write", "alias"): _object_alias,
    ("logic.switch", "cases"): _cases,
    ("review.ask", "options"): _options,
    ("workflow.execute", "reference"): _reference,
}
