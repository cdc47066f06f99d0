"""Matchers: what a scenario says about a JSON value (conformance/workflow-worker/README.md, "Matchers").

`mismatches` gives one sentence per difference; none means the value matches.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.shape import Check, anything, list_of, number, whole_number

# The two clocks (worker and runner) are one machine's, but a body is built before it arrives.
CLOCK_SLACK_MS = 100


def check_matcher(value: object, path: str) -> Iterator[str]:
    """Problems of a matcher itself: an unknown `$` object would silently match nothing."""
    if isinstance(value, dict) and any(key.startswith("$") for key in value):
        name = next(iter(value))
        if len(value) != 1 or name not in _ARGUMENTS:
            yield f"{path}: expected one of {sorted(_ARGUMENTS)} alone, got {sorted(value)}"
        else:
            yield from _ARGUMENTS[name](value[name], f"{path}.{name}")
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from check_matcher(element, f"{path}.{key}")
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from check_matcher(element, f"{path}[{index}]")


_ARGUMENTS: Mapping[str, Check] = {
    "$absent": anything,
    "$any": anything,
    "$all": list_of(check_matcher, at_least=1),
    "$length": whole_number(0),
    "$json_bytes_at_most": whole_number(0),
    "$at_least_now_plus_ms": number,
}


def mismatches(matcher: Any, value: Any, path: str, arrived_at_ms: int) -> Iterator[str]:
    """How `value` differs from `matcher`; `arrived_at_ms` is the request's arrival, Unix milliseconds."""
    match matcher:
        case {"$absent": _}:
            yield f"{path}: expected to be absent, got {_short(value)}"
        case {"$any": _}:
            return
        case {"$all": matchers}:
            for one in matchers:
                yield from mismatches(one, value, path, arrived_at_ms)
        case {"$length": length}:
            if not isinstance(value, list) or len(value) != length:
                yield f"{path}: expected a list of {length} items, got {_short(value)}"
        case {"$json_bytes_at_most": limit}:
            if (size := len(_compact(value).encode())) > limit:
                yield f"{path}: expected at most {limit} bytes of JSON, got {size}"
        case {"$at_least_now_plus_ms": ahead_ms}:
            earliest = arrived_at_ms + ahead_ms - CLOCK_SLACK_MS
            if not _is_number(value) or value < earliest:
                yield f"{path}: expected a time of at least {earliest}, got {_short(value)}"
        case dict():
            yield from _object_mismatches(matcher, value, path, arrived_at_ms)
        case list():
            yield from _list_mismatches(matcher, value, path, arrived_at_ms)
        case _:
            if not _equal_scalars(matcher, value):
                yield f"{path}: expected {_short(matcher)}, got {_short(value)}"


def _object_mismatches(matcher: dict[str, Any], value: Any, path: str, arrived_at_ms: int) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: expected an object, got {_short(value)}"
        return
    for key, one in matcher.items():
        if key in value:
            yield from mismatches(one, value[key], f"{path}.{key}", arrived_at_ms)
        elif not (isinstance(one, dict) and "$absent" in one):
            yield f"{path}.{key}: expected {_short(one)}, but it is missing"


def _list_mismatches(matcher: list[Any], value: Any, path: str, arrived_at_ms: int) -> Iterator[str]:
    if not isinstance(value, list) or len(value) != len(matcher):
        yield f"{path}: expected a list of {len(matcher)} items, got {_short(value)}"
        return
    for index, one in enumerate(matcher):
        yield from mismatches(one, value[index], f"{path}[{index}]", arrived_at_ms)


def _equal_scalars(expected: Any, value: Any) -> bool:
    if _is_number(expected) and _is_number(value):
        return bool(expected == value)
    return type(expected) is type(value) and expected == value


def same_json(left: Any, right: Any) -> bool:
    """Whether two parsed bodies are equal: objects without order, and true is not 1."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(same_json, left, right))
        case _:
            return _equal_scalars(left, right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _short(value: Any) -> str:
    shown = _compact(value)
    return shown if len(shown) <= 300 else f"{shown[:300]}... ({len(shown)} characters)"
