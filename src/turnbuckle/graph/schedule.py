"""When a schedule is due. Local times are resolved here, so that a change of the clocks has the policy that was asked.

A time the clocks skip and a time that comes twice matter for `cron` with fixed hours only: one that names every hour
runs through the switch in real time, as Debian's cron does, and `every` knows no local time at all.
"""

import hashlib
import heapq
import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from cronsim import CronSim, CronSimError

from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.schedule import WorkflowScheduleSettings

_UNIT_MS = {"m": limits.MINUTE_MS, "h": limits.HOUR_MS, "d": limits.DAY_MS}
_EVERY = re.compile(r"([0-9]+)([mhd])")
_FIELDS = 5
_SWITCH = timedelta(hours=26)  # local times this far apart are in order whatever the clocks do between them


class Schedule(msgspec.Struct, frozen=True):
    """How far a workflow's schedule has come."""

    graph_id: str
    name: str
    handled_ms: int  # slots up to here were told or passed over
    due_at_ms: int  # when `advance` is next needed
    through_seq: int  # the commit the last message had read through
    told_ms: int | None = None  # the slot of the last message
    is_asked: int = 0  # a person asks for a message now
    asked_by: bytes | None = None
    missed: int = 0


class Due(NamedTuple):
    """The last slot that is due, and how many before it no message will tell of."""

    slot_ms: int
    missed: int
    is_told: bool  # False: it is too old, and the schedule wants no such message


def check(settings: WorkflowScheduleSettings, param: str, now_ms: int) -> None:
    """Refused(workflow_param_invalid) when it names no time, two, a zone nobody knows, or a time that never comes."""
    if (settings.cron is None) == (settings.every is None):
        got = "neither" if settings.cron is None else "both"
        raise _invalid(param, f"got {got} of `cron` and `every`, expected one of them")
    _zone(settings, param)
    if settings.every is not None:
        if _interval_ms(settings.every) < limits.SCHEDULE_EVERY_MIN_MS:
            raise _invalid(f"{param}.every", f"got {settings.every!r}, expected at least 5m")
    else:
        _check_cron(settings, f"{param}.cron", now_ms)


def _check_cron(settings: WorkflowScheduleSettings, param: str, now_ms: int) -> None:
    assert settings.cron is not None
    if len(settings.cron.split()) != _FIELDS:
        what = f"got {len(settings.cron.split())} fields, expected five: minute hour day month weekday"
        raise _invalid(param, what)
    try:
        first = next(slots(settings, now_ms), None)
    except CronSimError as exc:
        raise _invalid(param, f"got {settings.cron!r}: {str(exc).lower()}") from exc
    if first is None:
        raise _invalid(param, f"got {settings.cron!r}, which never comes")


def slots(settings: WorkflowScheduleSettings, after_ms: int) -> Iterator[int]:
    """The slots after `after_ms`, in order; a cron ends when it has none for decades."""
    if settings.every is not None:
        every_ms = _interval_ms(settings.every)
        return itertools.count((after_ms // every_ms + 1) * every_ms, every_ms)
    return _cron_slots(settings, after_ms)


def _cron_slots(settings: WorkflowScheduleSettings, after_ms: int) -> Iterator[int]:
    """In order. Where no clock changes near by the next local time is the next slot, which is found at once."""
    while (slot := _slot_without_switch(settings, after_ms)) is not None:
        yield slot
        after_ms = slot
    yield from _slots_around_switches(settings, after_ms)


def _slot_without_switch(settings: WorkflowScheduleSettings, after_ms: int) -> int | None:
    """The next slot; None when there is none, or the clocks may change around it."""
    assert settings.cron is not None
    zone = _zone(settings, "time_zone")
    local = next(CronSim(settings.cron, _local(after_ms, zone)), None)
    if local is None:
        return None
    slot = _at_ms(local, zone)
    moments = (_local(after_ms, zone) - _SWITCH, local, local + _SWITCH)
    offsets = {moment.replace(tzinfo=zone, fold=fold).utcoffset() for moment in moments for fold in (0, 1)}
    return slot if len(offsets) == 1 else None


def _local(at_ms: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone).replace(tzinfo=None)


def _slots_around_switches(settings: WorkflowScheduleSettings, after_ms: int) -> Iterator[int]:
    """Local times in the order of their instants: a local time is held back until no later one can come before it."""
    assert settings.cron is not None
    zone = _zone(settings, "time_zone")
    start = _local(after_ms, zone) - _SWITCH
    held: list[int] = []  # a heap: an every-minute cron holds 26 hours of slots
    last: int | None = None
    for local in CronSim(settings.cron, start):
        safe = _at_ms(local - _SWITCH, zone)
        while held and held[0] < safe:
            slot = heapq.heappop(held)
            if slot != last:  # two local times may be one instant
                yield slot
            last = slot
        for slot in _instants(settings, local, zone):
            if slot > after_ms:
                heapq.heappush(held, slot)
    yield from sorted(set(held) - {last})


def _instants(settings: WorkflowScheduleSettings, local: datetime, zone: ZoneInfo) -> list[int]:
    """When that local time is: once, twice, or, skipped by the clocks, as the policy says."""
    first, second = (_at_ms(local.replace(fold=fold), zone) for fold in (0, 1))
    if first == second:
        return [first]
    runs_every_hour = settings.cron is not None and settings.cron.split()[1].startswith("*")
    if first < second:
        return [first, second] if runs_every_hour or settings.overlap == "both" else [first]
    # Skipped: read with the offset before the switch it is as long after the switch as it would have been.
    return [] if runs_every_hour or settings.gap == "skip" else [first]


def _at_ms(local: datetime, zone: ZoneInfo) -> int:
    return round(local.replace(tzinfo=zone).timestamp() * 1000)


def due(settings: WorkflowScheduleSettings, name: str, after_ms: int, now_ms: int) -> Due | None:
    """What is due of the slots after `after_ms`, each as much later as its jitter says; None: nothing."""
    last: int | None = None
    passed = 0
    for slot in slots(settings, max(after_ms, now_ms - limits.SCHEDULE_LOOK_BACK_MS)):
        if slot + delay_ms(settings, name, slot) > now_ms:
            break
        passed, last = passed + 1, slot
    if last is None:
        return None
    is_late = last + delay_ms(settings, name, last) < now_ms - limits.SCHEDULE_LATE_MS
    return Due(last, passed - 1, is_told=settings.missed == "last" or not is_late)


def next_due_at_ms(settings: WorkflowScheduleSettings, name: str, after_ms: int) -> int:
    """When the first slot after `after_ms` is due; far in the future when none comes any more."""
    slot = next(slots(settings, after_ms), None)
    return limits.INT_MAX if slot is None else slot + delay_ms(settings, name, slot)


def told(schedule: Schedule, settings: WorkflowScheduleSettings, due: Due, head_seq: int) -> Schedule:
    """The schedule once the due slot was handled."""
    after = msgspec.structs.replace(
        schedule,
        handled_ms=due.slot_ms,
        due_at_ms=next_due_at_ms(settings, schedule.name, due.slot_ms),
        missed=schedule.missed + due.missed + (not due.is_told),
    )
    if not due.is_told:
        return after
    return msgspec.structs.replace(after, through_seq=head_seq, told_ms=due.slot_ms)


def delay_ms(settings: WorkflowScheduleSettings, name: str, slot_ms: int) -> int:
    """How much later than its slot the message is sent: fixed for a slot, spread over the jitter between workflows."""
    if settings.jitter_ms == 0:
        return 0
    digest = hashlib.blake2b(f"{name}\0{slot_ms}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % (settings.jitter_ms + 1)


def _interval_ms(every: str) -> int:
    match = _EVERY.fullmatch(every)
    assert match is not None  # the wire struct's pattern
    return int(match[1]) * _UNIT_MS[match[2]]


def _zone(settings: WorkflowScheduleSettings, param: str) -> ZoneInfo:
    try:
        return ZoneInfo(settings.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        expected = "a name of the time zone database such as Europe/Berlin"
        raise _invalid(f"{param}.time_zone", f"got {settings.time_zone!r}, expected {expected}") from exc


def _invalid(param: str, what: str) -> Refused:
    return Refused("workflow_param_invalid", f"{param}: {what}", param=param)
