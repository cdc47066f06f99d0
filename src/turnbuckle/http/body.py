"""The door: a request's bytes as a checked struct, or a refusal that names field, got and expected (decision 9)."""

import json
import re
from typing import Any, TypeVar

import msgspec

from turnbuckle.wire import activity, base, limits, review
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.value import BadValue, check

T = TypeVar("T", bound=msgspec.Struct)
LARGE_BYTES = 32 * limits.KIB  # from here on, checking a body is worth a thread

_WORDS = {
    activity.EFFECT_PATTERN: "1 to 200 of A-Z, a-z, 0-9, `_`, `.`, `:`, `/`, `-`",
    activity.OPTION_PATTERN: "1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `-`",
    base.NAME_PATTERN: "1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `-`",
    base.ID_PATTERN: "1 to 256 characters, not blank, no control characters",
    base.WORKER_PATTERN: "1 to 128 characters, not blank, no control characters",
    review.KEY_PATTERN: "1 to 255 characters, not blank, no comma, no control characters",
    review.OPTION_PATTERN: "1 to 64 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`",
    review.SIGNAL_PATTERN: "nothing, or 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `-`",
}
_AT = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`(?P<path>[^`]*)`)?$", re.DOTALL)
_REGEX = re.compile(r"Expected `str` matching regex (?P<pattern>'.*')", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def decode(body: bytes, kind: type[T]) -> T:
    """The body as `kind`. Refused(invalid_request) when it is no JSON as we take it, (invalid_param) for a field."""
    try:
        check(body)
    except BadValue as exc:
        raise Refused("invalid_request", str(exc), param=_param(exc.path)) from None
    return decode_checked(body, kind)


def decode_checked(body: bytes, kind: type[T]) -> T:
    """A body that `decode` has let through before, as another `kind`. Refused(invalid_param) for a field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as exc:
        raise _explain(str(exc), json.loads(body)) from None


def convert(query: dict[str, str], kind: type[T]) -> T:
    """Query parameters as `kind`: texts are read as the field's type."""
    try:
        return msgspec.convert(query, kind, strict=False)
    except msgspec.ValidationError as exc:
        raise _explain(str(exc), query) from None


def _explain(message: str, value: Any) -> Refused:
    """The decoder's sentence with the value that was got, and patterns in words."""
    match = _AT.match(message)
    assert match is not None
    what, path = match["what"], match["path"] or "$"
    regex = _REGEX.search(what)
    if regex is not None:
        pattern = regex["pattern"].encode().decode("unicode_escape")[1:-1]
        what = f"Expected {_WORDS.get(pattern, pattern)}"
    code = "invalid_request" if path == "$" and "unknown field" not in what and "required field" not in what else ""
    named = _named(what)
    got = "" if named else _got(value, path)  # a field that is missing or unknown has no value worth showing
    param = ".".join(part for part in (_param(path), named) if part) or None
    return Refused(code or "invalid_param", f"{param or 'body'}: {got}{what}", param=param)


def _got(value: Any, path: str) -> str:
    for key, index in _STEP.findall(path):
        try:
            value = value[key] if key else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return ""  # it is missing: the sentence says so
    text = json.dumps(value, ensure_ascii=False)
    return f"got {text if len(text) <= 80 else text[:79] + '…'}. "


def _param(path: str) -> str | None:
    return path.removeprefix("$").removeprefix(".") or None


def _named(what: str) -> str | None:
    """The field that an unknown-field or missing-field sentence names."""
    match = re.search(r"field `([^`]*)`", what)
    return match[1] if match else None
