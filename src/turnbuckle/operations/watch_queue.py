"""What a watch reads, and how instances get into its queue: changes, links that lead to them, passes over all.

Each function reads one piece and gives the watch as it stands then; the caller saves it.
"""

import heapq
import json
from collections.abc import Iterable
from itertools import islice

import msgspec
from msgspec.structs import replace

from turnbuckle.graph import iri
from turnbuckle.graph import named as named_rules
from turnbuckle.graph import watch as rules
from turnbuckle.graph.change import Change
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named
from turnbuckle.graph.watch import Item, Link, Scope, Wake, Watch
from turnbuckle.graph.watch_terms import LABEL
from turnbuckle.store import change as changes
from turnbuckle.store import edge as edges
from turnbuckle.store import entity as entities
from turnbuckle.store import fact as facts
from turnbuckle.store import watch as watches
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.turn import WorkflowMessageOrigin

_HISTORY = 100  # rows of a removed record that are looked through for what it was routed by


def read(tx: Transaction, head: GraphHead, named: Named, scope: Scope, watch: Watch, most: int) -> tuple[Watch, bool]:
    """One piece of what there is to read; whether there may be more.

    A commit that was begun is finished first, as nothing is sent meanwhile; while a pass goes on, new commits wait.
    """
    if (link := watches.link(tx, watch)) is not None:
        return _look_for(tx, named, scope, watch, link, most), True
    if watch.part_seq is not None:
        return _read_changes(tx, head, named, scope, watch, most)
    if watch.pass_reason is not None:
        return _pass_on(tx, named, scope, watch, most), True
    if watch.through_seq < head.head_seq:
        return _read_changes(tx, head, named, scope, watch, most)
    return watch, False


# -- changes -----------------------------------------------------------------------------------------------------


def _read_changes(
    tx: Transaction, head: GraphHead, named: Named, scope: Scope, watch: Watch, most: int
) -> tuple[Watch, bool]:
    rows, moved = _next_changes(tx, head, watch, most)
    wakes = [wake for change in rows if (wake := rules.woken(scope, change)) is not None]
    origin = msgspec.json.encode(WorkflowMessageOrigin(kind="commit", trigger=named.trigger_id))
    put(tx, named, watch, wakes, rules.CHANGED, origin)
    _note_links(tx, watch, scope, rows)
    return moved, moved.part_seq is not None or moved.through_seq < head.head_seq or bool(rows and scope.links)


def _next_changes(tx: Transaction, head: GraphHead, watch: Watch, most: int) -> tuple[list[Change], Watch]:
    """Changes after the cursor up to the head, and the watch that has read them."""
    if watch.part_seq is not None:
        rows = changes.rest_of(tx, watch.graph_id, watch.part_seq, watch.part_id or "", most)
        if len(rows) == most:
            return rows, replace(watch, part_id=rows[-1].entity_id)
        return rows, replace(watch, through_seq=watch.part_seq, part_seq=None, part_id=None)
    found = changes.after(tx, watch.graph_id, watch.through_seq, most)
    rows = [change for change in found if change.commit_seq <= head.head_seq]  # a commit may have come after the head
    if len(rows) < most:
        return rows, replace(watch, through_seq=head.head_seq)
    last = rows[-1]
    return rows, replace(watch, through_seq=last.commit_seq - 1, part_seq=last.commit_seq, part_id=last.entity_id)


def _note_links(tx: Transaction, watch: Watch, scope: Scope, rows: Iterable[Change]) -> None:
    """Records whose sources must be looked for. One that changes while they are is looked through again."""
    for change in rows:
        for relation, names in rules.led_to(scope, change).items():
            seq = change.commit_seq
            where = (watch.graph_id, watch.queue_id, change.entity_id, relation)
            asked = Link(*where, seq, seq, rules.fields_of(names), after="")
            known = watches.find_link(tx, asked)
            if known is None:
                watches.add_link(tx, asked)
            else:
                fields = rules.join_fields(known.fields, asked.fields)
                watches.save_link(tx, known, replace(known, last_seq=seq, fields=fields, after=""))


def _look_for(tx: Transaction, named: Named, scope: Scope, watch: Watch, link: Link, most: int) -> Watch:
    """A piece of the instances that lead to a changed record by a link that is there now.

    One whose link was there when the record changed, and is not any more, is woken by the change of its link.
    """
    sources = watches.sources(tx, link, most)
    there = entities.current(tx, watch.graph_id, sources)
    names = frozenset(json.loads(link.fields))
    wakes = [
        Wake(id, link.last_seq, False, names) for id in sources if id in there and there[id].class_id in scope.classes
    ]
    origin = msgspec.json.encode(WorkflowMessageOrigin(kind="commit", trigger=named.trigger_id))
    put(tx, named, watch, wakes, rules.CHANGED, origin, first_seq=link.first_seq)
    if len(sources) < most:
        watches.delete_link(tx, link)
    else:
        watches.save_link(tx, link, replace(link, after=sources[-1]))
    return watch


# -- passes ------------------------------------------------------------------------------------------------------


def begin_pass(watch: Watch, named: Named, reason: str, origin: WorkflowMessageOrigin) -> Watch:
    """The watch about to go through all instances, as of the commit it has read through. It begins anew if it did."""
    told = replace(origin, trigger=named.trigger_id, target_seq=watch.through_seq)
    return replace(
        watch,
        pass_reason=reason,
        pass_target_seq=watch.through_seq,
        pass_cursor=None,
        pass_scanned=0,
        pass_origin=msgspec.json.encode(told),
    )


def _pass_on(tx: Transaction, named: Named, scope: Scope, watch: Watch, most: int) -> Watch:
    """A piece of the instances in the order of their IRIs."""
    assert watch.pass_target_seq is not None
    assert watch.pass_reason is not None
    assert watch.pass_origin is not None
    after, target = watch.pass_cursor or "", watch.pass_target_seq
    pages = [entities.of_class(tx, watch.graph_id, class_id, after, most) for class_id in sorted(scope.classes)]
    page = list(islice(heapq.merge(*pages, key=lambda entity: entity.entity_id), most))
    # A record made later is told of by its change; a row that began later may also be a record under a new name.
    present = [e for e in page if e.from_seq <= target or entities.at(tx, e.graph_id, e.entity_id, target) is not None]
    wakes = [Wake(entity.entity_id, target, False, frozenset()) for entity in present]
    put(tx, named, watch, wakes, watch.pass_reason, watch.pass_origin)
    scanned = watch.pass_scanned + len(present)
    if len(page) < most:
        return replace(
            watch, pass_reason=None, pass_target_seq=None, pass_cursor=None, pass_scanned=0, pass_origin=None
        )
    return replace(watch, pass_cursor=page[-1].entity_id, pass_scanned=scanned)


# -- into the queue ----------------------------------------------------------------------------------------------


def put(
    tx: Transaction,
    named: Named,
    watch: Watch,
    wakes: list[Wake],
    reason: str,
    origin: bytes,
    first_seq: int | None = None,
) -> None:
    """Let the instances wait, each once, whatever waits already."""
    if not wakes:
        return
    ids = list({wake.entity_id: None for wake in wakes})
    stored = watches.items(tx, watch, ids)
    shards = route(tx, named, wakes)
    waiting = dict(stored)
    for wake in wakes:
        seq = wake.seq if first_seq is None else first_seq
        new = Item(
            watch.graph_id,
            watch.queue_id,
            wake.entity_id,
            shards[wake.entity_id],
            tx.now_ms,
            seq,
            wake.seq,
            int(wake.removed),
            reason,
            0,
            origin,
            rules.fields_of(wake.fields),
        )
        waiting[wake.entity_id] = rules.merge(waiting.get(wake.entity_id), new)
    watches.put(tx, stored, waiting.values())


def route(tx: Transaction, named: Named, wakes: Iterable[Wake]) -> dict[str, int]:
    """The shard of each instance, by id."""
    removed = {wake.entity_id: wake.removed for wake in wakes}
    if named.shards == 1:
        return dict.fromkeys(removed, 0)
    keys = {} if named.route_by is None else _values(tx, named.graph_id, named.route_by, removed)
    return {id: named_rules.shard_of(keys.get(id, iri.of_entity(id).encode()), named.shards) for id in removed}


def _values(tx: Transaction, graph_id: str, token: str, removed: dict[str, bool]) -> dict[str, bytes]:
    """What the instances are routed by, of those that have it. Of a removed one, what it had last."""
    kind, _, term = token.partition(":")
    if kind == LABEL:
        found = {id: entity.name for id, entity in entities.current(tx, graph_id, removed).items()}
    elif kind == "p":
        found = {
            fact.entity_id: fact.value for fact in facts.current(tx, graph_id, removed) if fact.property_id == term
        }
    else:
        links = edges.out_of(tx, graph_id, removed)
        found = {edge.source_id: edge.target_id.encode() for edge in links if edge.relation_id == term}
    for id in (id for id, is_gone in removed.items() if is_gone and kind == "p"):
        had = (fact.value for fact in facts.history(tx, graph_id, id, _HISTORY) if fact.property_id == term)
        if (last := next(had, None)) is not None:
            found[id] = last
    return found
