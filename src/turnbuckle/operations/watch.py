"""The trigger `watch`: instances of a class, new and changed, become messages (lbb-graph 5.3, 5.4).

What is read goes through operations/watch_queue.py; here is the trigger as operations/trigger.py knows it.
"""

import secrets
from typing import cast

import msgspec
from msgspec.structs import replace

from turnbuckle.graph import iri, watch_terms
from turnbuckle.graph import named as named_rules
from turnbuckle.graph import watch as rules
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named, Owned
from turnbuckle.graph.ontology import Ontology
from turnbuckle.graph.watch import Item, Scope, Settings, Watch
from turnbuckle.operations import ontology as ontologies
from turnbuckle.operations import watch_queue
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.progress import Progress
from turnbuckle.operations.sender import Sender
from turnbuckle.store import named as names
from turnbuckle.store import watch as watches
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.named import NamedWorkflowDetails, NamedWorkflowTrigger, WorkflowBackfill, WorkflowWorkerType
from turnbuckle.wire.turn import WorkflowMessageOrigin
from turnbuckle.wire.watch import (
    WatchReason,
    WorkflowPass,
    WorkflowQueueItem,
    WorkflowQueueQuery,
    WorkflowQueueResponse,
    WorkflowTriggerMessage,
    WorkflowWatchRequest,
)

# -- settings ----------------------------------------------------------------------------------------------------


def resolve(tx: Transaction, head: GraphHead, asked: msgspec.Struct, param: str) -> bytes:
    ontology = ontologies.load(tx, head)
    return msgspec.json.encode(watch_terms.settings(ontology, cast(WorkflowWatchRequest, asked), "watch"))


def settings_of(named: Named) -> Settings:
    return msgspec.json.decode(named.settings, type=Settings)


def shown(tx: Transaction, head: GraphHead, named: Named) -> NamedWorkflowTrigger:
    return NamedWorkflowTrigger(id=named.trigger_id, kind="watch", watch=watch_terms.shown(settings_of(named)))


def _scope(ontology: Ontology, named: Named) -> Scope:
    settings, owned = settings_of(named), msgspec.json.decode(named.owns, type=Owned)
    classes = watch_terms.classes_of(ontology, [settings.class_id])
    return rules.scope(settings, owned, classes, watch_terms.classes_of(ontology, owned.classes))


# -- its life ----------------------------------------------------------------------------------------------------


def begin(tx: Transaction, head: GraphHead, named: Named) -> None:
    """A cursor at the head, and a pass over all that is there."""
    watches.add(tx, _new(tx, head, named, rules.BACKFILL, WorkflowMessageOrigin(kind=rules.ORIGIN_OF[rules.BACKFILL])))


def _new(tx: Transaction, head: GraphHead, named: Named, reason: str, origin: WorkflowMessageOrigin) -> Watch:
    schema = watch_terms.schema(ontologies.load(tx, head), settings_of(named))
    fresh = Watch(
        named.graph_id,
        named.name,
        secrets.token_hex(8),
        through_seq=head.head_seq,
        part_seq=None,
        part_id=None,
        schema=schema,
        ontology_version=head.ontology_version,
        pass_reason=None,
        pass_target_seq=None,
        pass_cursor=None,
        pass_scanned=0,
        pass_origin=None,
    )
    return watch_queue.begin_pass(fresh, named, reason, origin)


def change(tx: Transaction, head: GraphHead, old: Named, new: Named) -> None:
    """Another class or other fields start a new queue with all instances; another routing moves what waits."""
    stored = _get(tx, old)
    before, after = settings_of(old), settings_of(new)
    if (before.class_id, before.fields) != (after.class_id, after.fields):
        origin = WorkflowMessageOrigin(kind="manual", note="the watch was changed")
        fresh = _new(tx, head, new, rules.REFRESH, origin)
        counted = {name: getattr(stored, name) for name in ("instances", "removed", "requeued", "exhausted")}
        watches.leave_queue(tx, stored)
        watches.save(tx, stored, replace(fresh, **counted))
    elif (old.shards, old.route_by) != (new.shards, new.route_by):
        _reroute(tx, new, stored)


def _reroute(tx: Transaction, named: Named, watch: Watch) -> None:
    waiting = watches.some(tx, watch, named_rules.REROUTED_AT_ONCE)
    wakes = [rules.Wake(item.entity_id, item.last_seq, bool(item.removed), frozenset()) for item in waiting]
    shards = watch_queue.route(tx, named, wakes)
    moved = [replace(item, shard=shards[item.entity_id]) for item in waiting]
    watches.put(tx, {item.entity_id: item for item in waiting}, moved)


def end(tx: Transaction, named: Named) -> None:
    watches.delete(tx, _get(tx, named))


def run_now(tx: Transaction, head: GraphHead, named: Named, caller: Caller) -> None:
    """A pass over all instances; one that goes on already is not doubled."""
    stored = _get(tx, named)
    if stored.pass_reason is None:
        origin = WorkflowMessageOrigin(kind=rules.ORIGIN_OF[rules.REFRESH], actor=caller.by or None)
        watches.save(tx, stored, watch_queue.begin_pass(stored, named, rules.REFRESH, origin))


def _get(tx: Transaction, named: Named) -> Watch:
    found = watches.get(tx, named.graph_id, named.name)
    if found is None:
        raise LookupError(f"the workflow {named.name} lacks its watch")
    return found


# -- its work ----------------------------------------------------------------------------------------------------


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    return watches.waiting(tx)


def next_repeat_at(tx: Transaction) -> int | None:
    """When the next instance that was given back may be sent again, of those whose time has not come."""
    return watches.next_repeat_at(tx)


def advance(tx: Transaction, head: GraphHead, named: Named, most: int) -> bool:
    """Read a piece, then send what the windows take. The cursor, the queue and the inboxes move together."""
    stored, ontology = _get(tx, named), ontologies.load(tx, head)
    watch = _look_at_schema(stored, ontology, head, named)
    scope = _scope(ontology, named)
    watch, may_read = watch_queue.read(tx, head, named, scope, watch, most)
    watch, may_send = _send(tx, head, named, watch, most)
    watches.save(tx, stored, watch)
    return may_read or may_send


def _look_at_schema(watch: Watch, ontology: Ontology, head: GraphHead, named: Named) -> Watch:
    """All instances are sent again when their class was declared anew (lbb-graph 5.3, 5)."""
    if watch.ontology_version == head.ontology_version:
        return watch
    schema = watch_terms.schema(ontology, settings_of(named))
    seen = replace(watch, ontology_version=head.ontology_version, schema=schema)
    if schema == watch.schema:
        return seen
    kind = rules.ORIGIN_OF[rules.SCHEMA_CHANGED]
    origin = WorkflowMessageOrigin(kind=kind, ontology_version=head.ontology_version)
    return watch_queue.begin_pass(seen, named, rules.SCHEMA_CHANGED, origin)


def _send(tx: Transaction, head: GraphHead, named: Named, watch: Watch, most: int) -> tuple[Watch, bool]:
    """Messages for each shard, as far as its window goes; whether there is more that could be sent now.

    Nothing while a commit is read in pieces, as the queue then knows more than `through_seq` says; nor while instances
    are looked for that lead to a changed record, as one of them would be sent twice for one commit.
    """
    if watch.part_seq is not None or watches.link(tx, watch) is not None:
        return watch, False
    sender, left = Sender(tx, named), most
    for shard in range(named.shards):
        while left > 0:
            due = watches.due(tx, watch, shard, named.batch)
            if not due:
                sender.free(shard)
                break
            if sender.room(shard) <= 0:
                sender.hold(shard)
                break
            items = rules.batch(due, named.batch)
            message = _message(head, named, watch, items)
            sender.send(shard, msgspec.json.encode(message), message.origin)
            watches.drop(tx, watch, [item.entity_id for item in items])
            watch = replace(
                watch,
                instances=watch.instances + len(message.instances),
                removed=watch.removed + len(message.removed),
            )
            left -= len(items)
    sender.save()
    return watch, left <= 0


def _message(head: GraphHead, named: Named, watch: Watch, items: list[Item]) -> WorkflowTriggerMessage:
    return WorkflowTriggerMessage(
        type="instances",
        workflow=named.name,
        graph=head.name,
        as_of_commit_seq=watch.through_seq,
        reason=cast(WatchReason, items[0].reason),
        instances=[iri.of_entity(item.entity_id) for item in items if not item.removed],
        removed=[iri.of_entity(item.entity_id) for item in items if item.removed],
        origin=rules.origin(items),
    )


# -- what is left behind -----------------------------------------------------------------------------------------

ROWS_AT_ONCE = 1_000  # decision 17


def clear_old_queue(tx: Transaction) -> bool:
    """Remove a piece of what waited for a watch that was deleted or changed; whether there may be more."""
    old = watches.old_queue(tx)
    if old is None:
        return False
    watches.clear_old_queue(tx, *old, ROWS_AT_ONCE)
    return True


def forget_given(tx: Transaction) -> bool:
    """Forget what turns gave back that are pruned: they can ask no more."""
    return watches.forget_given(tx, ROWS_AT_ONCE) == ROWS_AT_ONCE


# -- for a reader ------------------------------------------------------------------------------------------------


def pending(tx: Transaction, named: Named) -> int:
    return watches.count(tx, _get(tx, named))[0]


def progress(tx: Transaction, head: GraphHead, named: Named) -> Progress:
    watch, settings = _get(tx, named), settings_of(named)
    waiting, removed, since_ms = watches.count(tx, watch)
    counted = ("instances", "removed", "requeued", "exhausted")
    running = _pass(watch)
    return Progress(
        pending=waiting,
        pending_since_ms=since_ms,
        processed_through_seq=watch.through_seq,
        counters={name: getattr(watch, name) for name in counted},
        backfill=None
        if running is None
        else WorkflowBackfill(scanned=running.scanned, target_seq=running.target_seq, cursor=running.cursor),
        running=running,
        unavailable=watch_terms.missing(ontologies.load(tx, head), settings),
        details=_details(tx, named, settings, watch, waiting - removed, removed),
    )


def _details(
    tx: Transaction, named: Named, settings: Settings, watch: Watch, instances: int, removed: int
) -> NamedWorkflowDetails:
    first = names.shards(tx, named.graph_id, named.name).get(0)
    return NamedWorkflowDetails(
        batch=named.batch,
        every_field=not settings.fields,
        instance_id=named_rules.shard_identity(named.name, 0),
        next_message=1 if first is None else first.next_message,
        paused=named.paused_at_ms is not None,
        pending_instances=instances,
        pending_removed=removed,
        workflow=WorkflowWorkerType(workflow_type=named.workflow_type, version=named.version),
        ontology_version=watch.ontology_version,
    )


def _pass(watch: Watch) -> WorkflowPass | None:
    if watch.pass_reason is None or watch.pass_target_seq is None:
        return None
    origin = watch.pass_origin
    return WorkflowPass(
        reason=cast(WatchReason, watch.pass_reason),
        target_seq=watch.pass_target_seq,
        scanned=watch.pass_scanned,
        cursor=None if watch.pass_cursor is None else iri.of_entity(watch.pass_cursor),
        origin=None if origin is None else msgspec.json.decode(origin, type=WorkflowMessageOrigin),
    )


def queue(tx: Transaction, head: GraphHead, named: Named, query: WorkflowQueueQuery) -> WorkflowQueueResponse:
    watch = _get(tx, named)
    found = watches.page(tx, watch, _place(query.cursor), query.limit + 1)
    page = found[: query.limit]
    return WorkflowQueueResponse(
        object="list",
        data=[_waiting(item) for item in page],
        has_more=len(found) > query.limit,
        next_cursor=_cursor(page[-1]) if len(found) > query.limit else None,
        name=named.name,
        trigger=named.trigger_id,
        pending=watches.count(tx, watch)[0],
        processed_through_seq=watch.through_seq,
        pass_=_pass(watch),
    )


def _waiting(item: Item) -> WorkflowQueueItem:
    return WorkflowQueueItem(
        iri=iri.of_entity(item.entity_id),
        reason=cast(WatchReason, item.reason),
        origin=rules.origin([item]),
        shard=item.shard,
        due_at_ms=item.due_at_ms,
        removed=bool(item.removed),
    )


def _cursor(item: Item) -> str:
    return "-".join(str(part) for part in watches.place(item))


def _place(cursor: str | None) -> watches.Place:
    """Where a page ended. Refused(invalid_param) when no page ever ended so."""
    if cursor is None:
        return watches.START
    shard, due_at_ms, first_seq, entity_id = (*cursor.split("-"), "", "", "", "")[:4]
    numbers = [
        int(part) for part in (shard, due_at_ms, first_seq) if part.isascii() and part.isdecimal() and len(part) < 17
    ]
    if len(numbers) != 3 or not entity_id:
        raise named_rules.bad_cursor(cursor)
    return numbers[0], numbers[1], numbers[2], entity_id
