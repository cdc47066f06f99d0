"""Steps: begun, reported on, saved."""

import msgspec
from msgspec import UNSET, Raw

from turnbuckle.engine import ids
from turnbuckle.engine import operation as operation_rules
from turnbuckle.engine import run as run_rules
from turnbuckle.engine import step as rules
from turnbuckle.engine import turn as turn_rules
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.step import NULL, Step
from turnbuckle.operations import hub_turn, size
from turnbuckle.operations.inbox import Inbox
from turnbuckle.operations.turn import NOTHING, Changed
from turnbuckle.store import step as steps
from turnbuckle.store.transaction import Durability, Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.brief import BriefOperation, BriefTurn
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.step import (
    WorkflowTurnCheckpointRequest,
    WorkflowTurnOperationRequest,
    WorkflowTurnProgressRequest,
)
from turnbuckle.wire.value import fingerprint


def begin(tx: Transaction, graph_id: str, request: WorkflowTurnOperationRequest) -> Changed:
    """Begin a step function; the brief answer is its resume cursor. The same request again changes nothing."""
    _check_timeouts(request)
    inbox = Inbox.of_holder(tx, graph_id, request.workflow_id, request.turn, request.token)
    assert inbox.head is not None
    near = steps.near(tx, inbox.head, request.position, request.key)
    for saved in near:
        rules.check_order(request.position, request.key, "step", saved)
    rules.check_position(request.position, inbox.head.step_count, request.key)
    for saved in near:
        rules.check_key(request.key, request.position, saved.position)
    asked = Operation(
        graph_id=graph_id,
        instance_id=request.workflow_id,
        turn=request.turn,
        position=request.position,
        key=request.key,
        kind=request.kind,
        attempt=inbox.head.attempt,
        token_hash=ids.token_hash(request.token),
        started_at_ms=tx.now_ms,
        timeout_ms=request.timeout_ms,
        heartbeat_timeout_ms=request.heartbeat_timeout_ms,
        last_heartbeat_ms=tx.now_ms,
    )
    begun = operation_rules.begin(asked, inbox.operation)
    if begun is not inbox.operation:
        hub_turn.check_goes_on(tx, graph_id, request.workflow_id)
        hub_turn.post_events(tx, graph_id, request.workflow_id, request.events)
    inbox.put_operation(begun)
    inbox.save()
    brief = BriefTurn(operation=BriefOperation(checkpoint=Raw(begun.cursor)))
    return Changed(graph_id, request.workflow_id, request.turn, brief)


def _check_timeouts(request: WorkflowTurnOperationRequest) -> None:
    silence = request.heartbeat_timeout_ms
    if silence is not None and silence > request.timeout_ms:
        what = f"heartbeat_timeout_ms: got {silence}, expected at most timeout_ms {request.timeout_ms}"
        raise Refused("invalid_param", what, param="heartbeat_timeout_ms")


def progress(tx: Transaction, graph_id: str, request: WorkflowTurnProgressRequest) -> Changed:
    """Save a report and its cursor. A late or repeated one changes nothing and moves no deadline (P25)."""
    details = size.check("details", bytes(request.details), limits.DETAILS_BYTES)
    cursor = size.check("checkpoint", bytes(request.checkpoint), limits.CURSOR_BYTES)
    inbox = Inbox.of_holder(tx, graph_id, request.workflow_id, request.turn, request.token)
    running = operation_rules.check_key(inbox.running, request.key)
    typed = _typed(details)
    told = operation_rules.report(
        running, request.sequence, details, cursor, None if typed is None else details, tx.now_ms
    )
    inbox.put_operation(told)
    if told.cursor == running.cursor:
        tx.durability = Durability.PROGRESS
    if told is not running and typed is not None:
        _add_phase(tx, inbox, typed)
    inbox.save()
    return Changed(graph_id, request.workflow_id, request.turn, NOTHING)


class Typed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Progress details of the known shape (lbb-engine 5.6)."""

    phase: str
    done: int
    total: int | None = None
    unit: str | None = None


def _typed(details: bytes) -> Typed | None:
    """Untyped details are fine too: they are whatever the user sent."""
    try:
        typed = msgspec.json.decode(details, type=Typed)
    except msgspec.ValidationError:
        return None
    in_range = 0 <= typed.done <= limits.INT_MAX and 0 <= (typed.total or 0) <= limits.INT_MAX
    return typed if in_range and typed.phase else None


def _add_phase(tx: Transaction, inbox: Inbox, typed: Typed) -> None:
    assert inbox.head is not None
    phases = run_rules.add_phase(inbox.head.phases, msgspec.to_builtins(typed), tx.now_ms)
    if phases is not None:
        inbox.put(turn_rules.with_phases(inbox.head, phases, tx.now_ms))


def save(tx: Transaction, graph_id: str, request: WorkflowTurnCheckpointRequest) -> Changed:
    """Append a step's output, or a sleep, to the replay log. The same request again changes nothing (P11)."""
    output = NULL if request.output is UNSET else bytes(request.output)
    size.check("output", output, limits.OUTPUT_BYTES)
    _check_kind(request)
    asked = Step(
        graph_id,
        request.workflow_id,
        request.turn,
        request.position,
        request.key,
        request.kind,
        output,
        fingerprint(output),
        at_ms=0,
        delay_ms=request.delay_ms,
    )
    changed = Changed(graph_id, request.workflow_id, request.turn, NOTHING)
    inbox = Inbox.open(tx, graph_id, request.workflow_id)
    if not is_new(tx, inbox, asked, request.token):
        return changed
    head = inbox.check_held(request.turn, request.token)
    asked = msgspec.structs.replace(asked, at_ms=tx.now_ms)
    hub_turn.post_events(tx, graph_id, request.workflow_id, request.events)
    if request.kind == "sleep":
        assert request.delay_ms is not None
        steps.add(tx, msgspec.structs.replace(asked, wake_at_ms=tx.now_ms + request.delay_ms))
        inbox.put(turn_rules.sleep(head, request.delay_ms, tx.now_ms))
    else:
        steps.add(tx, asked)
        inbox.put(turn_rules.add_step(head, tx.now_ms))
    inbox.save()
    return changed


def _check_kind(request: WorkflowTurnCheckpointRequest) -> None:
    if request.kind == "signal":
        raise Refused("invalid_param", "kind: got 'signal', expected 'step' or 'sleep'", param="kind")
    if (request.kind == "sleep") != (request.delay_ms is not None):
        expected = "a delay for a sleep" if request.kind == "sleep" else "no delay for a step"
        raise Refused("invalid_param", f"delay_ms: got {request.delay_ms}, expected {expected}", param="delay_ms")


def is_new(tx: Transaction, inbox: Inbox, asked: Step, token: str) -> bool:
    """Whether the step is to be saved; False for a repeat, also when the first try gave up the lease.

    Refused(turn_lease_lost) before any conflict is told to a token that lost.
    """
    turn = inbox.turn(asked.turn)
    near = [] if turn is None else steps.near(tx, turn, asked.position, asked.key)
    saved = next((step for step in near if step.position == asked.position), None)
    if asked.kind != "step" and saved is not None and rules.is_same(asked, saved):
        return False
    head = inbox.check_held(asked.turn, token)
    if rules.is_saved(asked, saved):
        return False
    rules.check_position(asked.position, head.step_count, asked.key)
    for step in near:
        rules.check_key(asked.key, asked.position, step.position)
    return True
