"""What a JSON value may be, checked once at the door, and when two values are the same (decision 9).

A value is kept as the bytes that came. `check` reads them once with the standard library's parser; only a value
that it refuses is walked again, token by token and without recursion, to name the place.
"""

import hashlib
import json
import math
import re
from typing import Any

from turnbuckle.wire import limits


class BadValue(ValueError):
    """A body that is not JSON as we take it. `path` is where, `$` the whole body."""

    def __init__(self, path: str, got: str, expected: str) -> None:
        super().__init__(f"{path}: got {got}, expected {expected}")
        self.path = path


def check(body: bytes) -> None:
    """Refuse what no store or client may meet later: bad UTF-8, NaN, 1e400, lone surrogates, duplicate keys, depth.

    Raises BadValue with the path of the first such place.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as exc:
        raise BadValue("$", f"byte 0x{body[exc.start]:02x} at offset {exc.start}", "UTF-8") from None
    if _may_be_deep(body):
        _walk(text, len(text))
    try:
        value = _STRICT.decode(text)
        if _has_surrogate_escape(text):
            _TEXT.encode(value).encode()  # a lone surrogate has no UTF-8 form
    except json.JSONDecodeError as exc:
        raise _no_json(_walk(text, exc.pos), text, exc.pos) from None
    except (ValueError, RecursionError) as exc:
        _walk(text, len(text))
        raise BadValue("$", "text that is no JSON", "one JSON value") from exc


def _no_json(path: str, text: str, at: int) -> BadValue:
    return BadValue(path, f"{text[at : at + 20]!r} at character {at}", "JSON")


def fingerprint(raw: bytes) -> bytes:
    """16 bytes, equal exactly when two checked values are: key order and the spelling of numbers do not matter."""
    text = _CANONICAL.encode(_PLAIN.decode(raw.decode()))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _plain_number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number  # 2.0 and 2 are one number


_PLAIN = json.JSONDecoder(parse_float=_plain_number)
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_TEXT = json.JSONEncoder(ensure_ascii=False)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _refuse_constant(text: str) -> None:
    raise ValueError(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    return made


_STRICT = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_unique)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_BRACKET = re.compile(rb"[^\[\]{}]+")
_ONE_KIND = bytes.maketrans(b"{}", b"[]")  # so that one replacement takes away one level, whatever is nested in what


def _may_be_deep(body: bytes) -> bool:
    """Whether nesting passes the limit, or the brackets do not even pair. Runs at C speed on large bodies."""
    if body.count(b"[") + body.count(b"{") <= limits.JSON_DEPTH:
        return False
    brackets = _NO_BRACKET.sub(b"", _STRING.sub(b"", body)).translate(_ONE_KIND)
    for _ in range(limits.JSON_DEPTH):
        inner = brackets.replace(b"[]", b"")
        if len(inner) == len(brackets):
            break
        brackets = inner
    return bool(brackets)


def _has_surrogate_escape(text: str) -> bool:
    return "\\ud" in text or "\\uD" in text


_TOKEN = re.compile(
    r"""[ \t\n\r]*(?:
      (?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.]))
    | (?P<word>[A-Za-z-]+)
    | (?P<mark>[\[\]{}:,])
    | (?P<end>\Z))""",
    re.VERBOSE,
)


def _walk(text: str, until: int) -> str:
    """Raise BadValue at the first place that `check` refuses; the path at character `until` when none is before it."""
    stack: list[_Container] = []
    at = 0
    while at < until:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _no_json(_path(stack), text, at)
        kind, token = match.lastgroup, match.group(match.lastgroup or 0)
        if kind == "end":
            break
        if kind == "mark":
            if token in "]}" and not (stack and stack.pop().closed_by == token):
                raise _no_json(_path(stack), text, match.start("mark"))
            _walk_mark(stack, token)
        elif kind == "string" and stack and stack[-1].awaits_key:
            _take_key(stack, _string(stack, token))
        else:
            _walk_scalar(stack, kind, token)
        at = match.end()
    return _path(stack)


class _Container:
    """An open array or object of the walk."""

    def __init__(self, opened_by: str) -> None:
        self.closed_by = "}" if opened_by == "{" else "]"
        self.awaits_key = opened_by == "{"
        self.keys: set[str] = set()
        self.at: str | int | None = None if self.awaits_key else 0  # the key or index that the walk is at

    def next(self) -> None:
        if isinstance(self.at, int):
            self.at += 1
        else:
            self.at, self.awaits_key = None, True


def _take_key(stack: list[_Container], key: str) -> None:
    container = stack[-1]
    container.at, container.awaits_key = key, False
    if key in container.keys:
        raise BadValue(_path(stack), f"the key {key!r} twice", "each key once")
    container.keys.add(key)


def _walk_mark(stack: list[_Container], mark: str) -> None:
    if mark in "[{":
        if len(stack) >= limits.JSON_DEPTH:
            where = _path(stack[:8])
            raise BadValue(where + "…", "nesting deeper than the limit", f"at most {limits.JSON_DEPTH} levels")
        stack.append(_Container(mark))
    elif mark == "," and stack:
        stack[-1].next()


def _walk_scalar(stack: list[_Container], kind: str | None, token: str) -> None:
    if kind == "string":
        _string(stack, token)
    elif kind == "number":
        _number(stack, token)
    elif token not in ("true", "false", "null"):
        raise BadValue(_path(stack), token[:20], "a JSON value (NaN and Infinity are none)")


def _string(stack: list[_Container], token: str) -> str:
    value: str = json.loads(token)
    try:
        value.encode()
    except UnicodeEncodeError as exc:
        got = f"the lone surrogate \\u{ord(value[exc.start]):04x}"
        raise BadValue(_path(stack), got, "Unicode text") from None
    return value


def _number(stack: list[_Container], token: str) -> None:
    if any(mark in token for mark in ".eE"):
        if math.isinf(float(token)):
            raise BadValue(_path(stack), token[:40], "a number that a 64-bit float can hold")
    elif len(token.lstrip("-")) > limits.INTEGER_DIGITS:
        got = f"an integer of {len(token.lstrip('-'))} digits"
        raise BadValue(_path(stack), got, f"at most {limits.INTEGER_DIGITS} digits")


def _path(stack: list[_Container]) -> str:
    places = (container.at for container in stack if container.at is not None)
    return "$" + "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in places)
