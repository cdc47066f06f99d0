"""Instances that a turn could not do go back to the watch, three times at most (lbb-graph 5.5)."""

import json
import re

import msgspec
from msgspec.structs import replace

from turnbuckle.engine.turn import Turn
from turnbuckle.graph import iri
from turnbuckle.graph import named as named_rules
from turnbuckle.graph import watch as rules
from turnbuckle.graph.named import Named
from turnbuckle.graph.watch import Given, Item, Wake, Watch
from turnbuckle.operations import turn as turn_operations
from turnbuckle.operations import watch_queue
from turnbuckle.store import entity as entities
from turnbuckle.store import message as messages
from turnbuckle.store import named as names
from turnbuckle.store import turn as turns
from turnbuckle.store import watch as watches
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.moment import rfc3339
from turnbuckle.wire.named import NamedWorkflowQuery
from turnbuckle.wire.turn import WorkflowMessageOrigin
from turnbuckle.wire.watch import WorkflowRequeueRequest, WorkflowRequeueResponse

_ENTITY_ID = re.compile(r"[0-9a-f]{32}")
_REASONS = frozenset({rules.BACKFILL, rules.CHANGED, rules.REFRESH, rules.SCHEMA_CHANGED})


def requeue(
    tx: Transaction, graph_id: str, query: NamedWorkflowQuery, request: WorkflowRequeueRequest
) -> WorkflowRequeueResponse:
    """Let the instances wait 1, 4, then 16 minutes. The same instance of the same turn again changes nothing."""
    named = names.lock(tx, graph_id, query.name)
    if named is None:
        raise named_rules.missing(query.name)
    watch = watches.get(tx, graph_id, query.name)
    if watch is None:
        raise Refused("invalid_param", f"name: {query.name!r} has no watch to give instances back to", param="name")
    shard = named_rules.shard_of_identity(named, request.workflow_id)
    turn = _turn(tx, graph_id, request)
    errors = {_entity_id(item.instance, at): item.error for at, item in enumerate(request.items)}
    known = watches.given(tx, graph_id, request.workflow_id, request.turn, errors)
    fresh = {id: error for id, error in errors.items() if id not in known}
    given = _give(tx, named, watch, turn, shard, fresh) if fresh else []
    return _answer([*known.values(), *given], list(errors))


def _turn(tx: Transaction, graph_id: str, request: WorkflowRequeueRequest) -> Turn:
    found = turns.load(tx, graph_id, request.workflow_id, request.turn)
    if found is None:
        raise turn_operations.no_turn(turn_operations.find_instance(tx, graph_id, request.workflow_id), request.turn)
    return found[0]


def _entity_id(instance: str, at: int) -> str:
    bare = instance.removeprefix(iri.ENTITY).lower()
    if not instance.startswith(iri.ENTITY) or not _ENTITY_ID.fullmatch(bare):
        param = f"items[{at}].instance"
        raise Refused("invalid_param", f"{param}: got {instance[:120]!r}, expected the IRI of a record", param=param)
    return bare


def _give(
    tx: Transaction, named: Named, watch: Watch, turn: Turn, shard: int | None, errors: dict[str, str | None]
) -> list[Given]:
    """Write down what is given back, and let it wait unless it was given back too often."""
    origin = None if turn.origin is None else msgspec.json.decode(turn.origin, type=WorkflowMessageOrigin)
    attempt = rules.next_attempt(origin)
    delay_ms = rules.delay_ms(attempt)
    due_at_ms = None if delay_ms is None else tx.now_ms + delay_ms
    given = [Given(turn.graph_id, turn.instance_id, turn.number, id, attempt, due_at_ms) for id in errors]
    watches.add_given(tx, given)
    if due_at_ms is None:
        _exhaust(tx, named, watch, attempt, errors)
    else:
        _wait(tx, named, watch, turn, shard, errors, attempt, due_at_ms)
    return given


def _exhaust(tx: Transaction, named: Named, watch: Watch, attempt: int, errors: dict[str, str | None]) -> None:
    told = "; ".join(f"{iri.of_entity(id)}: {error or 'no error was told'}" for id, error in errors.items())
    text = f"given up after {attempt} failures: {told}"[: limits.ERROR_CHARS].encode()
    watches.save(tx, watch, replace(watch, exhausted=watch.exhausted + len(errors)))
    names.save(tx, named, replace(named, last_error=text, last_error_at_ms=tx.now_ms))


def _wait(
    tx: Transaction,
    named: Named,
    watch: Watch,
    turn: Turn,
    shard: int | None,
    errors: dict[str, str | None],
    attempt: int,
    due_at_ms: int,
) -> None:
    """One waiting row each, unless something newer waits already. A record that is gone waits as a removed one."""
    reason, seq = _message(tx, watch, turn)
    origin = WorkflowMessageOrigin(kind="requeue", trigger=named.trigger_id, attempt=attempt)
    encoded = _with_note(origin, next((error for error in errors.values() if error), ""))
    stored = watches.items(tx, watch, errors)
    shards = _shards(tx, named, shard, errors)
    there = entities.current(tx, watch.graph_id, errors)

    def item(id: str) -> Item:
        where = (watch.graph_id, watch.queue_id, id, shards[id])
        return Item(*where, due_at_ms, seq, seq, int(id not in there), reason, attempt, encoded, b"[]")

    watches.put(tx, stored, [rules.merge(stored.get(id), item(id)) for id in errors])
    watches.save(tx, watch, replace(watch, requeued=watch.requeued + len(errors)))


_ROOM_FOR_RANGE = 200  # what an origin may still get: from_seq, to_seq


def _with_note(origin: WorkflowMessageOrigin, note: str) -> bytes:
    """The origin as JSON with as much of the note as fits: letters outside Latin take three bytes and more."""
    note = note[: limits.ORIGIN_NOTE_CHARS]
    while (
        len(encoded := msgspec.json.encode(replace(origin, note=note or None))) > limits.ORIGIN_BYTES - _ROOM_FOR_RANGE
    ):
        note = note[: len(note) * 3 // 4]
    return encoded


def _shards(tx: Transaction, named: Named, shard: int | None, ids: dict[str, str | None]) -> dict[str, int]:
    """Back to the shard that asks; what its fan-in or a shard of earlier settings gives back is routed anew."""
    if shard is not None and shard < named.shards:
        return dict.fromkeys(ids, shard)
    return watch_queue.route(tx, named, [Wake(id, 0, False, frozenset()) for id in ids])


def _message(tx: Transaction, watch: Watch, turn: Turn) -> tuple[str, int]:
    """Reason and commit of the message that failed; of another kind of message, of a change just read."""
    message = messages.get(tx, turn.graph_id, turn.instance_id, turn.number)
    body = None if message is None or message.body is None else json.loads(message.body)
    reason, seq = (body.get("reason"), body.get("as_of_commit_seq")) if isinstance(body, dict) else (None, None)
    return (
        reason if isinstance(reason, str) and reason in _REASONS else rules.CHANGED,
        seq if type(seq) is int and 0 <= seq <= watch.through_seq else watch.through_seq,
    )


def _answer(given: list[Given], asked: list[str]) -> WorkflowRequeueResponse:
    by_id = {one.entity_id: one for one in given}
    dues = [one.not_before_ms for one in given if one.not_before_ms is not None]
    return WorkflowRequeueResponse(
        attempt=max(one.attempt for one in given),
        not_before=rfc3339(max(dues)) if dues else None,
        requeued=[iri.of_entity(id) for id in asked if by_id[id].not_before_ms is not None],
        exhausted=[iri.of_entity(id) for id in asked if by_id[id].not_before_ms is None],
    )
