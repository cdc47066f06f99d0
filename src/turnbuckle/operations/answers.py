"""Rows as the wire shows them, as of now."""

import json
from collections.abc import Collection, Sequence

import msgspec
from msgspec import Raw

from turnbuckle.engine import effect as effect_rules
from turnbuckle.engine import instance as instance_rules
from turnbuckle.engine import turn as turn_rules
from turnbuckle.engine.effect import Effect
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.message import Message
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.run import Run
from turnbuckle.engine.signal import Signal
from turnbuckle.engine.step import NULL, Step
from turnbuckle.engine.turn import DEFERRED, HELD, LISTENING, Turn
from turnbuckle.store.turn import Whole
from turnbuckle.wire.effect import WorkflowEffect
from turnbuckle.wire.instance import WorkflowInboxMessage, WorkflowInstance
from turnbuckle.wire.moment import rfc3339
from turnbuckle.wire.run import WorkflowRunPhase, WorkflowRunStep, WorkflowRunSummary, WorkflowRunUsage, WorkflowTurnRun
from turnbuckle.wire.step import WorkflowProgress, WorkflowStepCheckpoint, WorkflowTurnOperation
from turnbuckle.wire.turn import TurnStatus, WorkflowTurn, WorkflowTurnSignal, WorkflowTurnWait


def of_turn(
    whole: Whole,
    version: str,
    log: list[Step],
    signals: list[Signal],
    now_ms: int,
    state_after: bytes | None,
    effects: Sequence[Effect] = (),
) -> WorkflowTurn:
    """`whole.turn` is as of now already."""
    turn, message = whole.turn, whole.message
    operation = whole.operation if turn_rules.is_running(turn, whole.operation) else None
    return WorkflowTurn(
        workflow_id=turn.instance_id,
        number=turn.number,
        message_id=text(message.message_id),
        message=Raw(message.body or NULL),
        version=version,
        status=status(turn, now_ms),
        attempt=turn.attempt,
        created_at_ms=turn.created_at_ms,
        updated_at_ms=turn.updated_at_ms,
        ready_at_ms=turn.ready_at_ms,
        steps=[of_step(step, _is_waiting_at(turn, step, now_ms)) for step in log],
        result=Raw(turn.result or NULL),
        state_after=Raw(state_after or NULL),
        sequence=turn.sequence + (0 if whole.operation is None else whole.operation.changes),
        origin=None if turn.origin is None else Raw(turn.origin),
        worker=None if turn.worker is None or turn.status != HELD else turn.worker.decode(),
        deadline_ms=turn.lease_until_ms,
        finished_at_ms=turn.finished_at_ms,
        operation=None if operation is None else _operation(operation),
        progress=None if operation is None else progress(operation),
        signals=[_signal(signal) for signal in signals] or None,
        effects=_effects(whole, log, effects) or None,
        wait=_wait(turn),
        error=None if turn.error is None else turn.error.decode(),
        continued_to=turn.continued_to,
        run=_run(turn),
    )


def stub(message: Message, version: str) -> WorkflowTurn:
    """What is still known of a pruned turn: its number and its message id (decision 7)."""
    return WorkflowTurn(
        workflow_id=message.instance_id,
        number=message.number,
        message_id=text(message.message_id),
        message=Raw(NULL),
        version=version,
        status="completed",
        attempt=0,
        created_at_ms=message.received_at_ms,
        updated_at_ms=message.received_at_ms,
        ready_at_ms=message.received_at_ms,
        steps=[],
        result=Raw(NULL),
        state_after=Raw(NULL),
        sequence=0,
    )


def status(turn: Turn, now_ms: int) -> TurnStatus:
    """The wire's word: a turn whose time has come is queued again."""
    if turn.status == HELD:
        return "running"
    if turn.has_ended:
        return turn.status  # type: ignore[return-value]  # the three words are the same on both sides
    return "waiting" if turn.status in turn_rules.WAITING and turn.ready_at_ms > now_ms else "queued"


def of_step(step: Step, is_waiting: bool) -> WorkflowStepCheckpoint:
    """A wait for a signal shows no output while it lasts; saved is what the timeout will make of it."""
    return WorkflowStepCheckpoint(
        key=step.key,
        kind=step.kind,  # type: ignore[arg-type]  # checked at the door
        output=Raw(NULL if is_waiting else step.output),
        at_ms=step.at_ms,
        delay_ms=step.delay_ms,
        signal_name=step.signal_name,
        wake_at_ms=step.wake_at_ms,
    )


def _is_waiting_at(turn: Turn, step: Step, now_ms: int) -> bool:
    is_last = step.position == turn.step_count - 1
    return turn.status == LISTENING and is_last and turn.ready_at_ms > now_ms


def _operation(operation: Operation) -> WorkflowTurnOperation:
    return WorkflowTurnOperation(
        key=operation.key,
        kind=operation.kind,  # type: ignore[arg-type]  # checked at the door
        attempt=operation.attempt,
        started_at_ms=operation.started_at_ms,
        deadline_ms=operation.deadline_ms,
        timeout_ms=operation.timeout_ms,
        heartbeat_timeout_ms=operation.heartbeat_timeout_ms,
        last_heartbeat_ms=operation.last_heartbeat_ms,
        sequence=operation.sequence,
        details=Raw(operation.details),
        checkpoint=Raw(operation.cursor),
    )


def progress(operation: Operation) -> WorkflowProgress | None:
    """The last typed progress (decision 12)."""
    if operation.progress is None or operation.progress_at_ms is None:
        return None
    typed = json.loads(operation.progress)
    return WorkflowProgress(
        phase=typed["phase"],
        done=typed["done"],
        total=typed.get("total"),
        unit=typed.get("unit"),
        started_at=rfc3339(operation.started_at_ms),
        heartbeat_at=rfc3339(operation.progress_at_ms),
    )


def _effects(whole: Whole, log: list[Step], effects: Sequence[Effect]) -> list[WorkflowEffect]:
    saved = {step.key for step in log}
    return [of_effect(effect, whole.turn, whole.operation, saved) for effect in effects]


def of_effect(effect: Effect, turn: Turn, operation: Operation | None, saved: Collection[str]) -> WorkflowEffect:
    """`turn` is as of now, `saved` has the keys of its steps."""
    return WorkflowEffect(
        id=f"eff_{effect.number}",
        workflow_id=effect.instance_id,
        turn=effect.turn,
        step=effect.step,
        effect_id=effect.effect_id,
        kind=effect.kind,
        target=effect.target.decode(),
        state=effect_rules.state(effect, turn, operation, saved),
        attempt=effect.attempt,
        attempts=effect.attempts,
        intended_at_ms=effect.intended_at_ms,
        confirmed_at_ms=effect.confirmed_at_ms,
    )


def _signal(signal: Signal) -> WorkflowTurnSignal:
    return WorkflowTurnSignal(
        id=signal.event_id.decode(),
        name=signal.name,
        value=Raw(signal.value),
        at_ms=signal.at_ms,
        consumed_by=signal.consumed_by,
    )


def _wait(turn: Turn) -> WorkflowTurnWait | None:
    if turn.status != DEFERRED or turn.wait_since_ms is None:
        return None
    return WorkflowTurnWait(since_ms=turn.wait_since_ms, until_ms=turn.ready_at_ms)


def _run(turn: Turn) -> WorkflowTurnRun | None:
    if turn.run_id is None or turn.run_started_at_ms is None:
        return None
    return WorkflowTurnRun(
        id=turn.run_id,
        started_at_ms=turn.run_started_at_ms,
        ended_at_ms=turn.run_ended_at_ms,
        queue_before=turn.queue_before or 0,
        queue_after=turn.queue_after,
        phases=_phases(turn.phases),
        usage=_usage(turn.usage),
    )


def of_instance(
    instance: Instance, state: bytes, head: WorkflowTurn | None, head_turn: Turn | None, now_ms: int
) -> WorkflowInstance:
    return WorkflowInstance(
        id=instance.instance_id,
        workflow_type=instance.workflow_type,
        version=instance.version,
        state=Raw(state),
        status=instance_rules.status(instance, head_turn, now_ms),
        pending_messages=instance.pending,
        completed_turns=instance.completed,
        history_through=instance.last_turn if instance.head is None else instance.head - 1,
        sequence=instance.sequence + (0 if head is None else head.sequence),
        created_at_ms=instance.created_at_ms,
        updated_at_ms=instance.updated_at_ms,
        lease_ms=instance.lease_ms,
        max_attempts=instance.max_attempts,
        # A literal: msgspec leaves off a text that is its default only when it is the same object, not an equal one.
        on_exhausted="skip" if instance.on_exhausted == "skip" else "block",
        current_turn=head,
        progress=None if head is None else head.progress,
        history_pruned_through=instance.pruned_through,
    )


def of_inbox_message(whole: Whole, now_ms: int, with_payload: bool) -> WorkflowInboxMessage:
    turn, message = whole.turn, whole.message
    operation = whole.operation if turn_rules.is_running(turn, whole.operation) else None
    return WorkflowInboxMessage(
        turn=turn.number,
        message_id=text(message.message_id),
        status=status(turn, now_ms),  # type: ignore[arg-type]  # only unfinished turns are in the inbox
        attempt=turn.attempt,
        received_at_ms=message.received_at_ms,
        ready_at_ms=turn.ready_at_ms,
        message_bytes=message.body_bytes,
        message=Raw(message.body or NULL) if with_payload else None,
        origin=None if turn.origin is None else Raw(turn.origin),
        error=None if turn.error is None else turn.error.decode(),
        progress=None if operation is None else progress(operation),
        wait=_wait(turn),
    )


def of_run(run: Run) -> WorkflowRunSummary:
    return WorkflowRunSummary(
        id=run.run_id,
        workflow=run.workflow,
        identity=run.instance_id,
        turn=run.turn,
        workflow_type=run.workflow_type,
        version=run.version,
        attempts=run.attempt,
        started_at_ms=run.started_at_ms,
        ended_at_ms=run.ended_at_ms,
        outcome=run.outcome,  # type: ignore[arg-type]  # made by engine.run.outcome
        error=None if run.error is None else run.error.decode(errors="replace"),
        queue_before=run.queue_before,
        queue_after=run.queue_after,
        steps=msgspec.json.decode(run.steps, type=list[WorkflowRunStep]),
        phases=_phases(run.phases),
        origin=None if run.origin is None else Raw(run.origin),
        counters=None if run.counters is None else json.loads(run.counters),
        sample=None if run.sample is None else json.loads(run.sample),
        units=run.units,
        unit=run.unit,
        usage=_usage(run.usage),
    )


def _phases(phases: bytes | None) -> list[WorkflowRunPhase]:
    return msgspec.json.decode(phases, type=list[WorkflowRunPhase]) if phases else []


def _usage(usage: bytes | None) -> WorkflowRunUsage | None:
    return msgspec.json.decode(usage, type=WorkflowRunUsage) if usage else None


def text(message_id: bytes) -> str:
    """A message id as people see it: the mark of a continuation is for the store only."""
    return message_id.decode().removeprefix("\x01")
