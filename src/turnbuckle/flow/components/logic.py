"""logic.*, code apart: decided from the inputs alone, so none of them needs a step."""

from collections.abc import Callable
from typing import Any, Final

from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import create_value, value_of


async def condition(c: ComponentContext) -> Outcome:
    """`true` or `false`. Texts and numbers are ordered among themselves; anything else cannot be compared so."""
    operator, left, right = c.setting("operator"), c.plain("left"), c.plain("right")
    compare = _OPERATORS.get(operator)
    if compare is None:
        raise ComponentFailed("bad_setting", f"the setting `operator` is {operator!r:.100}")
    try:
        return Outcome("true" if compare(left, right) else "false")
    except TypeError as exc:
        raise ComponentFailed("not_comparable", f"{left!r:.100} {operator} {right!r:.100}: {exc}") from exc


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def checked(left: Any, right: Any) -> bool:
        if _is_number(left) and _is_number(right):
            return compare(left, right)
        if isinstance(left, str) and isinstance(right, str):
            return compare(left, right)
        raise TypeError("two numbers or two texts can be ordered")

    return checked


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(left: Any, right: Any) -> bool:
    """As JSON: true is not 1."""
    return (type(left) is type(right) and left == right) or (_is_number(left) and _is_number(right) and left == right)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    if isinstance(left, list):
        return any(_equal(item, right) for item in left)
    if isinstance(left, dict):
        return isinstance(right, str) and right in left
    return False


def _is_empty(left: Any, _: Any) -> bool:
    return left is None or left in ("", [], {})


_OPERATORS: Final[dict[Any, Callable[[Any, Any], bool]]] = {
    "eq": _equal,
    "neq": lambda left, right: not _equal(left, right),
    "lt": _ordered(lambda left, right: left < right),
    "lte": _ordered(lambda left, right: left <= right),
    "gt": _ordered(lambda left, right: left > right),
    "gte": _ordered(lambda left, right: left >= right),
    "contains": _contains,
    "empty": _is_empty,
}


async def switch(c: ComponentContext) -> Outcome:
    """The route of the first case that equals the value, else `default`."""
    cases, value = c.setting("cases"), c.plain("value")
    if not isinstance(cases, list):
        raise ComponentFailed("bad_setting", "the setting `cases` is no list")
    for case in cases:
        if not isinstance(case, dict) or not isinstance(case.get("route"), str):
            raise ComponentFailed("bad_setting", f"a case is {case!r:.100}, expected an object with a text `route`")
        if _equal(case.get("equals"), value):
            return Outcome(case["route"])
    return Outcome("default")


async def loop(c: ComponentContext) -> Outcome:
    """`item` with the next element, then `done`. The walk enters it once for each round, with the same inputs."""
    items = c.plain("items")
    if not isinstance(items, list):
        raise ComponentFailed("bad_input", f"`items` is {items!r:.100}, expected a list")
    if c.round >= len(items):
        return Outcome("done")
    outputs = {"item": create_value("json", items[c.round]), "index": value_of(c.round)}
    return Outcome("item", outputs)


RUNS: Final[dict[str, ComponentRun]] = {
    "logic.condition": condition,
    "logic.switch": switch,
    "logic.loop": loop,
}
