"""Turns: claimed, renewed, completed, failed, and read."""

import secrets
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Raw

from turnbuckle.engine import ids
from turnbuckle.engine import instance as instance_rules
from turnbuckle.engine import turn as rules
from turnbuckle.engine.effect import Effect
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.message import Message
from turnbuckle.engine.turn import COMPLETED, Turn
from turnbuckle.operations import answers, hub_turn, size
from turnbuckle.operations.inbox import Inbox, missing
from turnbuckle.store import effect as effects
from turnbuckle.store import instance as instances
from turnbuckle.store import message as messages
from turnbuckle.store import signal as signals
from turnbuckle.store import step as steps
from turnbuckle.store import turn as turns
from turnbuckle.store.transaction import Durability, Topic, Transaction
from turnbuckle.store.turn import Whole
from turnbuckle.wire import limits
from turnbuckle.wire.base import Json
from turnbuckle.wire.brief import BriefTurn
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.turn import (
    WorkflowMessageOrigin,
    WorkflowTurn,
    WorkflowTurnClaimRequest,
    WorkflowTurnClaimResponse,
    WorkflowTurnCompleteRequest,
    WorkflowTurnFailRequest,
    WorkflowTurnHistoryQuery,
    WorkflowTurnHistoryResponse,
    WorkflowTurnLeaseRequest,
    WorkflowTurnQuery,
    WorkflowTurnTask,
)
from turnbuckle.wire.value import fingerprint


class Changed(msgspec.Struct, frozen=True):
    """A turn that an operation changed; `answer` gives it whole. `brief` is all a worker reads; None: the whole."""

    graph_id: str
    instance_id: str
    number: int
    brief: BriefTurn | None = None


NOTHING = BriefTurn()


# -- worker ------------------------------------------------------------------------------------------------------


def claim(tx: Transaction, graph_id: str, request: WorkflowTurnClaimRequest) -> WorkflowTurnClaimResponse:
    """The next ready turn of the named pairs, held by the worker; no task when none is ready.

    Inside a pair the one that has been ready longest comes first; the pairs take turns by a random start (P18).
    """
    if request.include_execution_credential:
        raise Refused("execution_credentials_disabled", "this server gives no execution credentials")
    first = secrets.randbelow(len(request.workflows))
    for pair in request.workflows[first:] + request.workflows[:first]:
        while (instance := instances.pick(tx, graph_id, pair.workflow_type, pair.version)) is not None:
            task = _hold(tx, instance, request.worker.encode())
            if task is not None:
                return WorkflowTurnClaimResponse(task=task)
    return WorkflowTurnClaimResponse(task=None)


def _hold(tx: Transaction, instance: Instance, worker: bytes) -> WorkflowTurnTask | None:
    """The head as held; None when settling it left nothing that is ready: it is then no longer picked."""
    assert instance.head is not None  # only an instance with a head is claimable
    whole = turns.task(tx, instance.graph_id, instance.instance_id, instance.head, instance.state_turn)
    inbox = Inbox(tx, instance, (whole.turn, whole.operation))
    if inbox.head is None or inbox.head.has_ended or inbox.head.ready_at_ms > tx.now_ms:
        inbox.save()
        return None
    if inbox.head.number != whole.turn.number:  # settling moved on to the next turn
        whole = turns.task(tx, instance.graph_id, instance.instance_id, inbox.head.number, instance.state_turn)
    token, now_ms = secrets.token_urlsafe(32), tx.now_ms
    queue, lease_ms = inbox.instance.pending, instance.lease_ms
    inbox.put(rules.claim(inbox.head, worker, ids.token_hash(token), lease_ms, queue, now_ms))
    inbox.save()
    return _task(tx, instance, msgspec.structs.replace(whole, turn=inbox.head), token)


def _task(tx: Transaction, instance: Instance, whole: Whole, token: str) -> WorkflowTurnTask:
    assert whole.state is not None
    prefix = ids.effect_prefix(instance.graph_id, instance.incarnation, whole.turn.number, whole.message.message_id)
    return WorkflowTurnTask(
        workflow_type=instance.workflow_type,
        state=Raw(whole.state),
        token=token,
        lease_ms=instance.lease_ms,
        effect_prefix=prefix,
        turn=_answer(tx, whole, instance.version, state_after=None),
        results_max=limits.INPUTS_PER_RUN,
    )


def heartbeat(tx: Transaction, graph_id: str, request: WorkflowTurnLeaseRequest) -> Changed:
    inbox = Inbox.of_holder(tx, graph_id, request.workflow_id, request.turn, request.token)
    assert inbox.head is not None
    inbox.put(rules.renew(inbox.head, inbox.instance.lease_ms, tx.now_ms))
    tx.durability = Durability.HEARTBEAT
    inbox.save()
    return Changed(graph_id, request.workflow_id, request.turn, NOTHING)


def complete(tx: Transaction, graph_id: str, request: WorkflowTurnCompleteRequest) -> Changed:
    """State, result, history and continuation in one write; an exact repeat answers as the first did (P14)."""
    size.check("state", bytes(request.state), limits.STATE_BYTES)
    _check_results(request)
    changed = Changed(graph_id, request.workflow_id, request.turn, NOTHING)
    completion = _completion(request)
    inbox = Inbox.open(tx, graph_id, request.workflow_id)
    if _is_completed_by(tx, inbox, request.turn, completion):
        return changed
    head = inbox.check_held(request.turn, request.token)
    hub_turn.post_events(tx, graph_id, request.workflow_id, request.events)
    continued_to = _continue(tx, inbox, head, request)
    result = None if request.result is UNSET else bytes(request.result)
    instances.add_state(tx, inbox.instance, head.number, bytes(request.state))
    inbox.instance = msgspec.structs.replace(inbox.instance, state_turn=head.number)
    done = rules.complete(_with_usage(head, request), result, completion, continued_to, tx.now_ms)
    inbox.put(done, request.results)
    inbox.save()
    return changed


def _completion(request: WorkflowTurnCompleteRequest) -> bytes:
    """What makes two completions the same: the whole body, the token too. Another attempt's is not a repeat."""
    outcome = {
        name: value
        for name in ("token", "state", "result", "continuation", "usage", "results")
        if (value := getattr(request, name)) is not UNSET and value is not None
    }
    return fingerprint(msgspec.json.encode(outcome))


def _is_completed_by(tx: Transaction, inbox: Inbox, number: int, completion: bytes) -> bool:
    if number > inbox.instance.last_turn or (inbox.head is not None and inbox.head.number <= number):
        return False
    done = inbox.turn(number)
    return done is not None and done.status == COMPLETED and done.completion == completion


def _continue(tx: Transaction, inbox: Inbox, head: Turn, request: WorkflowTurnCompleteRequest) -> int | None:
    """Append the continuation at the inbox tail; its turn's number."""
    if request.continuation is None:
        return None
    body = size.check("continuation.message", bytes(request.continuation.message), limits.MESSAGE_BYTES)
    instance, before = inbox.instance, messages.get(tx, head.graph_id, head.instance_id, head.number)
    assert before is not None
    prefix = ids.effect_prefix(instance.graph_id, instance.incarnation, head.number, before.message_id)
    revision = None
    if head.origin is not None:
        revision = msgspec.json.decode(head.origin, type=WorkflowMessageOrigin).revision
    origin = WorkflowMessageOrigin(
        kind="continuation", message_id=answers.text(before.message_id), turn=head.number, revision=revision
    )
    where = (head.graph_id, head.instance_id, 0)
    asked = Message(*where, ids.continuation_id(prefix), fingerprint(body), body, len(body), tx.now_ms)
    return append(tx, inbox, asked, msgspec.json.encode(origin)).turn.number


def append(tx: Transaction, inbox: Inbox, message: Message, origin: bytes | None) -> Whole:
    """The message at the inbox tail, as its turn; it gets its number here."""
    number = inbox.instance.last_turn + 1
    admitted = msgspec.structs.replace(message, number=number)
    turn = rules.admit(message.graph_id, message.instance_id, number, origin, tx.now_ms)
    messages.add(tx, admitted)
    inbox.admit(turn)
    return Whole(turn, None, admitted, None)


def fail(tx: Transaction, graph_id: str, request: WorkflowTurnFailRequest) -> Changed:
    """With retry_at_ms an uncounted wait; else a counted failure, final when non_retryable."""
    if request.non_retryable and request.retry_at_ms is not None:
        what = "retry_at_ms: got it together with non_retryable true, expected one of them"
        raise Refused("invalid_param", what, param="retry_at_ms")
    _check_results(request)
    inbox = Inbox.of_holder(tx, graph_id, request.workflow_id, request.turn, request.token)
    assert inbox.head is not None
    hub_turn.post_events(tx, graph_id, request.workflow_id, request.events)
    head, error = _with_usage(inbox.head, request), request.error[: limits.ERROR_CHARS].encode()
    if request.retry_at_ms is not None:
        failed = rules.defer(head, error, request.retry_at_ms, tx.now_ms)
    else:
        failed = rules.fail(head, error, request.non_retryable, inbox.instance.max_attempts, tx.now_ms)
    inbox.put(failed, request.results)
    inbox.save()
    return Changed(graph_id, request.workflow_id, request.turn, NOTHING)


def give_up(tx: Transaction, graph_id: str, worker: str, most: int = 100) -> bool:
    """End the attempts of a worker that is known to be gone, as the ends of their leases would; whether more are left.

    Each counts: a message that kills its worker must not run for ever.
    """
    found = turns.held_by(tx, graph_id, rules.HELD, worker.encode(), most)
    for instance_id in found:
        inbox = Inbox.open(tx, graph_id, instance_id)
        if inbox.head is not None and inbox.head.status == rules.HELD:
            error = f"its worker {worker!r} ended without handing it back".encode()
            inbox.put(rules.fail(inbox.head, error, False, inbox.instance.max_attempts, tx.now_ms))
            inbox.save()
    return len(found) == most


def _check_results(request: WorkflowTurnCompleteRequest | WorkflowTurnFailRequest) -> None:
    if request.results is not None:
        size.check("results", msgspec.json.encode(request.results), limits.RESULTS_BYTES)


def _with_usage(turn: Turn, request: WorkflowTurnCompleteRequest | WorkflowTurnFailRequest) -> Turn:
    return rules.with_usage(turn, None if request.usage is None else msgspec.json.encode(request.usage))


# -- reading -----------------------------------------------------------------------------------------------------


def answer(tx: Transaction, changed: Changed) -> WorkflowTurn:
    """The whole turn after a change."""
    instance = instances.get(tx, changed.graph_id, changed.instance_id)
    assert instance is not None
    return read(tx, instance, changed.number)


def get(tx: Transaction, graph_id: str, query: WorkflowTurnQuery) -> WorkflowTurn:
    instance = find_instance(tx, graph_id, query.id)
    return read(tx, instance, query.turn)


def status(tx: Transaction, graph_id: str, query: WorkflowTurnQuery) -> str:
    """The turn's state as of now; nothing that users put in is read."""
    instance = find_instance(tx, graph_id, query.id)
    whole = load(tx, instance, query.turn, payloads=False)
    if whole is None:
        raise no_turn(instance, query.turn)
    return whole.turn.status


def get_settled(tx: Transaction, graph_id: str, query: WorkflowTurnQuery) -> WorkflowTurn:
    """The same when what time has decided is written.

    A reader may be ahead of a renewal that is just being committed, and call a turn failed that goes on.
    """
    Inbox.open(tx, graph_id, query.id).save()
    return get(tx, graph_id, query)


def history(tx: Transaction, graph_id: str, query: WorkflowTurnHistoryQuery) -> WorkflowTurnHistoryResponse:
    instance = find_instance(tx, graph_id, query.id)
    numbers = turns.finished(tx, graph_id, query.id, query.after, query.limit + 1)
    passed = _passed_over(tx, instance)
    if passed is not None and passed > query.after:
        numbers = sorted([passed, *numbers])[: query.limit + 1]
    page = numbers[: query.limit]
    return WorkflowTurnHistoryResponse(
        turns=[read(tx, instance, number, query.payloads) for number in page],
        next_after=page[-1] if len(numbers) > query.limit else None,
    )


def read(tx: Transaction, instance: Instance, number: int, payloads: bool = True) -> WorkflowTurn:
    """One turn as of now. Refused(turn_not_found) when it is unknown or pruned."""
    whole = load(tx, instance, number, payloads)
    if whole is None:
        raise no_turn(instance, number)
    return shown(tx, instance, whole, payloads)


def load(tx: Transaction, instance: Instance, number: int, payloads: bool) -> Whole | None:
    """One turn as of now; without `payloads` no user's value is read."""
    find = turns.read if payloads else turns.outline
    whole = find(tx, instance.graph_id, instance.instance_id, number)
    return None if whole is None else as_of_now(tx, instance, whole)


def shown(tx: Transaction, instance: Instance, whole: Whole, payloads: bool) -> WorkflowTurn:
    """`whole` with its steps, signals and effects, as the wire shows it."""
    did = effects.of_turn(tx, instance.graph_id, instance.instance_id, whole.turn.number)
    if payloads:
        return _answer(tx, whole, instance.version, whole.state, did)
    log, heard = steps.outline(tx, whole.turn), signals.outline(tx, whole.turn)
    return answers.of_turn(whole, instance.version, log, heard, tx.now_ms, None, did)


def as_of_now(tx: Transaction, instance: Instance, whole: Whole) -> Whole:
    """The same for a reader, who may not settle what time has decided."""
    settled = rules.as_of(whole.turn, whole.operation, instance.max_attempts, tx.now_ms)
    return msgspec.structs.replace(whole, turn=instance_rules.conclude(instance, whole.turn, settled))


def instance_as_of_now(tx: Transaction, instance: Instance, payloads: bool) -> tuple[Instance, Whole | None]:
    """The instance and its head for a reader: a turn that time has let go of is passed over, as the next claim will."""
    while instance.head is not None:
        whole = load(tx, instance, instance.head, payloads)
        assert whole is not None
        gone, finished_at_ms = whole.turn, whole.turn.finished_at_ms
        if finished_at_ms is None:
            return instance, whole
        following = turns.next_unfinished(tx, instance.graph_id, instance.instance_id, gone.number)
        number = None if following is None else following[0].number
        changes = 0 if whole.operation is None else whole.operation.changes
        instance = instance_rules.let_go(instance, gone, changes, number, finished_at_ms)
    return instance, None


def _passed_over(tx: Transaction, instance: Instance) -> int | None:
    """The stored head's number, when time has let go of it."""
    settled, _ = instance_as_of_now(tx, instance, payloads=False)
    return None if settled.head == instance.head else instance.head


def find_instance(tx: Transaction, graph_id: str, instance_id: str) -> Instance:
    instance = instances.get(tx, graph_id, instance_id)
    if instance is None:
        raise missing(instance_id)
    return instance


def no_turn(instance: Instance, number: int) -> Refused:
    if 0 < number <= instance.pruned_through:
        first = instance.pruned_through + 1
        what = f"turn {number} of {instance.instance_id} was pruned; the history begins at {first}"
    else:
        what = f"{instance.instance_id} has no turn {number}; its last turn is {instance.last_turn}"
    return Refused("turn_not_found", what)


def _answer(
    tx: Transaction, whole: Whole, version: str, state_after: Json | bytes | None, did: Sequence[Effect] = ()
) -> WorkflowTurn:
    after = None if state_after is None else bytes(state_after)
    log, heard = steps.log(tx, whole.turn), signals.log(tx, whole.turn)
    return answers.of_turn(whole, version, log, heard, tx.now_ms, after, did)


# -- waiting for it ----------------------------------------------------------------------------------------------


def ready_topics(graph_id: str, request: WorkflowTurnClaimRequest) -> list[Topic]:
    """What a claim waits for: one topic per pair."""
    return [("ready", graph_id, pair.workflow_type, pair.version) for pair in request.workflows]


def next_ready_at(tx: Transaction, topics: list[Topic]) -> list[tuple[Topic, int]]:
    """When the next turn of each topic becomes ready, without those that none will."""
    times = [(topic, instances.next_claimable_at(tx, *topic[1:])) for topic in topics]
    return [(topic, at_ms) for topic, at_ms in times if at_ms is not None]


def has_ended(status: str) -> bool:
    return status in rules.ENDED
