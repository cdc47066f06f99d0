"""Each event of a run is passed once, whatever comes late, equal or in between (blobhub 3.6, 4.10)."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blobhub import WaitTimeout
from blobhub.types.workflow import Execution
from tests.unit.blobhub_scripted import MovedTime, client_of, ok, revision_of

EPOCH = datetime(2026, 1, 31, 9, 5, tzinfo=UTC)
RECORD = {"id": "e1", "session_id": "s1", "status": "running"}


class Interrupted(Exception):
    pass


@dataclass(frozen=True)
class Event:
    number: int
    created_us: int  # since EPOCH
    late_us: int = 0  # until the index shows it

    @property
    def place(self) -> tuple[int, int]:
        return self.created_us, self.number

    def row(self) -> dict[str, Any]:
        at = EPOCH + timedelta(microseconds=self.created_us)
        created_at = at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        return {"id": f"v{self.number}", "created_at": created_at, "type": "note"}


class LogServer:
    """A run whose events show up as time passes: pages by cursor, `created_since` exclusive, as instants."""

    def __init__(self, time: MovedTime, events: list[Event], ends_at: float) -> None:
        self.time = time
        self.events = sorted(events, key=lambda event: event.place)
        self.ends_at = ends_at
        self.readings = 0  # of the log, from its first page on
        self.calls: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        call = json.loads(request.content)
        if call["command"] == "get_execution":
            return ok(execution=RECORD | {"status": "completed" if self.time.now >= self.ends_at else "running"})
        assert call["command"] == "list_execution_events"
        self.calls.append(call)
        self.readings += "cursor" not in call
        return self._page(call)

    def _page(self, call: dict[str, Any]) -> httpx.Response:
        now_us = round(self.time.now * 1e6)
        since_us = _microseconds(call["created_since"]) if "created_since" in call else -1
        place = tuple(json.loads(call["cursor"])) if "cursor" in call else (-1, -1)
        shown = [event for event in self.events if event.created_us + event.late_us <= now_us]
        rows = [event for event in shown if event.created_us > since_us and event.place > place]
        page, rest = rows[: call["limit"]], rows[call["limit"] :]
        cursor = json.dumps(page[-1].place) if rest else None
        return ok(execution_events=[event.row() for event in page], cursor=cursor)


def _microseconds(at: str) -> int:
    return round((datetime.fromisoformat(at) - EPOCH) / timedelta(microseconds=1))


class Follower:
    """Takes events and notes in which reading each came; raises at the numbers it is told, after noting."""

    def __init__(self, server: LogServer, raise_at: frozenset[int] = frozenset()) -> None:
        self.server = server
        self.raise_at = raise_at
        self.got: list[tuple[int, str, int]] = []  # (reading, created_at, number of the event)

    def __call__(self, event: dict[str, Any]) -> None:
        self.got.append((self.server.readings, event["created_at"], int(event["id"][1:])))
        if len(self.got) in self.raise_at:
            raise Interrupted

    @property
    def numbers(self) -> list[int]:
        return [number for _, _, number in self.got]


def run_of(server: LogServer) -> Execution:
    return Execution(revision_of(client_of(server, server.time)), RECORD)


def test_three_thousand_events_come_once_each_in_order() -> None:
    """250 of each time, so that page borders of 100 fall into equal times; number 3,000 is late by 3 s.

    It was made before the newest event of the reading at 30 s, and is shown only after it.
    """
    time = MovedTime()
    events = [Event(n, created_us=(n // 250) * 5_000_000) for n in range(2_999)]
    late = Event(2_999, created_us=29_000_000, late_us=3_000_000)
    server = LogServer(time, [*events, late], ends_at=57)
    follower = Follower(server, raise_at=frozenset({5}))
    run = run_of(server)

    with pytest.raises(Interrupted):
        run.wait(on_event=follower)
    assert follower.numbers == [0, 1, 2, 3, 4]
    with pytest.raises(WaitTimeout):
        run.wait(timeout=36, on_event=follower)
    assert 1_500 < len(follower.got) < 2_999
    assert run.wait(on_event=follower) == "completed"

    assert Counter(follower.numbers) == Counter(range(3_000))
    assert follower.got == sorted(follower.got)
    # The late one came after events that are newer than it.
    before = follower.numbers[: follower.numbers.index(2_999)]
    assert any(server_time >= 30_000_000 for server_time in ((n // 250) * 5_000_000 for n in before))
    assert len(run.events()) == 3_000


def test_a_later_reading_asks_for_little_more_than_what_is_new() -> None:
    """The overlap of 5 s, not the whole log again."""
    time = MovedTime()
    server = LogServer(time, [Event(n, created_us=n * 10_000) for n in range(3_000)], ends_at=31)
    run = run_of(server)

    run.wait(on_event=lambda event: None)

    # 17 readings: at 2 s a reading, each at most 7 s of events, 700, so 8 pages.
    assert server.readings == 18
    assert len(server.calls) <= 18 * 8
    assert all(call["limit"] == 100 and call["ascending"] is True for call in server.calls)


def test_the_last_events_may_come_after_the_wait_and_are_in_the_log() -> None:
    time = MovedTime()
    server = LogServer(time, [Event(0, 0), Event(1, 3_000_000, late_us=4_000_000)], ends_at=4)
    follower = Follower(server)
    run = run_of(server)

    assert run.wait(on_event=follower) == "completed"
    assert follower.numbers == [0]
    time.now += 5
    assert [event["id"] for event in run.events()] == ["v0", "v1"]
    run.wait(on_event=follower)
    assert follower.numbers == [0, 1]


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Times that crowd around whole seconds, and lateness under the overlap."""
    created = st.one_of(
        st.integers(0, 20).map(lambda second: second * 1_000_000),
        st.integers(0, 20_000_000),
        st.integers(0, 20).map(lambda second: second * 1_000_000 + 1),
    )
    late = st.one_of(st.just(0), st.integers(0, 4_999_999))
    places = draw(st.lists(st.tuples(created, late), max_size=250))
    return [Event(n, created_us, late_us) for n, (created_us, late_us) in enumerate(places)]


@settings(max_examples=150, deadline=None)
@given(
    events=logs(),
    raise_at=st.frozensets(st.integers(1, 250), max_size=5),
    interval=st.sampled_from([0.3, 1, 2, 7]),
    timeout=st.sampled_from([0, 3, 11]),
)
def test_any_log_comes_once_each(
    events: list[Event], raise_at: frozenset[int], interval: float, timeout: float
) -> None:
    server = LogServer(MovedTime(), events, ends_at=26)
    follower = Follower(server, raise_at)
    run = run_of(server)
    for _ in range(200):
        try:
            run.wait(timeout=timeout, interval=interval, on_event=follower)
        except WaitTimeout:
            server.time.now += interval
        except Interrupted:
            pass
        else:
            break

    assert run.status == "completed"
    assert Counter(follower.numbers) == Counter(range(len(events)))
    assert follower.got == sorted(follower.got)
