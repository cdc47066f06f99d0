"""One request of the protocol: sent to the real operations, through the door's decoding, or to the reference.

An outcome is `("ok", answer)` with the answer as its reader sees it, or `("refused", code)`.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from tests.model.reference import Reference, Refusal
from turnbuckle.operations import instance, signal, step, turn
from turnbuckle.store.database import Database, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import value
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.instance import (
    WorkflowInstanceControlRequest,
    WorkflowInstanceCreateRequest,
    WorkflowInstanceDeleteRequest,
    WorkflowMessageRequest,
)
from turnbuckle.wire.step import (
    WorkflowTurnCheckpointRequest,
    WorkflowTurnOperationRequest,
    WorkflowTurnProgressRequest,
    WorkflowTurnWaitSignalRequest,
)
from turnbuckle.wire.turn import (
    WorkflowTurnClaimRequest,
    WorkflowTurnCompleteRequest,
    WorkflowTurnFailRequest,
    WorkflowTurnLeaseRequest,
    WorkflowTurnSignalRequest,
)

KINDS: dict[str, tuple[type[msgspec.Struct], Callable[..., Any]]] = {
    "create": (WorkflowInstanceCreateRequest, instance.create),
    "send": (WorkflowMessageRequest, instance.send),
    "signal": (WorkflowTurnSignalRequest, signal.send),
    "control": (WorkflowInstanceControlRequest, instance.control),
    "delete": (WorkflowInstanceDeleteRequest, instance.delete),
    "claim": (WorkflowTurnClaimRequest, turn.claim),
    "heartbeat": (WorkflowTurnLeaseRequest, turn.heartbeat),
    "begin": (WorkflowTurnOperationRequest, step.begin),
    "progress": (WorkflowTurnProgressRequest, step.progress),
    "save": (WorkflowTurnCheckpointRequest, step.save),
    "wait_signal": (WorkflowTurnWaitSignalRequest, signal.wait),
    "complete": (WorkflowTurnCompleteRequest, turn.complete),
    "fail": (WorkflowTurnFailRequest, turn.fail),
}
REPEATABLE = {"create", "send", "signal", "begin", "progress", "save", "wait_signal", "complete"}  # lbb-engine 4.8

Outcome = tuple[str, Any]


class Ask(NamedTuple):
    kind: str
    graph: str
    body: bytes

    def __str__(self) -> str:
        return f"{self.kind} in {self.graph}: {self.body.decode()}"

    def is_about(self, graph: str, instance_id: str) -> bool:
        return self.graph == graph and getattr(self.decode(), "workflow_id", None) == instance_id

    def decode(self) -> msgspec.Struct:
        value.check(self.body)
        return msgspec.json.decode(self.body, type=KINDS[self.kind][0])


def ask(kind: str, graph: str, /, **fields: Any) -> Ask:
    """A request of the fields that are not None. Users' values are written as `json_value("...")`."""
    return Ask(kind, graph, msgspec.json.encode({name: one for name, one in fields.items() if one is not None}))


def json_value(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def run(tx: Transaction, graph_id: str, asked: Ask) -> Any:
    """The operation's answer, read in the same transaction as the route does. Refused when it was not done."""
    answer = KINDS[asked.kind][1](tx, graph_id, asked.decode())
    if isinstance(answer, turn.Changed):
        answer = turn.answer(tx, answer)
    return plain(answer)


def plain(answer: Any) -> Any:
    return json.loads(msgspec.json.encode(answer))


def ask_engine(database: Database, graph_id: str, asked: Ask) -> Outcome:
    try:
        return "ok", write(database, lambda tx: run(tx, graph_id, asked))
    except Refused as refused:
        return "refused", refused.code


def ask_reference(reference: Reference, asked: Ask, real: Outcome) -> Outcome:
    """The same of the reference; of a claim it learns from the real outcome which turn was chosen."""
    learnt = (real[1].get("task"),) if asked.kind == "claim" and real[0] == "ok" else ()
    try:
        return "ok", getattr(reference, asked.kind)(asked.graph, asked.decode(), *learnt)
    except Refusal as refusal:
        return "refused", refusal.code
