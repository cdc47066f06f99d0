"""Schedules of scheduler blobs: the six fields, times over changes of the clocks, what goes together (blobhub 7.1)."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from turnbuckle.hub import cron, schedule
from turnbuckle.hub.schedule import Fields
from turnbuckle.operations import hub_schedule_time
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_schedule import HubCreateScheduleRequest, HubInvocationTarget, HubUpdateScheduleRequest

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
BLOB, REVISION, SESSION = (f"{n}0000000-0000-4000-8000-000000000000" for n in (1, 2, 3))


def us(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1_000_000)


def recurring(expression: str, zone: str = "UTC", **more: Any) -> Fields:
    return Fields("recurring_cron", zone, Raw(b"{}"), cron_expression=expression, **more)


def once(time: str, zone: str = "UTC", **more: Any) -> Fields:
    return Fields("one_time", zone, Raw(b"{}"), invocation_time=time, **more)


def times(fields: Fields, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The next times as a clock on the wall in `zone` shows them."""
    found, at_us = [], us(after, zone)
    for _ in range(count):
        following = hub_schedule_time.next_us(fields, at_us)
        if following is None:
            break
        at_us = following
        found.append(datetime.fromtimestamp(at_us / 1e6, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %z"))
    return found


# -- the six fields --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 9 ? * MON-FRI *", ["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-05 09:00"]),
        ("0 9 ? * mon-fri *", ["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-05 09:00"]),
        ("0 9 ? * 2-6 *", ["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-05 09:00"]),
        ("0 9 ? * 1 *", ["2026-01-04 09:00", "2026-01-11 09:00"]),
        ("0 9 ? * 7 *", ["2026-01-03 09:00", "2026-01-10 09:00"]),
        ("0 9 ? * 6#3 *", ["2026-01-16 09:00", "2026-02-20 09:00"]),
        ("0 9 ? * 6L *", ["2026-01-30 09:00", "2026-02-27 09:00"]),
        ("0 9 ? * SUN,3 *", ["2026-01-04 09:00", "2026-01-06 09:00"]),
        ("0/15 9 * * ? *", ["2026-01-01 09:00", "2026-01-01 09:15", "2026-01-01 09:30", "2026-01-01 09:45"]),
        ("5 0/12 1 * ? *", ["2026-01-01 00:05", "2026-01-01 12:05", "2026-02-01 00:05"]),
        ("0 0 L * ? *", ["2026-01-31 00:00", "2026-02-28 00:00"]),
        ("0 0 1 JAN,JUL ? *", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("0 0 29 2 ? *", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 29 2 ? 2040-2060", ["2040-02-29 00:00", "2044-02-29 00:00"]),
        ("30 8 1 1 ? 2030,2035", ["2030-01-01 08:30", "2035-01-01 08:30"]),
        ("30 8 1 1 ? 2030/20", ["2030-01-01 08:30", "2050-01-01 08:30"]),
        ("30 8 1 1 ? 2020-2027", ["2026-01-01 08:30", "2027-01-01 08:30"]),
    ],
)
def test_six_fields_say_when(expression: str, expected: list[str]) -> None:
    found = times(recurring(expression), "2026-01-01T00:00", len(expected))

    assert found == [f"{time} +0000" for time in expected]


@pytest.mark.parametrize(
    "expression",
    [
        "0 9 * * MON-FRI",
        "0 9 * * MON-FRI *",
        "0 9 ? * ? *",
        "0 9 ? ? MON *",
        "? 9 ? * MON *",
        "0 9 ? * 0 *",
        "0 9 ? * 8 *",
        "0 9 ? * MON twenty",
        "0 9 ? * MON 1969",
        "0 9 ? * MON 2200",
        "0 9 ? * MON 2030-2026",
        "0 9 ? * MON 2026/0",
        "60 9 ? * MON *",
        "0 24 ? * MON *",
        "0 9 32 * ? *",
        "0 9 31 2 ? *",
        "0 9 1 1 ? 2020",
        "0 9 29 2 ? 2027",
    ],
)
def test_an_expression_that_says_no_time_is_refused(expression: str) -> None:
    with pytest.raises(HubRefused, match="cron_expression") as refused:
        hub_schedule_time.check(recurring(expression), us("2026-01-01T00:00"))
    assert refused.value.code == "invalid_request_body"


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    weekday=st.integers(1, 7),
    start=st.datetimes(datetime(2025, 1, 1), datetime(2035, 1, 1)),
)
def test_a_weekly_time_is_that_of_the_calendar(minute: int, hour: int, weekday: int, start: datetime) -> None:
    """Against a walk over the minutes of the calendar, day by day."""
    fields = recurring(f"{minute} {hour} ? * {weekday} *")

    found = hub_schedule_time.next_us(fields, us(start.isoformat()))

    days = (start.date() + timedelta(days=n) for n in range(9))
    candidates = (
        datetime(day.year, day.month, day.day, hour, minute) for day in days if day.isoweekday() % 7 + 1 == weekday
    )
    expected = next(time for time in candidates if time > start)
    assert found == us(expected.isoformat())


def test_years_are_found_without_a_walk_through_all_days() -> None:
    """Every minute of a year far away."""
    assert times(recurring("* * * * ? 2150"), "2026-01-01T00:00", 2) == [
        "2150-01-01 00:00 +0000",
        "2150-01-01 00:01 +0000",
    ]
    assert cron.parse("0 9 ? * MON *").years is None


# -- changes of the clocks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "spring", "autumn"),
    [
        (
            BERLIN,
            ("2026-03-28T12:00", ["2026-03-29 03:30 +0200", "2026-03-30 02:30 +0200"]),
            ("2026-10-24T12:00", ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"]),
        ),
        (
            NEW_YORK,
            ("2026-03-07T12:00", ["2026-03-08 03:30 -0400", "2026-03-09 02:30 -0400"]),
            ("2026-10-31T12:00", ["2026-11-01 02:30 -0500", "2026-11-02 02:30 -0500"]),
        ),
    ],
)
def test_a_daily_time_fires_once_a_day(zone: str, spring: tuple[str, list[str]], autumn: tuple[str, list[str]]) -> None:
    """02:30 is skipped in spring in both zones, and comes twice in autumn in Berlin."""
    fields = recurring("30 2 * * ? *", zone)

    for after, expected in (spring, autumn):
        assert times(fields, after, 2, zone) == expected


def test_each_hour_goes_on_in_real_time() -> None:
    fields = recurring("0 0/1 * * ? *", BERLIN)

    spring = times(fields, "2026-03-29T00:30", 3, BERLIN)
    autumn = times(fields, "2026-10-25T01:30", 3, BERLIN)

    assert spring == ["2026-03-29 01:00 +0100", "2026-03-29 03:00 +0200", "2026-03-29 04:00 +0200"]
    assert autumn == ["2026-10-25 02:00 +0200", "2026-10-25 02:00 +0100", "2026-10-25 03:00 +0100"]


def test_a_year_of_the_sixth_field_is_that_of_the_zone() -> None:
    """New Year comes earlier in Auckland than in UTC."""
    found = hub_schedule_time.next_us(recurring("0 0 1 1 ? 2030", "Pacific/Auckland"), us("2026-01-01T00:00"))

    assert found == us("2029-12-31T11:00")


def test_one_time_is_read_in_its_zone() -> None:
    assert hub_schedule_time.next_us(once("2026-07-01T09:00:00", BERLIN), us("2026-01-01T00:00")) == us(
        "2026-07-01T07:00"
    )
    assert times(once("2026-03-29T02:30", BERLIN), "2026-03-28T00:00", 2, BERLIN) == ["2026-03-29 03:30 +0200"]
    assert times(once("2026-10-25T02:30", BERLIN), "2026-10-24T00:00", 2, BERLIN) == ["2026-10-25 02:30 +0200"]


@pytest.mark.parametrize(
    "time", ["2026-01-01T00:00Z", "2026-01-01T09:00+01:00", "2026-02-01", "tomorrow", "2025-12-31T23:59"]
)
def test_a_time_that_cannot_be_is_refused(time: str) -> None:
    with pytest.raises(HubRefused, match="invocation_time"):
        hub_schedule_time.check(once(time), us("2026-01-01T00:00"))


def test_a_window_bounds_the_times() -> None:
    fields = recurring("0 9 * * ? *", start_date="2026-02-01T09:00:00Z", end_date="2026-02-02T12:00:00.500000Z")

    assert times(fields, "2026-01-01T00:00", 5) == ["2026-02-01 09:00 +0000", "2026-02-02 09:00 +0000"]
    for wrong in ({"start_date": "soon"}, {"start_date": "2026-02-02T00:00:00", "end_date": "2026-02-01T00:00:00"}):
        with pytest.raises(HubRefused, match="_date"):
            hub_schedule_time.check(recurring("0 9 * * ? *", **wrong), us("2026-01-01T00:00"))
    with pytest.raises(HubRefused, match="does not come any more"):
        hub_schedule_time.check(recurring("0 9 * * ? *", end_date="2026-01-01T08:00:00Z"), us("2026-01-01T00:00"))


def test_a_zone_nobody_knows_is_refused() -> None:
    for zone in ("Europe/Nowhere", "../etc/passwd", "CEST+2"):
        with pytest.raises(HubRefused, match="timezone"):
            hub_schedule_time.check(recurring("0 9 * * ? *", zone), 0)


# -- fields ----------------------------------------------------------------------------------------------------------


def target(**changed: Any) -> dict[str, Any]:
    place = {"org": "acme", "blob": "support-bot", "revision": "default", "session": "nightly"} | changed.pop(
        "target", {}
    )
    place = {key: value for key, value in place.items() if value is not None}
    return {"target": place, "workflow": {"definition": "answer-question"}, **changed}


def request(**changed: Any) -> HubCreateScheduleRequest:
    given = {
        "command": "create_schedule",
        "repeat": "recurring_cron",
        "cron_expression": "0 9 ? * MON-FRI *",
        "timezone": BERLIN,
        "invocation_target_type": "workflow",
        "invocation_target": target(),
    }
    return msgspec.convert(
        {key: value for key, value in (given | changed).items() if value is not None}, HubCreateScheduleRequest
    )


def change(**changed: Any) -> HubUpdateScheduleRequest:
    return msgspec.convert({"command": "update_schedule", "schedule_id": "s", **changed}, HubUpdateScheduleRequest)


@pytest.mark.parametrize(
    "changed",
    [
        {"invocation_time": "2026-01-01T00:00"},
        {"cron_expression": None},
        {"repeat": "one_time"},
        {"repeat": "one_time", "cron_expression": None},
        {"alias": "short"},
        {"alias": SESSION},
    ],
)
def test_fields_that_do_not_go_together_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(HubRefused) as refused:
        schedule.create(request(**changed))
    assert refused.value.code == "invalid_request_body"


def test_an_update_changes_what_it_names() -> None:
    before = schedule.create(request(description="each morning"))

    renamed = schedule.update(before, "active", change(description="", enabled=False))
    moved = schedule.update(before, "active", change(repeat="one_time", invocation_time="2026-01-01T00:00"))

    assert (renamed.description, renamed.enabled, renamed.cron_expression) == (None, False, before.cron_expression)
    assert (moved.repeat, moved.cron_expression, moved.description) == ("one_time", None, "each morning")
    with pytest.raises(HubRefused, match="expected none"):
        schedule.update(before, "active", change(invocation_time="2026-01-01T00:00"))
    with pytest.raises(HubRefused, match="completed"):
        schedule.update(before, "completed", change(enabled=False))


def as_target(given: dict[str, Any]) -> HubInvocationTarget:
    return msgspec.convert(given, HubInvocationTarget)


@pytest.mark.parametrize(
    "given",
    [
        target(target={"org": None}),
        target(target={"revision": "latest"}),
        target(target={"session": SESSION}),
        target(target={"session": f" {SESSION.upper()} "}),
        target(workflow={"definition": SESSION}),
        target(workflow={"org": "a", "blob": "b", "revision": "default", "definition": SESSION}),
        target(workflow={"blob": "b", "revision": "default", "definition": "answer-question"}),
        target(workflow={"org": "a", "definition": "answer-question"}),
    ],
)
def test_a_target_that_may_come_to_mean_another_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(HubRefused) as refused:
        schedule.check_target(as_target(given))
    assert refused.value.code == "invalid_invocation_target"


@pytest.mark.parametrize(
    "given",
    [
        target(),
        target(target={"org": None, "blob": BLOB}),
        target(target={"revision": REVISION, "session": SESSION}, workflow={"definition": SESSION}),
        target(workflow={"blob": BLOB, "revision": REVISION, "definition": SESSION}),
    ],
)
def test_a_target_that_means_one_thing_is_taken(given: dict[str, Any]) -> None:
    assert schedule.check_target(as_target(given)).definition == given["workflow"]["definition"]


def test_times_are_told_in_utc() -> None:
    assert datetime.fromtimestamp(us("2026-01-01T00:00") / 1e6, UTC) == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_last_year_is_the_end() -> None:
    assert len(times(recurring("30 8 1 1 ? 2026-2027"), "2025-01-01T00:00", 5)) == 2
