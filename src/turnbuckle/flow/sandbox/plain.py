"""JSON that comes out of the sandbox."""

import json
from typing import Any, NoReturn

_DIGITS = 400  # of an integer; longer ones are slow to write and no client reads them


def fits(text: str, limit_bytes: int) -> bool:
    return len(text) <= limit_bytes and len(text.encode("utf-8", "surrogatepass")) <= limit_bytes


def decode(text: str) -> Any:
    """ValueError on anything but JSON: NaN, integers of over 400 digits, nesting deeper than Python's own."""
    try:
        return json.loads(text, parse_constant=_no_constant, parse_int=_bounded_int)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)
