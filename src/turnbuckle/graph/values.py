"""Field values: from what a request says to the stored JSON of the declared type (lbb-graph 2.5)."""

import base64
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from turnbuckle.graph.ontology import Ontology, Property
from turnbuckle.wire import limits
from turnbuckle.wire.commit import PropertiesInput
from turnbuckle.wire.errors import Refused

_I64 = (-(2**63), 2**63 - 1)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)")
_WORDS = {
    "date_time": "date_time (`2026-01-31T08:05:00Z`, with an offset or Z, or a date alone)",
    "bytes": "bytes (base64)",
    "keyword_set": "keyword_set (a list of texts)",
    "i64_set": "i64_set (a list of integers)",
}
_ENCODE = msgspec.json.Encoder().encode


class _Unfit(Exception):
    """The value is not of the type."""


def fields(ontology: Ontology, properties: PropertiesInput | None, path: str) -> dict[str, bytes]:
    """Stored values by property id, from either shape. Refused(invalid_request) with the value's path."""
    found: dict[str, bytes] = {}
    if isinstance(properties, dict):
        for name, value in properties.items():
            declared = ontology.property(name) or property_of(ontology, name, f"{path}.{name}")
            # The path is made for a refusal only: it took a tenth of a commit's time.
            stored = _stored(declared.value_type, value)
            if stored is None or declared.allowed_values or len(stored) > limits.VALUE_BYTES:
                stored = _allowed(declared, flat(declared.value_type, value, f"{path}.{name}"), f"{path}.{name}")
            if declared.id in found:  # in another spelling
                raise _refused(f"{path}.{name}", f"field {name!r} is there twice")
            found[declared.id] = stored
        return found
    for index, one in enumerate(properties or ()):
        where = f"{path}[{index}]"
        declared = property_of(ontology, one.field, where)
        if declared.id in found:
            raise _refused(where, f"field {one.field!r} is there twice")
        found[declared.id] = _allowed(declared, _typed(declared.value_type, one.value, f"{where}.value"), where)
    return found


def property_of(ontology: Ontology, name: str, path: str) -> Property:
    found = ontology.property(name)
    if found is None:
        raise _refused(path, f"field {name[:80]!r} is not declared; add it with the operation add_property")
    return found


def flat(value_type: str, value: Any, path: str) -> bytes:
    """A plain value as it is stored. Integers fit f64, dates fit date_time; everything else must be of its type."""
    stored = _stored(value_type, value)
    if stored is None:
        raise _refused(path, f"got {_shown(value)}, expected {_WORDS.get(value_type, value_type)}")
    if len(stored) > limits.VALUE_BYTES:
        raise _refused(path, f"got {len(stored)} bytes, expected at most {limits.VALUE_BYTES}; save it as a blob")
    return stored


def _stored(value_type: str, value: Any) -> bytes | None:
    """The value's JSON; None when it is not of the type."""
    try:
        return _ENCODE(_READ[value_type](value))
    except _Unfit:
        return None


def _typed(value_type: str, value: dict[str, Any], path: str) -> bytes:
    """A value that names its type, `{"i64": 3}`, which must be the declared one."""
    if list(value) != [value_type]:
        raise _refused(path, f"got {_shown(value)}, expected {{{value_type!r}: ...}}")
    return flat(value_type, value[value_type], f"{path}.{value_type}")


def _allowed(declared: Property, stored: bytes, path: str) -> bytes:
    if declared.allowed_values and json.loads(stored) not in declared.allowed_values:
        shown = ", ".join(_shown(one) for one in declared.allowed_values[:20])
        raise _refused(path, f"got {_shown(json.loads(stored))}, expected one of {shown}")
    return stored


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def _refused(path: str, what: str) -> Refused:
    return Refused("invalid_request", f"{path}: {what}", param=path)


# -- one reader for each type ------------------------------------------------------------------------------------


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Unfit
    return value


def _i64(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise _Unfit
    if not _I64[0] <= value <= _I64[1]:
        raise _Unfit
    return int(value)


def _f64(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Unfit
    try:
        number = float(value)
    except OverflowError:
        raise _Unfit from None
    if not math.isfinite(number):
        raise _Unfit
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Unfit
    return value


def moment(value: Any) -> str:
    """A date or a date with time and offset, as UTC: `2026-01-31T08:05:00Z`, with a fraction where there is one."""
    if not isinstance(value, str) or not (_DATE.fullmatch(value) or _MOMENT.fullmatch(value)):
        raise _Unfit
    try:
        read = datetime.fromisoformat(value.upper())
        at = read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _Unfit from None
    whole = at.replace(tzinfo=None, microsecond=0).isoformat()
    return whole + (f".{at.microsecond:06}".rstrip("0") if at.microsecond else "") + "Z"


def moment_ms(value: str, path: str) -> int:
    """Milliseconds of a moment that a request names. Refused(invalid_request) when it is none."""
    try:
        return round(datetime.fromisoformat(moment(value)).timestamp() * 1_000)
    except _Unfit:
        raise _refused(path, f"got {_shown(value)}, expected {_WORDS['date_time']}") from None


def _base64(value: Any) -> str:
    try:
        base64.b64decode(_text(value), validate=True)
    except ValueError:
        raise _Unfit from None
    return _text(value)


def _set_of(member: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _Unfit
        return sorted({member(one) for one in value})

    return read


_READ: dict[str, Callable[[Any], Any]] = {
    "bool": _bool,
    "i64": _i64,
    "f64": _f64,
    "date_time": moment,
    "keyword": _text,
    "text": _text,
    "bytes": _base64,
    "keyword_set": _set_of(_text),
    "i64_set": _set_of(_i64),
}
