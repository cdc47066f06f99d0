"""What an execution learns from the turns of its engine instance, in the transaction that changes the turn.

The instance is locked before the execution. operations/inbox.py calls `note` for each turn that has ended; the
operations of steps and turns post the events that came with them (decisions 35 to 37).
"""

import uuid
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnbuckle.engine.turn import CANCELLED, COMPLETED, FAILED, Turn
from turnbuckle.hub import events as log_events
from turnbuckle.hub import execution as rules
from turnbuckle.store import hub_execution as executions
from turnbuckle.store.hub_rows import Data, Event, Execution
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.base import Request
from turnbuckle.wire.errors import Refused

PREFIX = "exec."
_ID_CHARS = 36
_NAMESPACE = uuid.UUID("6f1f4d0c-4b8e-5a2c-9a55-2f6f5a0f7d11")  # of event ids that follow from a key
_LAST_WORDS = (log_events.FLOW_EXITED, log_events.FLOW_ERROR)
TOPIC = ("hub",)  # announced when something of the hub is left to do


class RunEvent(Request, frozen=True, kw_only=True):
    """An event as the runner sends it. One `key` of an execution is one event, however often it is sent."""

    type: str
    message: str | UnsetType = UNSET
    attributes: Raw | UnsetType = UNSET
    key: str | UnsetType = UNSET
    component_id: str | UnsetType = UNSET  # whose value it is
    component_key: str | UnsetType = UNSET  # of one run of that component: what a fork names
    data: Raw | UnsetType = UNSET  # a value to keep beside the event, under the event's id


class RunError(msgspec.Struct, frozen=True):
    code: str
    message: str
    component_id: str | None = None


class RunResult(msgspec.Struct, frozen=True):
    """What the last turn of an execution completes with."""

    status: str = rules.COMPLETED
    error: RunError | None = None


def execution_id_of(instance_id: str) -> str | None:
    """The execution that the instance, or a branch of it, belongs to by its id."""
    if not instance_id.startswith(PREFIX):
        return None
    return instance_id[len(PREFIX) : len(PREFIX) + _ID_CHARS]


def rule_of(row: Execution) -> rules.Execution:
    """The row as the rules see it."""
    return rules.Execution(
        row.execution_id,
        row.session_id,
        row.revision_id,
        row.definition_id,
        row.status,
        row.created_at_us // 1_000,
        row.updated_at_us // 1_000,
        started_at_ms=_ms(row.started_at_us),
        ended_at_ms=_ms(row.ended_at_us),
        stop_by_ms=_ms(row.stop_by_us),
        stop_reason=row.stop_reason,
        document_sha256=row.sha256,
        parent_id=row.parent_id,
        depth=row.depth,
    )


def decided(row: Execution, after: rules.Execution) -> Execution:
    """The row as a rule left it."""
    return msgspec.structs.replace(
        row,
        status=after.status,
        updated_at_us=after.updated_at_ms * 1_000,
        started_at_us=_us(after.started_at_ms),
        ended_at_us=_us(after.ended_at_ms),
        stop_by_us=_us(after.stop_by_ms),
        stop_reason=after.stop_reason,
        sha256=after.document_sha256,
        error=row.error if after.error is None else msgspec.json.encode(after.error),
    )


# -- the end of a turn -------------------------------------------------------------------------------------------


def note(tx: Transaction, turn: Turn) -> None:
    """A turn has ended: the execution whose last turn it is has ended with it."""
    execution_id = execution_id_of(turn.instance_id)
    if execution_id is None or (turn.status == COMPLETED and turn.continued_to is not None):
        return
    row = executions.lock(tx, turn.graph_id, execution_id)
    if row is None or row.ended_at_us is not None:
        return
    if turn.instance_id == PREFIX + execution_id:
        ended = end(tx, row, rules.after_turn(rule_of(row), turn.status, _error(turn), tx.now_ms))
        executions.save(tx, row, ended)
    elif turn.status == FAILED:
        _lose_branch(tx, row, turn)


def note_deleted(tx: Transaction, graph_id: str, instance_id: str) -> None:
    """Somebody deletes the engine's instance: the execution whose it is has been stopped."""
    execution_id = execution_id_of(instance_id)
    row = None if execution_id is None else executions.lock(tx, graph_id, execution_id)
    if row is not None and row.ended_at_us is None and instance_id == PREFIX + row.execution_id:
        executions.save(tx, row, end(tx, row, rules.after_turn(rule_of(row), CANCELLED, None, tx.now_ms)))


def end(tx: Transaction, row: Execution, after: rules.Execution) -> Execution:
    """The row of an execution that ends, with its last event; those who wait for it are told by upkeep."""
    ended = decided(row, after)
    tx.announce(*TOPIC)
    if ended.status == rules.STOPPED:
        last = log_events.flow_stopped(ended.stop_reason or "stopped")
        return add_event(tx, ended, last.type, last.message, msgspec.json.encode(last.attributes))
    if ended.status == rules.FAILED and after.error is not None and after.error.code == _LOST:
        attributes = msgspec.json.encode({"status": rules.FAILED, "code": _LOST})
        return add_event(tx, ended, log_events.FLOW_ERROR, after.error.message, attributes)
    return ended  # the runner has told how it ended


_LOST = "attempts_exhausted"


def _error(turn: Turn) -> rules.ExecutionError | None:
    if turn.status == CANCELLED:
        return None
    if turn.status == FAILED:
        why = (turn.error or b"").decode(errors="replace")
        return rules.ExecutionError(_LOST, f"The run was given up: {why}")
    result = _result(turn)
    if result.status == rules.COMPLETED:
        return None
    error = result.error or RunError("failed", "The run failed")
    return rules.ExecutionError(error.code, error.message, error.component_id)


def _result(turn: Turn) -> RunResult:
    """Whatever else completed the turn, it completed."""
    try:
        return msgspec.json.decode(turn.result or b"{}", type=RunResult)
    except msgspec.ValidationError:
        return RunResult()


def _lose_branch(tx: Transaction, row: Execution, turn: Turn) -> None:
    """A branch without attempts left never signals its parent: upkeep ends the run, which then has failed."""
    why = (turn.error or b"").decode(errors="replace")
    error = rules.ExecutionError(_LOST, f"A branch of the run was given up: {why}")
    failed = end(tx, row, rules.fail(rule_of(row), error, tx.now_ms))
    executions.save(tx, row, failed)


# -- events ------------------------------------------------------------------------------------------------------


def check_goes_on(tx: Transaction, graph_id: str, instance_id: str) -> None:
    """Before a component begins. Refused(turn_lease_lost) when its run is being stopped, or has ended."""
    execution_id = execution_id_of(instance_id)
    row = None if execution_id is None else executions.get(tx, graph_id, execution_id)
    if row is not None and row.status not in (rules.CREATING, rules.RUNNING):
        raise Refused("turn_lease_lost", f"the execution {execution_id} is {row.status}")


def check_branch(tx: Transaction, graph_id: str, instance_id: str) -> None:
    """Before a branch is made. Refused(conflict) when its run has ended: nobody would end the branch any more."""
    execution_id = execution_id_of(instance_id)
    row = None if execution_id is None else executions.lock(tx, graph_id, execution_id)
    if row is not None and row.ended_at_us is not None:
        raise Refused("conflict", f"the execution {execution_id} is {row.status}: it takes no further branches")


def post_events(tx: Transaction, graph_id: str, instance_id: str, events: Sequence[Raw] | None) -> None:
    """Save what came with a request of the runner. Refused(invalid_param | payload_too_large)."""
    execution_id = execution_id_of(instance_id)
    if not events or execution_id is None:
        return
    row = executions.lock(tx, graph_id, execution_id)
    if row is not None:
        executions.save(tx, row, with_events(tx, row, events))


def with_events(tx: Transaction, row: Execution, events: Sequence[Raw]) -> Execution:
    """The locked row after the events. A run that is being stopped has its last words from the server."""
    told = row
    for event in (_read(raw) for raw in events):
        if row.status not in (rules.CREATING, rules.RUNNING) and event.type in _LAST_WORDS:
            continue
        told = _post(tx, told, event)
    return told


def _read(raw: Raw) -> RunEvent:
    if len(bytes(raw)) > hub_limits.EVENT_BYTES + hub_limits.VALUE_BYTES:
        raise Refused("payload_too_large", f"events: got one of {len(bytes(raw))} bytes", param="events")
    try:
        return msgspec.json.decode(raw, type=RunEvent)
    except msgspec.ValidationError as exc:
        raise Refused("invalid_param", f"events: {exc}", param="events") from exc


def _post(tx: Transaction, row: Execution, event: RunEvent) -> Execution:
    message = event.message if isinstance(event.message, str) else None
    attributes = bytes(event.attributes) if isinstance(event.attributes, Raw) else None
    event_id = str(uuid.uuid5(_NAMESPACE, f"{row.execution_id}/{event.key}")) if event.key is not UNSET else None
    has_data = isinstance(event.data, Raw)
    told = add_event(tx, row, event.type, message, attributes, event_id, has_data=has_data)
    if isinstance(event.data, Raw) and told is not row:
        kept = Data(
            row.graph_id,
            row.execution_id,
            told.events,
            event_id or _random(told),
            _bytes(event.component_id),
            _bytes(event.component_key),
            bytes(event.data),
            told.last_at_us,
        )
        executions.add_data(tx, kept)
    return told


def _bytes(text: str | UnsetType) -> bytes | None:
    return text.encode() if isinstance(text, str) else None


def _random(row: Execution) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{row.execution_id}#{row.events}"))


def add_event(
    tx: Transaction,
    row: Execution,
    type: str,
    message: str | None,
    attributes: bytes | None = None,
    event_id: str | None = None,
    *,
    has_data: bool = False,
) -> Execution:
    """The locked row after the event: the same row when the event was told before. Times never fall (decision 38)."""
    if len(message or "") + len(attributes or b"") > hub_limits.EVENT_BYTES:
        raise Refused("payload_too_large", f"events: got one over {hub_limits.EVENT_BYTES} bytes", param="events")
    told = msgspec.structs.replace(row, last_at_us=max(tx.now_ms * 1_000, row.last_at_us), events=row.events + 1)
    id = event_id or _random(told)
    text = None if message is None else message.encode()
    event = Event(
        row.graph_id,
        row.execution_id,
        told.last_at_us,
        told.events,
        id,
        type,
        text,
        attributes,
        id if has_data else None,
    )
    return told if executions.add_event(tx, event) else row


def _ms(at_us: int | None) -> int | None:
    return None if at_us is None else at_us // 1_000


def _us(at_ms: int | None) -> int | None:
    return None if at_ms is None else at_ms * 1_000
