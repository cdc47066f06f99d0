"""A run: one executed attempt as a record, written once, when it ends. Source: lbb-engine 4.10, P29, P35."""

import json
import re
from typing import Any

import msgspec

from turnbuckle.engine.instance import Instance
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import CANCELLED, COMPLETED, DEFERRED, RETRYING, Turn
from turnbuckle.wire.limits import INPUTS_PER_RUN, PHASES_PER_RUN, RUN_ERROR_CHARS
from turnbuckle.wire.run import WorkflowRunPhase, WorkflowRunResultsReport

_NAMED = re.compile(r"^starter\.([^.]+)(?:\.[^.]+)?$")
_BUDGET = "workflow_budget_exceeded"
_COUNTERS, _SAMPLES = 32, 20


class Run(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    turn: int
    run_id: str
    workflow: str
    workflow_type: str
    version: str
    attempt: int
    started_at_ms: int
    ended_at_ms: int
    outcome: str
    error: bytes | None
    queue_before: int
    queue_after: int
    steps: bytes  # [{key, at_ms}]
    phases: bytes
    origin: bytes | None
    counters: bytes | None
    sample: bytes | None
    units: int | None
    unit: str | None
    usage: bytes | None
    results: bytes | None


def named_workflow(instance_id: str) -> str:
    """`starter.<name>...` belongs to the named workflow; any other instance stands for itself."""
    match = _NAMED.match(instance_id)
    return match.group(1) if match else f"instance:{instance_id}"


def end(
    instance: Instance,
    turn: Turn,
    steps: bytes,
    operation: Operation | None,
    results: WorkflowRunResultsReport | None = None,
) -> Run:
    """The record of the run that `turn` has just ended."""
    assert turn.run_id is not None
    assert turn.run_started_at_ms is not None
    assert turn.run_ended_at_ms is not None
    progress = None if operation is None or operation.progress is None else json.loads(operation.progress)
    counters, sample = _from_result(turn.result)
    return Run(
        turn.graph_id,
        turn.instance_id,
        turn.number,
        turn.run_id,
        named_workflow(turn.instance_id),
        instance.workflow_type,
        instance.version,
        turn.attempt,
        turn.run_started_at_ms,
        turn.run_ended_at_ms,
        outcome(turn),
        None if turn.error is None else turn.error.decode()[:RUN_ERROR_CHARS].encode(),
        turn.queue_before or 0,
        turn.queue_after or 0,
        steps,
        turn.phases or b"[]",
        turn.origin,
        counters,
        sample,
        progress["done"] if progress else None,
        progress.get("unit") if progress else None,
        turn.usage,
        None if results is None else msgspec.json.encode(_kept(results)),
    )


def outcome(turn: Turn) -> str:
    """How the run ended, in one word (P29)."""
    if turn.status == COMPLETED:
        return "done" if turn.continued_to is None else "more"
    if turn.status == CANCELLED:
        return "cancelled"
    if turn.status == RETRYING:
        return "retried"
    if turn.status == DEFERRED:
        return "budget" if _BUDGET in (turn.error or b"").decode() else "paused"
    return "failed"


def _kept(results: WorkflowRunResultsReport) -> WorkflowRunResultsReport:
    return msgspec.structs.replace(results, inputs=results.inputs[:INPUTS_PER_RUN])


def _from_result(result: bytes | None) -> tuple[bytes | None, bytes | None]:
    """The `counters` and `sample` that a turn's result names, where it has them in the right shape."""
    if result is None or (b'"counters"' not in result and b'"sample"' not in result):
        return None, None
    value = json.loads(result)
    if not isinstance(value, dict):
        return None, None
    counters, sample = value.get("counters"), value.get("sample")
    named = {k: v for k, v in counters.items() if type(v) is int} if isinstance(counters, dict) else {}
    texts = [s for s in sample if isinstance(s, str)] if isinstance(sample, list) else []
    return (
        _json(dict(list(named.items())[:_COUNTERS])) if named else None,
        _json(texts[:_SAMPLES]) if texts else None,
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def add_phase(phases: bytes | None, progress: dict[str, Any], now_ms: int) -> bytes | None:
    """The run's phases after a typed report: one per new `phase` word, at most 32. None when nothing changed."""
    known = msgspec.json.decode(phases, type=list[WorkflowRunPhase]) if phases else []
    current = WorkflowRunPhase(
        phase=progress["phase"],
        started_at_ms=now_ms,
        ended_at_ms=now_ms,
        done=progress["done"],
        total=progress.get("total"),
        unit=progress.get("unit"),
    )
    if known and known[-1].phase == current.phase:
        known[-1] = msgspec.structs.replace(current, started_at_ms=known[-1].started_at_ms)
    elif len(known) < PHASES_PER_RUN:
        known.append(current)
    else:
        return None
    return msgspec.json.encode(known)
