"""What a workflow's values may be, and their JSON (lbb-engine 5.13).

A value is walked once (copied to plain lists and dicts, so that nobody shares it) and written once at C speed. Only a
value that is refused is walked again, to name the place.
"""

import inspect
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from lbb.wire_json import wire_value
from lbb.workflows import limits
from lbb.workflows.errors import WorkflowError


class Encoded(NamedTuple):
    """A user's value: a private copy as a replay would read it, and its compact UTF-8 JSON."""

    value: Any
    text: bytes


NULL = Encoded(None, b"null")


def encode_json(value: Any, where: str) -> Encoded:
    """The value as JSON. Pydantic models become mappings, tuples lists, members of str and int enums their value.

    WorkflowError that begins with `where` and the path for NaN, infinities, keys that are no strings, other objects,
    cycles, more than 200 levels, lone surrogates and integers of more than 4,300 digits.
    """
    try:
        copied = _copy(value, 0)
    except _Refused as refusal:
        raise WorkflowError(refusal.at(where)) from None
    except RecursionError:
        raise WorkflowError(f"{where}: the stack is too deep to copy the value") from None
    try:
        return Encoded(copied, _write(copied).encode())
    except ValueError as exc:  # also a UnicodeEncodeError
        raise WorkflowError(_bad_leaf(copied, where) or f"{where}: {exc}") from None


def encode_within(value: Any, where: str, limit_bytes: int) -> Encoded:
    """As `encode_json`; WorkflowError also when the JSON is larger than `limit_bytes`."""
    encoded = encode_json(value, where)
    if len(encoded.text) > limit_bytes:
        raise WorkflowError(too_large(where, len(encoded.text), limit_bytes))
    return encoded


def copy_json(value: Any, where: str) -> Any:
    """A deep copy of the value as plain JSON; WorkflowError as for `encode_json`."""
    return encode_json(value, where).value


def too_large(where: str, size_bytes: int, limit_bytes: int) -> str:
    return (
        f"{where} is {size_bytes:,} bytes of JSON, the limit is {limit_bytes:,}: "
        "use a blob (client.workflows.blobs.put_json) and keep its key instead"
    )


_write = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode  # `_copy` made sure that there is no cycle

_LEAVES = frozenset((str, int, float, bool, type(None)))
_WORD = re.compile(r"\w+\Z")
_PATH_PARTS = 16


class _Refused(Exception):
    """Unwinds `_copy`; every level adds its part of the path."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.parts: list[str | int] = []

    def at(self, where: str) -> str:
        return f"{where}{_path(reversed(self.parts))} {self}"


def _copy(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is dict:
        return _copy_mapping(value, depth)
    if kind is list:
        return _copy_list(value, depth)
    return _copy_other(value, depth)


def _copy_mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    _check_depth(value, depth)
    copied: dict[str, Any] = {}
    key: Any = None
    try:
        for key, item in value.items():
            if type(key) is not str:
                key = _plain_key(key)
            copied[key] = item if type(item) in _LEAVES else _copy(item, depth + 1)
    except _BadKey:
        raise _Refused(f"has a key of type {type(key).__name__}; the keys of JSON are strings") from None
    except _Refused as refusal:
        refusal.parts.append(key)
        raise
    return copied


def _copy_list(value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
    _check_depth(value, depth)
    copied: list[Any] = []
    try:
        for item in value:
            copied.append(item if type(item) in _LEAVES else _copy(item, depth + 1))
    except _Refused as refusal:
        refusal.parts.append(len(copied))
        raise
    return copied


def _copy_other(value: Any, depth: int) -> Any:
    """Subclasses become the plain type, so that the first run and a replay see the same."""
    if isinstance(value, BaseModel):
        return _copy(wire_value(value), depth)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return _copy_mapping(value, depth)
    if isinstance(value, list | tuple):
        return _copy_list(value, depth)
    if inspect.iscoroutine(value):
        value.close()  # it is named here; Python's own warning would only repeat it, later and elsewhere
        raise _Refused("is a coroutine: write `await` before the call that made it")
    raise _Refused(
        f"is of type {type(value).__name__}; "
        "JSON holds null, booleans, strings, numbers, lists and mappings with string keys"
    )


class _BadKey(Exception):
    pass


def _plain_key(key: Any) -> str:
    if not isinstance(key, str):
        raise _BadKey
    return str.__str__(key)


def _check_depth(value: Any, depth: int) -> None:
    if depth >= limits.JSON_DEPTH:
        what = "goes in a circle" if _has_cycle(value) else f"is nested deeper than {limits.JSON_DEPTH} levels"
        raise _Refused(what)


def _has_cycle(value: Any) -> bool:
    """Whether a container below `value` holds itself. A depth-first walk without recursion."""
    done: set[int] = set()
    path: dict[int, Any] = {}
    stack = [(value, False)]
    while stack:
        item, is_left = stack.pop()
        if is_left:
            done.add(id(item))
            del path[id(item)]
        elif id(item) in path:
            return True
        elif isinstance(item, Mapping | list | tuple) and id(item) not in done:
            path[id(item)] = item
            stack.append((item, True))
            stack.extend((part, False) for part in (item.values() if isinstance(item, Mapping) else item))
    return False


def _bad_leaf(value: Any, where: str) -> str | None:
    """The sentence about the first part of a copied value that JSON cannot say."""
    if isinstance(value, dict):
        parts: Any = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        reason = _bad_scalar(value)
        return reason and f"{where} {reason}"
    for part, item in parts:
        if isinstance(part, str) and (reason := _bad_scalar(part)):
            return f"{where} has a key that {reason}"
        if found := _bad_leaf(item, where + _path([part])):
            return found
    return None


def _bad_scalar(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {'NaN' if math.isnan(value) else 'infinite'}, which JSON cannot hold"
    if isinstance(value, str):
        return _bad_text(value)
    if isinstance(value, int) and abs(value) >= 10**limits.INTEGER_DIGITS:
        return f"is an integer of more than {limits.INTEGER_DIGITS:,} digits"
    return None


def _bad_text(value: str) -> str | None:
    try:
        value.encode()
    except UnicodeEncodeError as exc:
        return f"holds the lone surrogate \\u{ord(value[exc.start]):04x}, which is no Unicode text"
    return None


def _path(parts: Iterable[str | int]) -> str:
    """`.rows[1]`; the middle of a very long path is left out."""
    shown = [_path_part(part) for part in parts]
    if len(shown) > _PATH_PARTS:
        shown[_PATH_PARTS // 2 : -_PATH_PARTS // 2] = ["…"]
    return "".join(shown)


def _path_part(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    shown = part.encode("utf-8", "backslashreplace").decode()
    return f".{shown}" if _WORD.match(shown) else f"[{json.dumps(shown, ensure_ascii=False)}]"
