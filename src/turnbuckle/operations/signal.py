"""Signals: waited for by a turn, sent from outside."""

import msgspec

from turnbuckle.engine import signal as rules
from turnbuckle.engine import step as step_rules
from turnbuckle.engine import turn as turn_rules
from turnbuckle.engine.signal import Signal
from turnbuckle.engine.step import UNHEARD, Step
from turnbuckle.engine.turn import LISTENING, Turn
from turnbuckle.operations import size
from turnbuckle.operations.inbox import Inbox
from turnbuckle.operations.step import is_new
from turnbuckle.operations.turn import Changed, no_turn
from turnbuckle.store import signal as signals
from turnbuckle.store import step as steps
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.step import WorkflowTurnWaitSignalRequest
from turnbuckle.wire.turn import WorkflowTurnSignalRequest
from turnbuckle.wire.value import fingerprint


def wait(tx: Transaction, graph_id: str, request: WorkflowTurnWaitSignalRequest) -> Changed:
    """Take a signal that is there and keep the lease, or give it up until one comes or the timeout.

    Registering the wait and looking for the signal are one transaction, so no signal falls between them.
    """
    changed = Changed(graph_id, request.workflow_id, request.turn)
    inbox = Inbox.open(tx, graph_id, request.workflow_id)
    asked = _step(graph_id, request)
    if not is_new(tx, inbox, asked, request.token):
        return changed
    head = inbox.check_held(request.turn, request.token)
    asked = msgspec.structs.replace(asked, at_ms=tx.now_ms, wake_at_ms=tx.now_ms + request.timeout_ms)
    early = signals.oldest(tx, head, request.name)
    if early is None:
        steps.add(tx, asked)
        inbox.put(turn_rules.listen(head, request.timeout_ms, tx.now_ms))
    else:
        steps.add(tx, step_rules.heard(asked, early.value, early.value_hash))
        signals.save(tx, early, rules.consume(early, request.key))
        inbox.put(turn_rules.add_step(head, tx.now_ms))
    inbox.save()
    return changed


def _step(graph_id: str, request: WorkflowTurnWaitSignalRequest) -> Step:
    """Saved as unheard from the start: when the timeout comes, nothing has to be written."""
    return Step(
        graph_id,
        request.workflow_id,
        request.turn,
        request.position,
        request.key,
        "signal",
        UNHEARD,
        fingerprint(UNHEARD),
        at_ms=0,
        delay_ms=request.timeout_ms,
        signal_name=request.name,
    )


def send(tx: Transaction, graph_id: str, request: WorkflowTurnSignalRequest) -> Changed:
    """Deliver to one turn, once under the event id; a waiting turn goes on at once."""
    value = size.check("value", bytes(request.value), limits.SIGNAL_BYTES)
    inbox = Inbox.open(tx, graph_id, request.workflow_id)
    turn = inbox.turn(request.turn)
    if turn is None:
        raise no_turn(inbox.instance, request.turn)
    changed = Changed(graph_id, request.workflow_id, request.turn)
    event_id = request.id.encode()
    arrived = Signal(
        graph_id,
        request.workflow_id,
        request.turn,
        event_id,
        turn.signal_count,
        request.name,
        value,
        fingerprint(value),
        tx.now_ms,
    )
    known = signals.find(tx, graph_id, request.workflow_id, request.turn, event_id)
    if rules.is_delivered(arrived, known):
        return changed
    rules.check_open(turn)
    _deliver(tx, inbox, turn, arrived)
    inbox.save()
    return changed


def _deliver(tx: Transaction, inbox: Inbox, turn: Turn, arrived: Signal) -> None:
    told = turn_rules.add_signal(turn, tx.now_ms)
    step = _waiting_step(tx, turn, arrived.name)
    if step is not None:
        arrived = rules.consume(arrived, step.key)
        steps.save(tx, step, step_rules.heard(step, arrived.value, arrived.value_hash))
        told = turn_rules.hear(told, tx.now_ms)
    signals.add(tx, arrived)
    if turn is inbox.head:
        inbox.put(told)
    else:
        inbox.put_behind(turn, told)


def _waiting_step(tx: Transaction, turn: Turn, name: str) -> Step | None:
    """The step that listens for `name` right now; a wait that has timed out stays timed out."""
    if turn.status != LISTENING or turn.ready_at_ms <= tx.now_ms:
        return None
    step = steps.at(tx, turn, turn.step_count - 1)
    return step if step is not None and step.signal_name == name else None
