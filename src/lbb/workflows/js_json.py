"""JSON and numbers as JavaScript writes them: run results are measured and shown that way (lbb-engine 6.9)."""

import json
import math
from collections.abc import Mapping
from typing import Any

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

# JavaScript writes a number without an exponent while its point lies within these many digits.
_POINT_MAX = 21
_POINT_MIN = -6


def js_json(value: Any) -> str:
    """Compact JSON. Floats in the shortest form: `100.0` -> `100`, `5e-07` -> `5e-7`, NaN and infinities -> `null`."""
    if isinstance(value, bool) or value is None or isinstance(value, str | int):
        return _write(value)
    if isinstance(value, float):
        return js_number(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_write(str(key))}:{js_json(item)}" for key, item in value.items()) + "}"
    return "[" + ",".join(js_json(item) for item in value) + "]"


def js_json_bytes(value: Any) -> int:
    """The size of `js_json` in UTF-8. UnicodeEncodeError (a ValueError) for a lone surrogate."""
    return len(js_json(value).encode())


def js_number(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)  # value = 0.<digits> * 10^point
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    sign = "-" if value < 0 else ""
    return sign + _placed(stripped.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= _POINT_MAX:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _POINT_MAX:
        return f"{digits[:point]}.{digits[point:]}"
    if _POINT_MIN < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{point - 1:+d}"


def value_text(value: Any) -> str:
    """A value as a person reads it: nothing for null, lists joined with `, `, a mapping of one entry as that entry."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | float):
        return js_json(value)
    if isinstance(value, list | tuple):
        return ", ".join(value_text(item) for item in value)
    if isinstance(value, Mapping):
        return value_text(next(iter(value.values()))) if len(value) == 1 else js_json(value)
    return str(value)
