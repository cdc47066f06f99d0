"""When a schedule of the second API is due. Local times meet changes of the clocks as those of named workflows do.

A local time that the clocks skip runs as long after the switch as it would have been, one that comes twice runs once,
and a cron of every hour runs through the switch in real time (graph/schedule.py, with its defaults).
"""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from turnbuckle.graph import schedule as clock
from turnbuckle.hub import cron
from turnbuckle.hub.moment import parse_us
from turnbuckle.hub.schedule import ONE_TIME, Fields
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.schedule import WorkflowScheduleSettings


def check(fields: Fields, now_us: int) -> None:
    """HubRefused(invalid_request_body) for times that cannot be read, or never come any more."""
    _zone(fields)
    since, until = _since_us(fields), _until_us(fields)
    if since is not None and until is not None and since >= until:
        raise _invalid("end_date", f"got {fields.end_date!r}, expected a time after start_date")
    if fields.repeat != ONE_TIME:
        _check_cron(fields, now_us)
    if next_us(fields, now_us) is None:
        name = "invocation_time" if fields.repeat == ONE_TIME else "cron_expression"
        raise _invalid(name, f"got {getattr(fields, name)!r}, which does not come any more")


def next_us(fields: Fields, after_us: int) -> int | None:
    """The first time after that, between start_date and end_date; None when there is none."""
    since, until = _since_us(fields), _until_us(fields)
    if since is not None:
        after_us = max(after_us, since - 1)
    found = _once(fields, after_us) if fields.repeat == ONE_TIME else _recurring(fields, after_us)
    return None if found is None or (until is not None and found > until) else found


def _once(fields: Fields, after_us: int) -> int | None:
    assert fields.invocation_time is not None
    try:
        local = datetime.fromisoformat(fields.invocation_time)
    except ValueError as exc:
        raise _invalid("invocation_time", f"got {fields.invocation_time!r}, expected an ISO date and time") from exc
    if local.tzinfo is not None or len(fields.invocation_time) < len("2026-01-31T09:05"):
        what = f"got {fields.invocation_time!r}, expected a date and time without an offset: it is read in timezone"
        raise _invalid("invocation_time", what)
    at_us = _at_us(local, _zone(fields))
    return at_us if at_us > after_us else None


def _recurring(fields: Fields, after_us: int) -> int | None:
    """The clock of five fields, and of what it tells the first in a year of the sixth."""
    asked, zone = _cron(fields), _zone(fields)
    settings = WorkflowScheduleSettings(cron=asked.five_fields, time_zone=fields.timezone)
    after_ms = after_us // 1_000
    while True:
        slot_ms = next(clock.slots(settings, after_ms), None)
        if slot_ms is None:
            return None
        year = datetime.fromtimestamp(slot_ms / 1_000, zone).year
        if asked.has_year(year):
            return slot_ms * 1_000
        following = asked.year_after(year)
        if following is None:
            return None
        after_ms = _at_us(datetime(following, 1, 1), zone) // 1_000 - 1


def _check_cron(fields: Fields, now_us: int) -> None:
    settings = WorkflowScheduleSettings(cron=_cron(fields).five_fields, time_zone=fields.timezone)
    try:
        clock.check(settings, "cron", now_us // 1_000)
    except Refused as refused:
        raise _invalid("cron_expression", f"got {fields.cron_expression!r} ({refused.message})") from refused


def _cron(fields: Fields) -> cron.Cron:
    assert fields.cron_expression is not None
    try:
        return cron.parse(fields.cron_expression)
    except cron.BadCron as exc:
        raise _invalid("cron_expression", f"got {fields.cron_expression!r}: {exc}") from exc


def _zone(fields: Fields) -> ZoneInfo:
    try:
        return ZoneInfo(fields.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        expected = "a name of the time zone database such as Europe/Berlin"
        raise _invalid("timezone", f"got {fields.timezone!r}, expected {expected}") from exc


def _since_us(fields: Fields) -> int | None:
    return _moment("start_date", fields.start_date)


def _until_us(fields: Fields) -> int | None:
    return _moment("end_date", fields.end_date)


def _moment(name: str, text: str | None) -> int | None:
    """UTC, with or without the `Z`."""
    if text is None:
        return None
    try:
        return parse_us(text if text.endswith("Z") else f"{text}Z")
    except ValueError as exc:
        raise _invalid(name, str(exc)) from exc


def _at_us(local: datetime, zone: ZoneInfo) -> int:
    return round(local.replace(tzinfo=zone).timestamp() * 1_000_000)


def _invalid(name: str, what: str) -> HubRefused:
    return HubRefused("invalid_request_body", f"{name}: {what}")
