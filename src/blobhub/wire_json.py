"""JSON as it crosses the wire (blobhub 2.1)."""

import json
from collections.abc import Mapping
from typing import Any

Envelope = dict[str, Any]  # {"status": "success", ...the answer's own keys}


def dump(value: Any) -> bytes:
    """Compact UTF-8 JSON of the value as given.

    ValueError for NaN, infinities, lone surrogates and circles, TypeError for an object JSON cannot say,
    RecursionError for one too deep.
    """
    return _BODY.encode(value).encode()


def dump_header(value: Any) -> str:
    """The same in ASCII, as a header carries it."""
    return _HEADER.encode(value)


def json_object(content: bytes | str) -> dict[str, Any] | None:
    """The JSON object of an answer; None for anything else."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _json_part(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot say a {type(value).__name__}")


_BODY = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_json_part)
_HEADER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_json_part)
