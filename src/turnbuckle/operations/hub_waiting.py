"""Turns of executions that wait for something of the hub: noted once, told by a signal when it happens.

A signal stays with its turn until it is heard, so a wait is noted before the turn gives up its lease.
"""

import uuid
from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.operations import signal
from turnbuckle.store import hub_execution as executions
from turnbuckle.store.hub_rows import Wait
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.turn import WorkflowTurnSignalRequest


def add(tx: Transaction, wait: Wait) -> None:
    executions.add_wait(tx, wait)


def tell(tx: Transaction, graph_id: str, topic: str, value: dict[str, Any], by: str | None = None) -> None:
    """Signal every turn that waits for the topic, once; those that do not wait for what `by` does stay."""
    for wait in executions.waits(tx, graph_id, topic):
        if by is not None and wait.not_by == by:
            continue
        executions.remove_wait(tx, wait)
        request = WorkflowTurnSignalRequest(
            workflow_id=wait.instance_id,
            turn=wait.turn,
            id=str(uuid.uuid4()),
            name=wait.signal,
            value=Raw(msgspec.json.encode(value)),
        )
        _send(tx, graph_id, request)


def _send(tx: Transaction, graph_id: str, request: WorkflowTurnSignalRequest) -> None:
    try:
        signal.send(tx, graph_id, request)
    except Refused as refused:  # the turn has ended meanwhile: nobody waits
        if refused.code not in ("conflict", "instance_not_found", "turn_not_found"):
            raise


def breakpoint_of(execution_id: str) -> str:
    """The topic of a run that waits at a breakpoint."""
    return f"continue/{execution_id}"


def end_of(execution_id: str) -> str:
    return f"execution/{execution_id}"


def thread_of(session_id: str, alias: str) -> str:
    """The topic of new items in a thread."""
    return f"thread/{session_id}/{alias}"
