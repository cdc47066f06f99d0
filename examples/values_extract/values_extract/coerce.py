"""A value as a model says it, always text, as the type its property has."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

Typed = bool | int | float | str

_NUMBER = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*(.*)", re.DOTALL)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+")
_WORDS = {"true": True, "yes": True, "ja": True, "false": False, "no": False, "nein": False}
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_I64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Coerced:
    value: Typed
    unit: str = ""  # what stood behind a number


def coerce(text: str, value_type: str) -> Coerced:
    """`60,5` and `600 mm` are numbers, `ja` is true, a day is its midnight in UTC.

    ValueError with the reason for what is not of the type: `1.5` for a whole number, 30 February, and `1,200`, which
    is 1200 to some readers and 1.2 to others.
    """
    said = text.strip()
    if not said:
        raise ValueError("the value is empty")
    match value_type:
        case "f64" | "i64":
            return _number(said, is_whole=value_type == "i64")
        case "bool":
            return Coerced(_truth(said))
        case "date_time":
            return Coerced(_moment(said))
    return Coerced(said)


def shown(value: Typed) -> str:
    """A value as text: `60` also for 60.0, `true` for True."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def same(one: object, other: object) -> bool:
    """Whether two values are one, also when one of them came back from JSON as 60 and the other is 60.0."""
    if isinstance(one, bool | int | float | str) and isinstance(other, bool | int | float | str):
        return shown(one).casefold() == shown(other).casefold()
    return one == other


def _number(said: str, *, is_whole: bool) -> Coerced:
    found = _NUMBER.fullmatch(said)
    if found is None:
        raise ValueError(f"{said!r} does not start with a number")
    number, unit = found.groups()
    if _GROUPED.fullmatch(number):
        raise ValueError(f"{number} can be read in two ways")
    value = float(number.replace(",", "."))
    if re.match(r"[\d.,]", unit):
        raise ValueError(f"{said!r} is more than one number")
    if not is_whole:
        return Coerced(value, unit)
    if not value.is_integer():
        raise ValueError(f"{number} is no whole number")
    whole = int(number) if number.lstrip("+-").isdigit() else int(value)
    if whole not in _I64:
        raise ValueError(f"{number} is out of the range of 64 bits")
    return Coerced(whole, unit)


def _truth(said: str) -> bool:
    truth = _WORDS.get(said.casefold())
    if truth is None:
        raise ValueError(f"{said!r} is neither yes nor no")
    return truth


def _moment(said: str) -> str:
    """RFC 3339 in UTC. A time without a zone is taken as UTC."""
    day_first = _DAY_FIRST.fullmatch(said)
    try:
        if day_first:
            day, month, year = map(int, day_first.groups())
            at = datetime.combine(date(year, month, day), datetime.min.time(), UTC)
        else:
            at = datetime.fromisoformat(said)
    except ValueError as exc:
        raise ValueError(f"{said!r} is no date: {exc}") from exc
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.isoformat().replace("+00:00", "Z")
