"""Watches: how far they have read, what waits, and what turns gave back."""

import json
from collections.abc import Collection, Iterable

from turnbuckle.graph.watch import Given, Item, Link, Watch
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, name: str) -> Watch | None:
    return tx.one("watch_get", Watch, graph_id=graph_id, name=name)


def add(tx: Transaction, watch: Watch) -> None:
    tx.insert("watch_insert", watch)


def save(tx: Transaction, old: Watch, new: Watch) -> None:
    tx.save("watch_update", old, new)


def delete(tx: Transaction, watch: Watch) -> None:
    """The watch; its queue is left to be removed in pieces."""
    tx.run("watch_delete", graph_id=watch.graph_id, name=watch.name)
    leave_queue(tx, watch)


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    """(graph id, name) of those that have something to do now."""
    return [(graph_id, name) for graph_id, name in tx.rows("watch_waiting", now_ms=tx.now_ms)]


# -- what waits --------------------------------------------------------------------------------------------------

Place = tuple[int, int, int, str]  # (shard, due_at_ms, first_seq, entity id): where a page ends
START: Place = (-1, 0, 0, "")


def items(tx: Transaction, watch: Watch, ids: Collection[str]) -> dict[str, Item]:
    """Those of the instances that wait, by id."""
    asked = {"graph_id": watch.graph_id, "queue_id": watch.queue_id, "ids": json.dumps(list(ids))}
    return {item.entity_id: item for item in tx.all("watch_item_some", Item, **asked)}


def due(tx: Transaction, watch: Watch, shard: int, limit: int) -> list[Item]:
    """The first of the shard that may be sent now, in their order."""
    asked = {"graph_id": watch.graph_id, "queue_id": watch.queue_id, "shard": shard}
    return tx.all("watch_item_due", Item, **asked, now_ms=tx.now_ms, limit=limit)


def next_repeat_at(tx: Transaction) -> int | None:
    """When the next of those may be sent that wait for their time. Looks through all that waits: for tests."""
    row = tx.row("watch_item_next", now_ms=tx.now_ms)
    return None if row is None else row[0]


def page(tx: Transaction, watch: Watch, after: Place, limit: int) -> list[Item]:
    """What waits, by shard in the order in which it will be sent, after the place `after` (see `place`)."""
    shard, due_at_ms, first_seq, entity_id = after
    return tx.all(
        "watch_item_page",
        Item,
        graph_id=watch.graph_id,
        queue_id=watch.queue_id,
        shard=shard,
        due_at_ms=due_at_ms,
        first_seq=first_seq,
        after=entity_id,
        limit=limit,
    )


def place(item: Item) -> Place:
    return item.shard, item.due_at_ms, item.first_seq, item.entity_id


def some(tx: Transaction, watch: Watch, limit: int) -> list[Item]:
    """Some of what waits, in any order."""
    return tx.all("watch_item_all", Item, graph_id=watch.graph_id, queue_id=watch.queue_id, limit=limit)


def count(tx: Transaction, watch: Watch) -> tuple[int, int, int | None]:
    """How many wait, how many of those have left the class, and since when the first may be sent."""
    row = tx.row("watch_item_count", graph_id=watch.graph_id, queue_id=watch.queue_id)
    assert row is not None
    return int(row[0]), int(row[1]), row[2]


def put(tx: Transaction, old: dict[str, Item], new: Iterable[Item]) -> None:
    """Write what waits now; `old` is what waited of them before."""
    fresh = []
    for item in new:
        known = old.get(item.entity_id)
        if known is None:
            fresh.append(item)
        else:
            tx.save("watch_item_update", known, item)
    tx.insert_all("watch_item_insert", fresh)


def drop(tx: Transaction, watch: Watch, ids: Collection[str]) -> None:
    """They wait no longer."""
    tx.run("watch_item_delete", graph_id=watch.graph_id, queue_id=watch.queue_id, ids=json.dumps(list(ids)))


# -- links to look for -------------------------------------------------------------------------------------------


def link(tx: Transaction, watch: Watch) -> Link | None:
    """One of those whose sources are still to be found."""
    return tx.one("watch_link_first", Link, graph_id=watch.graph_id, queue_id=watch.queue_id)


def find_link(tx: Transaction, asked: Link) -> Link | None:
    """What is being looked for already under the same record and relation."""
    return tx.one(
        "watch_link_get",
        Link,
        graph_id=asked.graph_id,
        queue_id=asked.queue_id,
        target_id=asked.target_id,
        relation_id=asked.relation_id,
    )


def add_link(tx: Transaction, link: Link) -> None:
    tx.insert("watch_link_insert", link)


def save_link(tx: Transaction, old: Link, new: Link) -> None:
    tx.save("watch_link_update", old, new)


def delete_link(tx: Transaction, link: Link) -> None:
    tx.run(
        "watch_link_delete",
        graph_id=link.graph_id,
        queue_id=link.queue_id,
        target_id=link.target_id,
        relation_id=link.relation_id,
    )


def sources(tx: Transaction, link: Link, limit: int) -> list[str]:
    """Ids of records that lead to it, after those that were found."""
    asked = {"graph_id": link.graph_id, "target_id": link.target_id, "relation_id": link.relation_id}
    return [found for (found,) in tx.rows("watch_link_sources", **asked, after=link.after, limit=limit)]


# -- what was given back -----------------------------------------------------------------------------------------


def given(tx: Transaction, graph_id: str, instance_id: str, turn: int, ids: Collection[str]) -> dict[str, Given]:
    """What the turn has given back of these, by id."""
    asked = {"graph_id": graph_id, "instance_id": instance_id, "turn": turn, "ids": json.dumps(list(ids))}
    return {one.entity_id: one for one in tx.all("watch_given_some", Given, **asked)}


def add_given(tx: Transaction, given: Iterable[Given]) -> None:
    tx.insert_all("watch_given_insert", given)


def forget_given(tx: Transaction, limit: int) -> int:
    """Forget what turns that are gone gave back; how many rows went."""
    return tx.run("watch_given_old", limit=limit)


# -- old queues --------------------------------------------------------------------------------------------------


def leave_queue(tx: Transaction, watch: Watch) -> None:
    tx.run("watch_old_queue_insert", graph_id=watch.graph_id, queue_id=watch.queue_id)


def old_queue(tx: Transaction) -> tuple[str, str] | None:
    """(graph id, queue id) of one whose rows are to go."""
    row = tx.row("watch_old_queue_first")
    return None if row is None else (str(row[0]), str(row[1]))


def clear_old_queue(tx: Transaction, graph_id: str, queue_id: str, limit: int) -> int:
    """Remove a piece of it; how many rows went. The queue is forgotten when none did."""
    where = {"graph_id": graph_id, "queue_id": queue_id}
    pieces = ("watch_item_drop", "watch_link_drop", "stream_event_drop")
    went = sum(tx.run(piece, **where, limit=limit) for piece in pieces)
    if went == 0:
        tx.run("watch_old_queue_delete", **where)
    return went
