"""When schedules are due: over clock changes, after a pause, and those that never come (lbb-graph 5.4)."""

import itertools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbuckle.graph import schedule
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.schedule import WorkflowScheduleSettings

MINUTE_MS = 60_000
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def at_ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def shown(slot_ms: int, zone: str) -> str:
    return datetime.fromtimestamp(slot_ms / 1000, UTC).astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M %z")


def between(settings: WorkflowScheduleSettings, start_ms: int, end_ms: int) -> list[int]:
    """The slots in [start, end)."""
    return list(itertools.takewhile(lambda slot: slot < end_ms, schedule.slots(settings, start_ms - 1)))


@pytest.mark.parametrize(
    ("zone", "gap", "overlap", "spring", "autumn"),
    [
        (BERLIN, "next", "first", ["03-29 03:30 +0200"], ["10-25 02:30 +0200"]),
        (BERLIN, "skip", "both", [], ["10-25 02:30 +0200", "10-25 02:30 +0100"]),
        (NEW_YORK, "next", "first", ["03-08 03:30 -0400"], ["11-01 02:30 -0500"]),
        (NEW_YORK, "skip", "both", [], ["11-01 02:30 -0500"]),
    ],
)
def test_a_time_in_the_switch_hour_runs_as_its_policy_says(
    zone: str, gap: str, overlap: str, spring: list[str], autumn: list[str]
) -> None:
    """`30 2 * * *` in 2026: skipped in spring in both zones; twice in autumn in Berlin, where 02:30 comes again."""
    settings = WorkflowScheduleSettings(cron="30 2 * * *", time_zone=zone, gap=gap, overlap=overlap)  # type: ignore[arg-type]
    days = {BERLIN: ("2026-03-29", "2026-10-25"), NEW_YORK: ("2026-03-08", "2026-11-01")}[zone]

    found = [
        [shown(slot, zone) for slot in between(settings, at_ms(f"{day}T00:00", zone), at_ms(f"{day}T23:59", zone))]
        for day in days
    ]

    assert found == [spring, autumn]


@pytest.mark.parametrize(("zone", "hour"), [(BERLIN, 2), (NEW_YORK, 1)])
def test_a_daily_time_has_one_slot_for_each_day_of_a_year(zone: str, hour: int) -> None:
    settings = WorkflowScheduleSettings(cron=f"30 {hour} * * *", time_zone=zone)

    found = between(settings, at_ms("2026-01-01T00:00", zone), at_ms("2027-01-01T00:00", zone))

    assert len(found) == 365
    assert len({shown(slot, zone)[:5] for slot in found}) == 365


def test_a_cron_of_every_hour_runs_through_the_switch_in_real_time() -> None:
    """Autumn: the hour that comes twice has its four quarters twice, as has no hour of the other days."""
    settings = WorkflowScheduleSettings(cron="*/15 * * * *", time_zone=BERLIN)

    autumn = between(settings, at_ms("2026-10-24T22:00"), at_ms("2026-10-25T22:00"))
    spring = between(settings, at_ms("2026-03-28T23:00"), at_ms("2026-03-29T23:00"))

    assert [len(autumn), len(spring)] == [96, 96]
    assert {b - a for a, b in itertools.pairwise(autumn)} == {15 * MINUTE_MS}
    assert {b - a for a, b in itertools.pairwise(spring)} == {15 * MINUTE_MS}


def test_an_interval_does_not_care_for_local_time() -> None:
    settings = WorkflowScheduleSettings(every="5m", time_zone=BERLIN)

    found = between(settings, at_ms("2026-10-25T00:00"), at_ms("2026-10-25T03:00"))

    assert len(found) == 36
    assert {b - a for a, b in itertools.pairwise(found)} == {5 * MINUTE_MS}


@given(
    st.sampled_from(["30 2 * * *", "*/15 * * * *", "0 */6 * * *", "15 1-3 * * *", "0 0 29 2 *"]),
    st.sampled_from(["UTC", BERLIN, NEW_YORK, "Australia/Lord_Howe", "America/Sao_Paulo"]),
    st.sampled_from(["first", "both"]),
    st.integers(at_ms("2024-01-01T00:00"), at_ms("2027-12-31T00:00")),
)
def test_slots_grow_and_do_not_depend_on_where_one_begins(cron: str, zone: str, overlap: str, start_ms: int) -> None:
    settings = WorkflowScheduleSettings(cron=cron, time_zone=zone, overlap=overlap)  # type: ignore[arg-type]

    found = list(itertools.islice(schedule.slots(settings, start_ms), 12))

    assert start_ms < found[0]
    assert found == sorted(set(found))
    assert list(itertools.islice(schedule.slots(settings, found[3]), 8)) == found[4:]


def test_slots_that_passed_unseen_are_one_message_that_counts_them() -> None:
    settings = WorkflowScheduleSettings(every="1h")
    since, now_ms = at_ms("2026-05-01T00:00"), at_ms("2026-05-01T05:30")

    assert schedule.due(settings, "s", since, now_ms) == (at_ms("2026-05-01T05:00"), 4, True)
    assert schedule.due(settings, "s", at_ms("2026-05-01T05:00"), now_ms) is None


def test_slots_that_passed_unseen_are_left_out_when_asked_so() -> None:
    settings = WorkflowScheduleSettings(every="1h", missed="none")
    since = at_ms("2026-05-01T00:00")

    assert schedule.due(settings, "s", since, at_ms("2026-05-01T05:30")) == (at_ms("2026-05-01T05:00"), 4, False)
    assert schedule.due(settings, "s", since, at_ms("2026-05-01T05:00:20")) == (at_ms("2026-05-01T05:00"), 4, True)


def test_a_slot_is_due_when_its_jitter_has_passed() -> None:
    settings = WorkflowScheduleSettings(every="1h", jitter_ms=600_000)
    slot = at_ms("2026-05-01T01:00")
    delay = schedule.delay_ms(settings, "s", slot)

    assert delay > 0
    assert schedule.due(settings, "s", slot - 1, slot + delay - 1) is None
    assert schedule.due(settings, "s", slot - 1, slot + delay) == (slot, 0, True)
    assert schedule.next_due_at_ms(settings, "s", slot - 1) == slot + delay


def test_jitter_is_the_same_for_a_slot_and_at_most_what_was_asked() -> None:
    settings = WorkflowScheduleSettings(every="1h", jitter_ms=5_000)

    delays = [schedule.delay_ms(settings, "nightly", slot * 3_600_000) for slot in range(100)]

    assert delays == [schedule.delay_ms(settings, "nightly", slot * 3_600_000) for slot in range(100)]
    assert max(delays) <= 5_000
    assert len(set(delays)) > 50


@pytest.mark.parametrize(
    ("settings", "param", "says"),
    [
        (WorkflowScheduleSettings(), "schedule", "neither of `cron` and `every`"),
        (WorkflowScheduleSettings(cron="0 0 * * *", every="5m"), "schedule", "both of `cron` and `every`"),
        (WorkflowScheduleSettings(every="4m"), "schedule.every", "at least 5m"),
        (WorkflowScheduleSettings(cron="0 0 * * * *"), "schedule.cron", "got 6 fields"),
        (WorkflowScheduleSettings(cron="61 0 * * *"), "schedule.cron", "bad minute"),
        (WorkflowScheduleSettings(cron="0 0 30 2 *"), "schedule.cron", "bad day-of-month"),
        (WorkflowScheduleSettings(every="5m", time_zone="Mars/Olympus"), "schedule.time_zone", "Europe/Berlin"),
        (WorkflowScheduleSettings(every="5m", time_zone="../etc/passwd"), "schedule.time_zone", "Europe/Berlin"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_with_its_field(
    settings: WorkflowScheduleSettings, param: str, says: str
) -> None:
    with pytest.raises(Refused) as refused:
        schedule.check(settings, "schedule", at_ms("2026-05-01T00:00"))

    assert refused.value.code == "workflow_param_invalid"
    assert refused.value.param == param
    assert says in refused.value.message


def test_a_day_that_never_comes_is_fine_beside_a_weekday() -> None:
    """Cron's way: with both given either is enough, so this comes every Monday of February."""
    settings = WorkflowScheduleSettings(cron="0 0 31 2 MON")

    schedule.check(settings, "schedule", at_ms("2026-05-01T00:00"))

    assert shown(next(schedule.slots(settings, at_ms("2026-05-01T00:00"))), "UTC") == "02-01 00:00 +0000"
