"""The six fields of a schedule's cron: minutes hours day-of-month month day-of-week year (blobhub 7.1).

One of the two day fields is `?`, the other says the days: `0 9 ? * MON-FRI *`. Days of the week are SUN-SAT or 1-7,
1 being Sunday, as everywhere this form is used; the five-field form counts from 0. When a cron of five fields is due,
others know.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

FIRST_YEAR, LAST_YEAR = 1970, 2199
_NAMES: Final = ("minutes", "hours", "day-of-month", "month", "day-of-week", "year")
_ANY, _EITHER = "*", "?"
_PIECE = re.compile(r"(?P<first>\*|[0-9]{4})(?:-(?P<last>[0-9]{4}))?(?:/(?P<step>[0-9]{1,3}))?")


class BadCron(ValueError):
    """An expression that is no cron of six fields."""


class Cron(msgspec.Struct, frozen=True):
    five_fields: str  # without the year, days of the week from 0
    years: frozenset[int] | None = None  # None: all

    def has_year(self, year: int) -> bool:
        return self.years is None or year in self.years

    def year_after(self, year: int) -> int | None:
        return year + 1 if self.years is None else min((one for one in self.years if one > year), default=None)


def parse(expression: str) -> Cron:
    """BadCron unless there are six fields, one `?` for a day, and a year between 1970 and 2199.

    The other fields are looked at where the five-field form is read.
    """
    fields = expression.upper().split()
    if len(fields) != len(_NAMES):
        raise BadCron(f"got {len(fields)} fields, expected six: {' '.join(_NAMES)}")
    minutes, hours, day, month, weekday, year = fields
    if (day == _EITHER) == (weekday == _EITHER):
        raise BadCron("exactly one of day-of-month and day-of-week has to be `?`")
    if any(_EITHER in field for field in (minutes, hours, month, year)):
        raise BadCron("`?` stands for a day only")
    day, weekday = day.replace(_EITHER, _ANY), _from_zero(weekday.replace(_EITHER, _ANY))
    return Cron(" ".join((_from_start(minutes), _from_start(hours), day, month, weekday)), _years(year))


def _from_start(field: str) -> str:
    """`0/15` as `*/15`, so that an hour field that names every hour is seen as one."""
    return f"*{field[1:]}" if re.fullmatch(r"0/[0-9]+", field) else field


def _from_zero(field: str) -> str:
    """Days of the week: `2-6` as `1-5`, `6#3` as `5#3`, `6L` as `5L`; a step stays."""
    return ",".join(_piece_from_zero(piece) for piece in field.split(","))


def _piece_from_zero(piece: str) -> str:
    days, slash, step = piece.partition("/")
    days, hash_, nth = days.partition("#")
    return re.sub(r"[0-9]+", _less(days), days) + hash_ + nth + slash + step


def _less(days: str) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        day = int(match[0])
        if not 1 <= day <= 7:
            raise BadCron(f"day-of-week: got {days}, expected 1 (Sunday) to 7, or SUN to SAT")
        return str(day - 1)

    return replace


def _years(field: str) -> frozenset[int] | None:
    if field == _ANY:
        return None
    years: set[int] = set()
    for piece in field.split(","):
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise BadCron(f"year: got {piece}, expected *, a year, or a range of years, perhaps with a step")
        years |= set(_range(match))
    if not years or min(years) < FIRST_YEAR or max(years) > LAST_YEAR:
        raise BadCron(f"year: got {field}, expected years from {FIRST_YEAR} to {LAST_YEAR}")
    return frozenset(years)


def _range(match: re.Match[str]) -> range:
    step = int(match["step"] or 1)
    if step == 0:
        raise BadCron("year: got a step of 0")
    first = FIRST_YEAR if match["first"] == _ANY else int(match["first"])
    if match["last"] is not None:
        last = int(match["last"])
    else:
        last = LAST_YEAR if match["step"] or match["first"] == _ANY else first
    return range(first, last + 1, step)
