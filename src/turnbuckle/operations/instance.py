"""Instances: started, sent to, controlled, read, deleted."""

import secrets

import msgspec
from msgspec import UNSET

from turnbuckle.engine import instance as rules
from turnbuckle.engine import message as message_rules
from turnbuckle.engine import turn as turn_rules
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.message import Message
from turnbuckle.engine.step import NULL
from turnbuckle.operations import answers, hub_turn, size, turn
from turnbuckle.operations.inbox import Inbox, missing
from turnbuckle.store import instance as instances
from turnbuckle.store import message as messages
from turnbuckle.store import turn as turns
from turnbuckle.store.transaction import Transaction
from turnbuckle.store.turn import Whole
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.instance import (
    WorkflowInboxByTypeQuery,
    WorkflowInboxByTypeResponse,
    WorkflowInboxInstance,
    WorkflowInboxMessage,
    WorkflowInboxQuery,
    WorkflowInboxResponse,
    WorkflowInstance,
    WorkflowInstanceControlRequest,
    WorkflowInstanceCreateRequest,
    WorkflowInstanceDeleteRequest,
    WorkflowInstanceDeleteResponse,
    WorkflowInstanceQuery,
    WorkflowInstancesQuery,
    WorkflowInstancesResponse,
    WorkflowMessageRequest,
)
from turnbuckle.wire.turn import WorkflowTurn
from turnbuckle.wire.value import fingerprint

_TOLD_OF_DELETION = 1_000  # who waits for a turn further behind waits until its time is up

# -- changing ----------------------------------------------------------------------------------------------------


def create(tx: Transaction, graph_id: str, request: WorkflowInstanceCreateRequest) -> WorkflowInstance:
    """A new instance, or the one that the same request made. Refused(conflict) when the id is in use otherwise."""
    state = NULL if request.state is UNSET else bytes(request.state)
    size.check("state", state, limits.STATE_BYTES)
    hub_turn.check_branch(tx, graph_id, request.id)
    asked = Instance(
        graph_id,
        request.id,
        secrets.token_hex(8),
        request.workflow_type,
        request.version,
        request.on_exhausted,
        request.lease_ms,
        request.max_attempts,
        _request_hash(request, state),
        tx.now_ms,
        tx.now_ms,
    )
    if instances.add(tx, asked):
        instances.add_state(tx, asked, 0, state)
        return answers.of_instance(asked, state, None, None, tx.now_ms)
    existing = instances.lock(tx, graph_id, request.id)
    if existing is None:  # deleted by another between the look and the lock: then the id is free again
        return create(tx, graph_id, request)
    rules.check_same_creation(existing, asked)
    return read(tx, existing)


def _request_hash(request: WorkflowInstanceCreateRequest, state: bytes) -> bytes:
    rest = (request.workflow_type, request.version, request.lease_ms, request.max_attempts, request.on_exhausted)
    return fingerprint(msgspec.json.encode([rest, msgspec.Raw(state)]))


def send(tx: Transaction, graph_id: str, request: WorkflowMessageRequest) -> turn.Changed | WorkflowTurn:
    """Admit the message once under its id. A paused or blocked instance admits too (P6)."""
    body = size.check("message", bytes(request.message), limits.MESSAGE_BYTES)
    origin = None if request.origin is None else msgspec.json.encode(request.origin)
    size.check("origin", origin or b"", limits.ORIGIN_BYTES)
    instance = instances.lock(tx, graph_id, request.workflow_id)
    if instance is None:
        raise missing(request.workflow_id)
    message_id = request.id.encode()
    known = messages.find(tx, graph_id, request.workflow_id, message_id)
    asked = Message(graph_id, request.workflow_id, 0, message_id, fingerprint(body), body, len(body), tx.now_ms)
    if message_rules.is_known(asked, known):
        assert known is not None
        return _admitted(instance, known)
    inbox = Inbox(tx, instance)
    admitted = turn.append(tx, inbox, asked, origin)
    inbox.save()
    return answers.of_turn(admitted, instance.version, [], [], tx.now_ms, None)  # a new turn has no steps, no signals


def _admitted(instance: Instance, known: Message) -> turn.Changed | WorkflowTurn:
    if known.number <= instance.pruned_through:
        return answers.stub(known, instance.version)
    return turn.Changed(known.graph_id, known.instance_id, known.number)


def control(tx: Transaction, graph_id: str, request: WorkflowInstanceControlRequest) -> WorkflowInstance:
    """What a person does to an instance (lbb-engine 3.10, P7, P8, P10, P15 to P17)."""
    inbox = Inbox.open(tx, graph_id, request.workflow_id)
    match request.action:
        case "pause":
            inbox.instance = rules.pause(inbox.instance, tx.now_ms)
        case "resume":
            inbox.instance = rules.resume(inbox.instance, tx.now_ms)
            _hurry(tx, inbox, request.action)
        case "wake":
            _hurry(tx, inbox, request.action)
        case "retry":
            head = rules.check_head(inbox.instance, inbox.head, _number(request), request.action)
            inbox.put(turn_rules.retry(head, tx.now_ms))
        case "skip":
            head = rules.check_head(inbox.instance, inbox.head, _number(request), request.action)
            inbox.put(turn_rules.skip(head, tx.now_ms))
        case "cancel_turn":
            _cancel(tx, inbox, _number(request))
    inbox.save()
    return read(tx, inbox.instance)


def _number(request: WorkflowInstanceControlRequest) -> int:
    """Required for what acts on a turn, so that a repeated command cannot hit the next one."""
    if request.turn is None:
        what = f"turn: got nothing, expected the number of the turn to {request.action}"
        raise Refused("invalid_param", what, param="turn")
    return request.turn


def _hurry(tx: Transaction, inbox: Inbox, action: str) -> None:
    if rules.may_hurry(inbox.head, action):
        assert inbox.head is not None
        inbox.put(turn_rules.hurry(inbox.head, tx.now_ms))


def _cancel(tx: Transaction, inbox: Inbox, number: int) -> None:
    """The head or any turn that waits behind it. Its holder learns it at the next call."""
    if inbox.head is not None and inbox.head.number == number:
        inbox.put(turn_rules.cancel(inbox.head, tx.now_ms))
        return
    behind = inbox.turn(number)
    if behind is None:
        raise turn.no_turn(inbox.instance, number)
    if behind.finished_at_ms is not None:
        raise Refused("conflict", f"cannot cancel turn {number}: it has finished ({behind.status})")
    inbox.put_behind(behind, turn_rules.cancel(behind, tx.now_ms))


def delete(tx: Transaction, graph_id: str, request: WorkflowInstanceDeleteRequest) -> WorkflowInstanceDeleteResponse:
    """Remove the instance with all it has. Its id can be created again, with other effect ids."""
    if instances.lock(tx, graph_id, request.workflow_id) is None:
        return WorkflowInstanceDeleteResponse(deleted=False)  # else one that is being made would lose half its rows
    for number in turns.unfinished(tx, graph_id, request.workflow_id, 0, _TOLD_OF_DELETION):
        tx.announce("finished", graph_id, request.workflow_id, str(number))
    hub_turn.note_deleted(tx, graph_id, request.workflow_id)
    return WorkflowInstanceDeleteResponse(deleted=instances.delete(tx, graph_id, request.workflow_id))


# -- reading -----------------------------------------------------------------------------------------------------


def get(tx: Transaction, graph_id: str, query: WorkflowInstanceQuery) -> WorkflowInstance:
    return read(tx, turn.find_instance(tx, graph_id, query.id), query.payloads)


def list_page(tx: Transaction, graph_id: str, query: WorkflowInstancesQuery) -> WorkflowInstancesResponse:
    """A page by id. With `status` a page may be shorter than its limit and still have a next one."""
    found = instances.page(tx, graph_id, query.workflow_type, query.after or "", query.limit + 1)
    page = found[: query.limit]
    shown = [read(tx, instance, query.payloads) for instance in page]
    return WorkflowInstancesResponse(
        instances=[one for one in shown if query.status in (None, one.status)],
        next_after=page[-1].instance_id if len(found) > query.limit else None,
    )


def inbox(tx: Transaction, graph_id: str, query: WorkflowInboxQuery) -> WorkflowInboxResponse:
    instance, head = turn.instance_as_of_now(tx, turn.find_instance(tx, graph_id, query.id), payloads=False)
    passed = instance.last_turn if instance.head is None else instance.head - 1  # all up to it have left the inbox
    numbers = turns.unfinished(tx, graph_id, query.id, max(query.after, passed), query.limit + 1)
    page = numbers[: query.limit]
    return WorkflowInboxResponse(
        workflow_id=instance.instance_id,
        workflow_type=instance.workflow_type,
        version=instance.version,
        status=rules.status(instance, None if head is None else head.turn, tx.now_ms),
        messages=[_inbox_message(tx, instance, number, query.payloads) for number in page],
        pending_messages=instance.pending,
        oldest_received_at_ms=None if head is None else head.message.received_at_ms,
        newest_received_at_ms=None if head is None else turns.newest_received_at(tx, graph_id, query.id),
        next_after=page[-1] if len(numbers) > query.limit else None,
    )


def inbox_by_type(tx: Transaction, graph_id: str, query: WorkflowInboxByTypeQuery) -> WorkflowInboxByTypeResponse:
    """Instances of the type that have unfinished turns; those without are counted, not shown."""
    found = instances.page(tx, graph_id, query.workflow_type, query.after or "", query.limit + 1)
    page = found[: query.limit]
    asked = [one for one in page if one.pending and query.version in (None, one.version)]
    busy = [(one, head) for one, head in (turn.instance_as_of_now(tx, one, payloads=False) for one in asked) if head]
    return WorkflowInboxByTypeResponse(
        workflow_type=query.workflow_type,
        version=query.version,
        identities=instances.count(tx, graph_id, query.workflow_type, query.version),
        instances=[_inbox_instance(tx, one, head) for one, head in busy],
        next_after=page[-1].instance_id if len(found) > query.limit else None,
    )


def read(tx: Transaction, instance: Instance, payloads: bool = True) -> WorkflowInstance:
    """One instance as of now, with the head of its inbox."""
    instance, head = turn.instance_as_of_now(tx, instance, payloads)
    state = instances.state(tx, instance) if payloads else NULL
    if head is None:
        return answers.of_instance(instance, state, None, None, tx.now_ms)
    return answers.of_instance(instance, state, turn.shown(tx, instance, head, payloads), head.turn, tx.now_ms)


def _inbox_message(tx: Transaction, instance: Instance, number: int, payloads: bool) -> WorkflowInboxMessage:
    whole = turn.load(tx, instance, number, payloads)
    if whole is None:
        raise missing(instance.instance_id)
    return answers.of_inbox_message(whole, tx.now_ms, payloads)


def _inbox_instance(tx: Transaction, instance: Instance, head: Whole) -> WorkflowInboxInstance:
    return WorkflowInboxInstance(
        workflow_id=instance.instance_id,
        version=instance.version,
        status=rules.status(instance, head.turn, tx.now_ms),
        pending_messages=instance.pending,
        oldest_received_at_ms=head.message.received_at_ms,
        head=answers.of_inbox_message(head, tx.now_ms, with_payload=False),
    )
