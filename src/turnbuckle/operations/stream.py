"""The trigger `stream`: events from outside, taken once each, become messages in batches (lbb-graph 5.4)."""

import hashlib
import secrets
from typing import cast

import msgspec
from msgspec.structs import replace

from turnbuckle.engine import blob as blob_rules
from turnbuckle.graph import named as named_rules
from turnbuckle.graph import stream as rules
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named
from turnbuckle.graph.stream import Event, Stream
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.progress import Progress
from turnbuckle.operations.sender import TOPIC, Sender
from turnbuckle.store import blob as blobs
from turnbuckle.store import named as names
from turnbuckle.store import stream as streams
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.named import NamedWorkflowTrigger
from turnbuckle.wire.stream import (
    WorkflowEventsMessage,
    WorkflowStreamEvent,
    WorkflowStreamEventsQuery,
    WorkflowStreamEventsRequest,
    WorkflowStreamEventsResponse,
    WorkflowStreamSettings,
)
from turnbuckle.wire.turn import WorkflowMessageOrigin
from turnbuckle.wire.watch import WorkflowQueueQuery, WorkflowQueueResponse

_FORGOTTEN_AT_ONCE = 1_000  # decision 17


def resolve(tx: Transaction, head: GraphHead, asked: msgspec.Struct, param: str) -> bytes:
    return msgspec.json.encode(cast(WorkflowStreamSettings, asked))


def settings_of(named: Named) -> WorkflowStreamSettings:
    return msgspec.json.decode(named.settings, type=WorkflowStreamSettings)


# -- its life ----------------------------------------------------------------------------------------------------


def begin(tx: Transaction, head: GraphHead, named: Named) -> None:
    streams.add(tx, Stream(named.graph_id, named.name, secrets.token_hex(8)))


def change(tx: Transaction, head: GraphHead, old: Named, new: Named) -> None:
    """Other settings count for what waits, too. Another number of shards needs a stream in which nothing waits."""
    if old.shards != new.shards and (waits := _get(tx, new).pending):
        raise Refused("workflow_shards_busy", f"shards: {waits} events of {old.name!r} wait for a message")


def end(tx: Transaction, named: Named) -> None:
    streams.delete(tx, _get(tx, named))


def run_now(tx: Transaction, head: GraphHead, named: Named, caller: Caller) -> None:
    """What waits goes out without waiting for more."""
    stream = _get(tx, named)
    _send(tx, head, named, stream, replace(settings_of(named), wait_ms=0), most=limits.EVENTS_PER_REQUEST)


def _get(tx: Transaction, named: Named) -> Stream:
    found = streams.get(tx, named.graph_id, named.name)
    if found is None:
        raise LookupError(f"the workflow {named.name} lacks its stream")
    return found


# -- events come in ----------------------------------------------------------------------------------------------


def send_events(
    tx: Transaction, graph_id: str, query: WorkflowStreamEventsQuery, request: WorkflowStreamEventsRequest
) -> WorkflowStreamEventsResponse:
    """Take all new events, or none. An id is taken once a day, and among the last 100,000.

    Refused(named_workflow_not_found), (workflow_stream_full), (workflow_stream_rate_limited), (payload_too_large), or
    (workflow_param_invalid) for a workflow with another trigger.
    """
    rules.check_sizes(request.events)
    named = names.lock(tx, graph_id, query.name)
    if named is None:
        raise named_rules.missing(query.name)
    if named.kind != "stream":
        raise named_rules.invalid("name", f"{query.name!r} is set off by its {named.kind}, not by events")
    stream, settings = _get(tx, named), settings_of(named)
    fresh = rules.news(request.events, _known(tx, stream, request.events))
    rules.check_room(settings, len(fresh), stream.pending)
    if settings.rate_per_minute is not None and fresh:
        rules.check_rate(settings, len(fresh), streams.came_since(tx, stream, tx.now_ms - limits.MINUTE_MS))
    for number, event in enumerate(fresh, stream.next_number):
        streams.add_event(tx, _row(tx, named, stream, event, number))
    duplicates = len(request.events) - len(fresh)
    after = replace(
        stream,
        next_number=stream.next_number + len(fresh),
        pending=stream.pending + len(fresh),
        duplicates=stream.duplicates + duplicates,
    )
    streams.save(tx, stream, after)
    tx.announce(TOPIC, graph_id)
    return WorkflowStreamEventsResponse(
        workflow=named.name, accepted=len(fresh), duplicates=duplicates, pending=after.pending
    )


def _known(tx: Transaction, stream: Stream, events: list[WorkflowStreamEvent]) -> list[str]:
    """The ids that were taken before. One that is no longer told apart makes room for its next event."""
    known = []
    for event_id in dict.fromkeys(event.id for event in events):
        found = streams.event(tx, stream, event_id)
        if found is not None and rules.is_known(found, stream, tx.now_ms):
            known.append(event_id)
        elif found is not None:
            streams.forget_event(tx, found)
    return known


def _row(tx: Transaction, named: Named, stream: Stream, event: WorkflowStreamEvent, number: int) -> Event:
    body = msgspec.json.encode(event)
    shard = named_rules.shard_of((event.key or event.id).encode(), named.shards)
    where = (stream.graph_id, stream.queue_id, event.id.encode())
    return Event(*where, shard, number, body, len(body), tx.now_ms)


# -- batches go out ----------------------------------------------------------------------------------------------


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    return streams.waiting(tx)


def advance(tx: Transaction, head: GraphHead, named: Named, most: int) -> bool:
    """Send the batches that are ready, as far as the windows go."""
    return _send(tx, head, named, _get(tx, named), settings_of(named), most)


def _send(
    tx: Transaction, head: GraphHead, named: Named, stream: Stream, settings: WorkflowStreamSettings, most: int
) -> bool:
    sender, sent = Sender(tx, named), 0
    for shard in range(named.shards):
        while sent < most:
            ready = rules.batch(settings, streams.waiting_events(tx, stream, shard, settings.batch), tx.now_ms)
            if not ready:
                sender.free(shard)
                break
            if sender.room(shard) <= 0:
                sender.hold(shard)
                break
            _send_batch(tx, head, named, sender, shard, ready)
            streams.note_sent(tx, stream, shard, ready[-1].number)
            sent += len(ready)
    sender.save()
    streams.save(tx, stream, replace(stream, pending=stream.pending - sent, sent=stream.sent + sent))
    return sent >= most


def _send_batch(tx: Transaction, head: GraphHead, named: Named, sender: Sender, shard: int, ready: list[Event]) -> None:
    """The events as one blob, which the message names; it is kept as long as the message is."""
    data = b"[" + b",".join(event.body or b"null" for event in ready) + b"]"
    sha256 = hashlib.sha256(data).hexdigest()
    key = blob_rules.key(named_rules.shard_identity(named.name, shard), sha256)
    blobs.put(tx, named.graph_id, key, sha256, data)
    origin = WorkflowMessageOrigin(kind="events", trigger=named.trigger_id)
    message = WorkflowEventsMessage(
        workflow=named.name,
        trigger=named.trigger_id,
        graph=head.name,
        shard=shard,
        blob=key,
        count=len(ready),
        bytes=len(data),
        first_received_at=ready[0].received_at_ms,
        last_received_at=ready[-1].received_at_ms,
        origin=msgspec.Raw(msgspec.json.encode(origin)),
    )
    sender.send(shard, msgspec.json.encode(message), origin)


def forget_old(tx: Transaction) -> bool:
    """Forget ids that are no longer told apart; whether there may be more."""
    return streams.forget_old(tx, tx.now_ms - limits.EVENT_KNOWN_MS, _FORGOTTEN_AT_ONCE) == _FORGOTTEN_AT_ONCE


# -- for a reader ------------------------------------------------------------------------------------------------


def pending(tx: Transaction, named: Named) -> int:
    return _get(tx, named).pending


def shown(tx: Transaction, head: GraphHead, named: Named) -> NamedWorkflowTrigger:
    return NamedWorkflowTrigger(id=named.trigger_id, kind="stream", stream=settings_of(named))


def progress(tx: Transaction, head: GraphHead, named: Named) -> Progress:
    stream = _get(tx, named)
    return Progress(
        pending=stream.pending,
        pending_since_ms=streams.waits_since_ms(tx, stream),
        counters={"events": stream.sent, "duplicates": stream.duplicates},
    )


def queue(tx: Transaction, head: GraphHead, named: Named, query: WorkflowQueueQuery) -> WorkflowQueueResponse:
    """Events are no instances: only how many wait is told, and what the shards have in hand."""
    waits = _get(tx, named).pending
    return WorkflowQueueResponse(
        object="list", data=[], has_more=False, name=named.name, trigger=named.trigger_id, pending=waits
    )
