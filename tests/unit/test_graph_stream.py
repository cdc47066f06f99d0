"""Events of a stream: new ones, room for them, batches (lbb-graph 5.4)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from turnbuckle.graph import stream
from turnbuckle.graph.stream import Event
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.stream import WorkflowStreamEvent, WorkflowStreamSettings

NOW_MS = 1_700_000_000_000


def asked(event_id: str, data: bytes = b"{}") -> WorkflowStreamEvent:
    return WorkflowStreamEvent(id=event_id, data=Raw(data))


def waiting(count: int, *, body_bytes: int = 100, age_ms: int = 0) -> list[Event]:
    return [
        Event("g", "notes", b"e%d" % n, 0, n, b"{}", body_bytes, received_at_ms=NOW_MS - age_ms) for n in range(count)
    ]


def test_an_id_is_taken_once_also_within_one_request() -> None:
    events = [asked("a"), asked("b", b"1"), asked("b", b"2"), asked("c")]

    fresh = stream.news(events, known=["a"])

    assert [(event.id, bytes(event.data)) for event in fresh] == [("b", b"1"), ("c", b"{}")]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "age_ms", "goes"),
    [(0, 5_000, 0), (1, 0, 0), (9, 999, 0), (10, 0, 10), (25, 0, 10), (1, 1_000, 1), (9, 1_000, 9)],
)
def test_a_batch_goes_out_when_it_is_full_or_its_oldest_event_has_waited(count: int, age_ms: int, goes: int) -> None:
    settings = WorkflowStreamSettings(batch=10, wait_ms=1_000)

    assert len(stream.batch(settings, waiting(count, age_ms=age_ms), NOW_MS)) == goes


@given(st.lists(st.integers(1, 3 * limits.EVENT_BATCH_BYTES // 2), min_size=1, max_size=30), st.integers(1, 40))
def test_batches_take_every_event_once_in_order_and_are_never_too_large(sizes: list[int], most: int) -> None:
    """One event larger than a batch, which the limit on events does not allow, would still go out alone."""
    settings = WorkflowStreamSettings(batch=most, wait_ms=0)
    left = [event for size in sizes for event in waiting(1, body_bytes=size)]
    taken: list[Event] = []

    while batch := stream.batch(settings, left, NOW_MS):
        assert len(batch) == 1 or sum(event.body_bytes for event in batch) <= limits.EVENT_BATCH_BYTES
        taken, left = taken + batch, left[len(batch) :]

    assert [event.body_bytes for event in taken] == sizes


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (lambda: stream.check_room(WorkflowStreamSettings(pending_max=10), 3, pending=8), "workflow_stream_full"),
        (
            lambda: stream.check_rate(WorkflowStreamSettings(rate_per_minute=10), 3, in_last_minute=8),
            "workflow_stream_rate_limited",
        ),
        (lambda: stream.check_sizes([asked("a"), asked("b", b'"' + b"x" * 70_000 + b'"')]), "payload_too_large"),
    ],
)
def test_what_does_not_fit_is_refused_whole(check: Any, code: str) -> None:
    with pytest.raises(Refused) as refused:
        check()

    assert refused.value.code == code


def test_without_a_rate_any_number_may_come() -> None:
    stream.check_rate(WorkflowStreamSettings(), 500, in_last_minute=1_000_000)
    stream.check_room(WorkflowStreamSettings(pending_max=10), 2, pending=8)
