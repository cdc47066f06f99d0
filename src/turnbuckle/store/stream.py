"""Streams of named workflows and their events."""

from turnbuckle.graph.stream import Event, Stream
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits


def get(tx: Transaction, graph_id: str, name: str) -> Stream | None:
    return tx.one("stream_get", Stream, graph_id=graph_id, name=name)


def add(tx: Transaction, stream: Stream) -> None:
    tx.insert("stream_insert", stream)


def save(tx: Transaction, old: Stream, new: Stream) -> None:
    tx.save("stream_update", old, new)


def delete(tx: Transaction, stream: Stream) -> None:
    """Remove the stream; its events go in pieces, with the queues of watches."""
    tx.run("watch_old_queue_insert", graph_id=stream.graph_id, queue_id=stream.queue_id)
    tx.run("stream_delete", graph_id=stream.graph_id, name=stream.name)


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    """(graph id, name) of those with events that wait."""
    return [(graph_id, name) for graph_id, name in tx.rows("stream_waiting")]


# -- events ------------------------------------------------------------------------------------------------------


def event(tx: Transaction, stream: Stream, event_id: str) -> Event | None:
    where = {"graph_id": stream.graph_id, "queue_id": stream.queue_id}
    return tx.one("stream_event_get", Event, **where, event_id=event_id.encode())


def add_event(tx: Transaction, event: Event) -> None:
    tx.insert("stream_event_insert", event)


def forget_event(tx: Transaction, event: Event) -> None:
    where = {"graph_id": event.graph_id, "queue_id": event.queue_id}
    tx.run("stream_event_forget", **where, event_id=event.event_id)


def waiting_events(tx: Transaction, stream: Stream, shard: int, limit: int) -> list[Event]:
    """Of one shard, in the order they came."""
    where = {"graph_id": stream.graph_id, "queue_id": stream.queue_id}
    return tx.all("stream_event_page", Event, **where, shard=shard, limit=limit)


def waits_since_ms(tx: Transaction, stream: Stream) -> int | None:
    """When the oldest event came that waits."""
    row = tx.row("stream_event_oldest", graph_id=stream.graph_id, queue_id=stream.queue_id)
    return None if row is None else row[0]


def note_sent(tx: Transaction, stream: Stream, shard: int, through: int) -> None:
    """The shard's events up to that number went out."""
    where = {"graph_id": stream.graph_id, "queue_id": stream.queue_id}
    tx.run("stream_event_sent", **where, shard=shard, through=through, now_ms=tx.now_ms)


def came_since(tx: Transaction, stream: Stream, since_ms: int) -> int:
    row = tx.row("stream_event_rate", graph_id=stream.graph_id, queue_id=stream.queue_id, since_ms=since_ms)
    return int(row[0]) if row else 0


def forget_old(tx: Transaction, before_ms: int, limit: int) -> int:
    """Forget a piece of the ids that are no longer told apart; how many went."""
    return tx.run("stream_event_old", before_ms=before_ms, known=limits.EVENT_KNOWN_IDS, limit=limit)
