"""Events of a stream: which are new, whether there is room for them, and when a batch goes out."""

import itertools
from collections.abc import Iterable, Sequence

import msgspec

from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.stream import WorkflowStreamEvent, WorkflowStreamSettings


class Stream(msgspec.Struct, frozen=True):
    """The events of one workflow, counted."""

    graph_id: str
    name: str
    queue_id: str
    next_number: int = 1
    pending: int = 0
    sent: int = 0
    duplicates: int = 0


class Event(msgspec.Struct, frozen=True):
    """One event. Once it was sent its body is dropped, and the row stays as long as its id must be known."""

    graph_id: str
    queue_id: str
    event_id: bytes
    shard: int
    number: int  # grows with each event of the workflow
    body: bytes | None
    body_bytes: int
    received_at_ms: int
    sent_at_ms: int | None = None


def news(events: Sequence[WorkflowStreamEvent], known: Iterable[str]) -> list[WorkflowStreamEvent]:
    """Those whose id is neither known nor earlier in the same request."""
    seen = set(known)
    fresh = []
    for event in events:
        if event.id not in seen:
            seen.add(event.id)
            fresh.append(event)
    return fresh


def is_known(event: Event, stream: Stream, now_ms: int) -> bool:
    """Whether its id is still told apart: it waits, or it came in the last day and is among the last 100,000."""
    if event.sent_at_ms is None:
        return True
    is_recent = event.received_at_ms > now_ms - limits.EVENT_KNOWN_MS
    return is_recent and event.number >= stream.next_number - limits.EVENT_KNOWN_IDS


def check_sizes(events: Sequence[WorkflowStreamEvent]) -> None:
    """Refused(payload_too_large) for the first event whose data is over the limit."""
    for index, event in enumerate(events):
        size = 0 if isinstance(event.data, msgspec.UnsetType) else len(bytes(event.data))
        if size > limits.EVENT_BYTES:
            param = f"events[{index}].data"
            what = f"{param}: got {size} bytes, expected at most {limits.EVENT_BYTES}"
            raise Refused("payload_too_large", what, param=param)


def check_room(settings: WorkflowStreamSettings, coming: int, pending: int) -> None:
    """Refused(workflow_stream_full) when that many more would not fit; none of them is taken then."""
    if pending + coming > settings.pending_max:
        what = f"{pending} events wait and {coming} come, expected at most {settings.pending_max} to wait"
        raise Refused("workflow_stream_full", what)


def check_rate(settings: WorkflowStreamSettings, coming: int, in_last_minute: int) -> None:
    """Refused(workflow_stream_rate_limited) when that many more are over the rate; none of them is taken then."""
    rate = settings.rate_per_minute
    if rate is not None and in_last_minute + coming > rate:
        what = f"{in_last_minute} events came in the last minute and {coming} come now, expected at most {rate}"
        raise Refused("workflow_stream_rate_limited", what)


def batch(settings: WorkflowStreamSettings, waiting: Sequence[Event], now_ms: int) -> list[Event]:
    """The events of one shard that go out now, oldest first; none while they may wait for more."""
    if not waiting:
        return []
    sizes = itertools.accumulate(event.body_bytes + 1 for event in waiting)  # with the comma between them
    fitting = max(1, sum(1 for size in sizes if size <= limits.EVENT_BATCH_BYTES))
    is_full = len(waiting) >= settings.batch or len(waiting) > fitting
    if not is_full and now_ms < ready_at_ms(settings, waiting[0]):
        return []
    return list(waiting[: min(settings.batch, fitting)])


def ready_at_ms(settings: WorkflowStreamSettings, oldest: Event) -> int:
    """When a batch that is not full goes out all the same."""
    return oldest.received_at_ms + settings.wait_ms
