"""Checks of plain JSON data, put together from small ones. A check gives one sentence per problem, with its path.

Knows nothing about scenarios: their fields are in `scenario.py`.
"""

from collections.abc import Callable, Iterator, Mapping

Check = Callable[[object, str], Iterator[str]]

NO_FIELDS: Mapping[str, Check] = {}


def anything(value: object, path: str) -> Iterator[str]:
    yield from ()


def text(value: object, path: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{path}: expected a text, got {value!r}"


def sentence(value: object, path: str) -> Iterator[str]:
    if not isinstance(value, str) or not value.strip():
        yield f"{path}: expected a text that is not blank, got {value!r}"


def number(value: object, path: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{path}: expected a number, got {value!r}"


def mapping(value: object, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: expected an object, got {value!r}"


def whole_number(at_least: int) -> Check:
    def check(value: object, path: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            yield f"{path}: expected a whole number of at least {at_least}, got {value!r}"

    return check


def one_of(*allowed: object) -> Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not any(type(value) is type(item) and value == item for item in allowed):
            yield f"{path}: expected one of {list(allowed)}, got {value!r}"

    return check


def either(*checks: Check) -> Check:
    """Fits one of the checks; when it fits none, the problems of the first are shown."""

    def check(value: object, path: str) -> Iterator[str]:
        if all(any(one(value, path)) for one in checks):
            yield from checks[0](value, path)

    return check


def list_of(item: Check, at_least: int = 0) -> Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{path}: expected a list, got {value!r}"
            return
        if len(value) < at_least:
            yield f"{path}: expected at least {at_least} items, got {len(value)}"
        for index, element in enumerate(value):
            yield from item(element, f"{path}[{index}]")

    return check


def mapping_of(item: Check) -> Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path}: expected an object, got {value!r}"
            return
        for key, element in value.items():
            yield from item(element, f"{path}.{key}")

    return check


def record(required: Mapping[str, Check], optional: Mapping[str, Check] = NO_FIELDS) -> Check:
    """An object with exactly these fields: a missing one and an unknown one are problems."""

    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path}: expected an object, got {value!r}"
            return
        known = {**required, **optional}
        yield from (f"{path}: field {name!r} is missing" for name in required if name not in value)
        yield from (f"{path}: unknown field {name!r}" for name in value if name not in known)
        for name, element in value.items():
            if name in known:
                yield from known[name](element, f"{path}.{name}")

    return check


def led_by(forms: Mapping[str, Check]) -> Check:
    """An object told apart by the one lead key it has, such as `{"sleep": key, "ms": n}`."""

    def check(value: object, path: str) -> Iterator[str]:
        leads = [key for key in value if key in forms] if isinstance(value, dict) else []
        if len(leads) != 1:
            yield f"{path}: expected an object with exactly one of {sorted(forms)}, got {value!r}"
            return
        yield from forms[leads[0]](value, path)

    return check
