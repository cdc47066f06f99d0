"""What an instance waits for, in the words a person reads."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from turnbuckle.cli.words import age, amount, clock, size, why

Json = dict[str, Any]
NOON_MS = 1_767_268_800_000  # 2026-01-01T12:00:00Z
SERVED: Json = {"now_ms": NOON_MS, "since_ms": NOON_MS - 3_600_000, "pairs": []}
PAIR: Json = {"workflow_type": "counter", "version": "v2", "worker": "w7"}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times are shown in the zone of the machine."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def instance(status: str, **turn: Any) -> Json:
    """An instance with its current turn, as the API answers it."""
    head = {"number": 3, "status": status, "attempt": 1, "ready_at_ms": NOON_MS - 60_000, "steps": [], **turn}
    return {
        "id": "cart-1",
        "workflow_type": "counter",
        "version": "v2",
        "status": status,
        "lease_ms": 60_000,
        "current_turn": head,
    }


def running(heard_ago_ms: int, **turn: Any) -> Json:
    return instance("running", worker="w1", deadline_ms=NOON_MS - heard_ago_ms + 60_000, **turn)


def test_an_idle_instance_has_nothing_to_do() -> None:
    assert why({"id": "a", "status": "idle"}, SERVED) == "nothing to do: its inbox is empty"


def test_a_paused_instance_names_the_way_out() -> None:
    assert "`turnbuckle resume cart-1`" in why({**instance("queued"), "status": "paused"}, SERVED)


def test_a_type_that_no_worker_ever_claimed_is_told() -> None:
    """Without it a message for an old version would wait in silence for ever."""
    since = "no worker for counter@v2 has claimed since the server started at 11:00:00"

    assert why(instance("queued"), SERVED) == f"turn 3 has been ready since 11:59:00; {since}"


@pytest.mark.parametrize("other", [{"version": "v1"}, {"workflow_type": "cart"}])
def test_workers_of_another_version_are_no_help(other: Json) -> None:
    served = SERVED | {"pairs": [{**PAIR, **other, "claimed_at_ms": NOON_MS, "waiting": 1}]}

    assert "no worker for counter@v2 has claimed since the server started" in why(instance("queued"), served)


def test_workers_that_went_away_are_told_with_the_time() -> None:
    served = SERVED | {"pairs": [{**PAIR, "claimed_at_ms": NOON_MS - 120_000, "waiting": 0}]}

    assert "no worker for counter@v2 has claimed since 11:58:00" in why(instance("queued"), served)


@pytest.mark.parametrize(("claimed_ago_ms", "waiting"), [(1_000, 0), (120_000, 1)])
def test_a_worker_that_is_there_is_named(claimed_ago_ms: int, waiting: int) -> None:
    """It has claimed a moment ago, or its claim waits at the server right now."""
    served = SERVED | {"pairs": [{**PAIR, "claimed_at_ms": NOON_MS - claimed_ago_ms, "waiting": waiting}]}

    assert "worker w7 claims counter@v2" in why(instance("queued"), served)


def test_a_running_turn_names_worker_and_step() -> None:
    text = why(running(2_000, operation={"key": "count"}), SERVED)

    assert text == 'worker w1 runs turn 3, step "count"; last sign of life 2 s ago'


def test_a_silent_worker_is_told() -> None:
    """A dead process must not look like one that works."""
    text = why(running(45_000), SERVED)

    assert text == ("worker w1 runs turn 3, between steps; no sign of life since 11:59:15, its lease ends in 15 s")


def test_a_wait_for_a_signal_names_it() -> None:
    step = {"key": "ok", "kind": "signal", "signal_name": "approved", "wake_at_ms": NOON_MS + 60_000}
    text = why(instance("waiting", ready_at_ms=NOON_MS + 60_000, steps=[step]), SERVED)

    assert text == 'waits for signal "approved" of turn 3, until 12:01:00'


def test_a_sleep_says_until_when() -> None:
    step = {"key": "night", "kind": "sleep", "wake_at_ms": NOON_MS + 86_400_000}
    text = why(instance("waiting", ready_at_ms=NOON_MS + 86_400_000, steps=[step]), SERVED)

    assert text == 'sleeps until 2026-01-02 12:00:00 (step "night")'


def test_a_wait_that_counts_nothing_gives_its_reason() -> None:
    wait = {"since_ms": NOON_MS, "until_ms": NOON_MS + 60_000}
    text = why(instance("waiting", ready_at_ms=NOON_MS + 60_000, wait=wait, error="budget spent"), SERVED)

    assert text == "waits until 12:01:00, without counting an attempt: budget spent"


def test_a_retry_after_an_old_sleep_is_no_sleep() -> None:
    """The sleep is over: what lasts is the delay before the next attempt."""
    step = {"key": "night", "kind": "sleep", "wake_at_ms": NOON_MS - 60_000}
    text = why(instance("waiting", ready_at_ms=NOON_MS + 2_000, steps=[step], attempt=2, error="boom"), SERVED)

    assert text == "attempt 2 failed, tries again at 12:00:02: boom"


def test_a_failed_turn_gives_its_error_on_one_line() -> None:
    text = why(instance("failed", error="ValueError: no\nprice"), SERVED)

    assert text == "turn 3 failed for good: ValueError: no price; retry or skip it"


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [(-5, "0 ms"), (340, "340 ms"), (59_999, "59 s"), (60_000, "1 min"), (7_300_000, "2 h"), (200_000_000, "2 d")],
)
def test_ages_are_in_their_largest_unit(span_ms: int, text: str) -> None:
    assert age(span_ms) == text


def test_another_day_is_told_with_its_date() -> None:
    assert clock(NOON_MS - 3_600_000, NOON_MS) == "11:00:00"
    assert clock(NOON_MS - 86_400_000, NOON_MS) == "2025-12-31 12:00:00"


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        ({"phase": "index", "done": 340, "total": 1_200, "unit": "pages"}, "index: 340 of 1,200 pages (28 %)"),
        ({"phase": "index", "done": 340}, "index: 340"),
        ({"phase": "index", "done": 0, "total": 0}, "index: 0 of 0"),
    ],
)
def test_progress_is_told_with_unit_and_share(progress: Json, text: str) -> None:
    assert amount(progress) == text


@pytest.mark.parametrize(("size_bytes", "text"), [(12, "12 bytes"), (2_048, "2.0 KiB"), (3 << 20, "3.0 MiB")])
def test_sizes_are_in_their_largest_unit(size_bytes: int, text: str) -> None:
    assert size(size_bytes) == text
