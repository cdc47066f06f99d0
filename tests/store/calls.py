"""The operations as a test calls them: verbs on a store, with defaults, so that a test shows only what matters.

Everything is about the instance `a` of type t@v1 and its first turn unless said otherwise.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.clock import MovableClock
from turnbuckle.operations import blob, instance, run, server, signal, step, turn, upkeep
from turnbuckle.operations.caller import Caller
from turnbuckle.store.database import Database, read, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.blob import WorkflowBlob, WorkflowBlobGetQuery, WorkflowBlobPutQuery
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.instance import (
    WorkflowInboxByTypeQuery,
    WorkflowInboxByTypeResponse,
    WorkflowInboxQuery,
    WorkflowInboxResponse,
    WorkflowInstance,
    WorkflowInstanceControlRequest,
    WorkflowInstanceCreateRequest,
    WorkflowInstanceDeleteRequest,
    WorkflowInstanceQuery,
    WorkflowInstancesQuery,
    WorkflowInstancesResponse,
    WorkflowMessageRequest,
)
from turnbuckle.wire.run import WorkflowRunQuery, WorkflowRunResultsResponse, WorkflowRunsQuery, WorkflowRunSummary
from turnbuckle.wire.server import NoQuery, WorkflowStatus
from turnbuckle.wire.step import (
    WorkflowTurnCheckpointRequest,
    WorkflowTurnOperationRequest,
    WorkflowTurnProgressRequest,
    WorkflowTurnWaitSignalRequest,
)
from turnbuckle.wire.turn import (
    WorkflowClaimPair,
    WorkflowMessageOrigin,
    WorkflowTurn,
    WorkflowTurnClaimRequest,
    WorkflowTurnCompleteRequest,
    WorkflowTurnContinuation,
    WorkflowTurnFailRequest,
    WorkflowTurnHistoryQuery,
    WorkflowTurnHistoryResponse,
    WorkflowTurnLeaseRequest,
    WorkflowTurnQuery,
    WorkflowTurnSignalRequest,
    WorkflowTurnTask,
)

LEASE_MS = 60_000
CALLER = Caller("test", "main", by="key:0a0b0c0d", role="admin", scope="user")
Pair = tuple[str, str]
T_V1: Pair = ("t", "v1")


@dataclass(frozen=True)
class Store:
    """One graph of an open database, and its clock."""

    database: Database
    location: str
    graph_id: str
    clock: MovableClock

    def do(self, operation: Callable[..., Any], request: Any, *more: Any) -> Any:
        """The operation's answer as the app would give it: a changed turn is read in the same transaction."""

        def work(tx: Transaction) -> Any:
            answer = operation(tx, self.graph_id, request, *more)
            return turn.answer(tx, answer) if isinstance(answer, turn.Changed) else answer

        return write(self.database, work)

    def look(self, operation: Callable[..., Any], query: Any) -> Any:
        return read(self.database, lambda tx: operation(tx, self.graph_id, query))


def raw(value: Any) -> Raw:
    """`value` as a user's JSON; a Raw stays as it is spelled."""
    return value if isinstance(value, Raw) else Raw(json.dumps(value).encode())


def plain(value: Raw) -> Any:
    return json.loads(bytes(value))


def lease(task: WorkflowTurnTask) -> dict[str, Any]:
    return {"workflow_id": task.turn.workflow_id, "turn": task.turn.number, "token": task.token}


@contextlib.contextmanager
def refused(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[Refused]]:
    with pytest.raises(Refused, match=match) as info:
        yield info
    assert info.value.code == code, info.value


# -- starting and sending ----------------------------------------------------------------------------------------


def start(store: Store, id: str = "a", *, pair: Pair = T_V1, **options: Any) -> WorkflowInstance:
    if "state" in options:
        options["state"] = raw(options["state"])
    request = WorkflowInstanceCreateRequest(id=id, workflow_type=pair[0], version=pair[1], **options)
    answer: WorkflowInstance = store.do(instance.create, request)
    return answer


def send(store: Store, message: Any = 1, *, id: str = "m-1", to: str = "a", **origin: Any) -> WorkflowTurn:
    where = WorkflowMessageOrigin(**origin) if origin else None
    request = WorkflowMessageRequest(workflow_id=to, id=id, message=raw(message), origin=where)
    answer: WorkflowTurn = store.do(instance.send, request)
    return answer


def claim(store: Store, worker: str = "w", *, pairs: tuple[Pair, ...] = (T_V1,)) -> WorkflowTurnTask | None:
    asked = [WorkflowClaimPair(workflow_type=name, version=version) for name, version in pairs]
    task: WorkflowTurnTask | None = store.do(turn.claim, WorkflowTurnClaimRequest(worker=worker, workflows=asked)).task
    return task


def claimed(store: Store, worker: str = "w", *, pairs: tuple[Pair, ...] = (T_V1,)) -> WorkflowTurnTask:
    """The same when there must be a turn."""
    task = claim(store, worker, pairs=pairs)
    assert task is not None, "no turn is ready"
    return task


def claimed_turn(store: Store, worker: str = "w", *, messages: int = 1, **options: Any) -> WorkflowTurnTask:
    """The first turn of a new instance, held."""
    start(store, **options)
    for number in range(1, messages + 1):
        send(store, number, id=f"m-{number}")
    return claimed(store, worker)


# -- what a worker sends -----------------------------------------------------------------------------------------


def heartbeat(store: Store, task: WorkflowTurnTask) -> WorkflowTurn:
    answer: WorkflowTurn = store.do(turn.heartbeat, WorkflowTurnLeaseRequest(**lease(task)))
    return answer


def begin(store: Store, task: WorkflowTurnTask, key: str = "s", position: int = 0, **options: Any) -> WorkflowTurn:
    fields: dict[str, Any] = {"kind": "step", "timeout_ms": 300_000, **options}
    request = WorkflowTurnOperationRequest(**lease(task), key=key, position=position, **fields)
    answer: WorkflowTurn = store.do(step.begin, request)
    return answer


def progress(
    store: Store, task: WorkflowTurnTask, sequence: int = 1, details: Any = None, cursor: Any = None, key: str = "s"
) -> WorkflowTurn:
    body: dict[str, Any] = {"sequence": sequence, "details": raw(details), "checkpoint": raw(cursor)}
    answer: WorkflowTurn = store.do(step.progress, WorkflowTurnProgressRequest(**lease(task), key=key, **body))
    return answer


def save(store: Store, task: WorkflowTurnTask, key: str = "s", position: int = 0, output: Any = 1) -> WorkflowTurn:
    fields: dict[str, Any] = {"kind": "step", "key": key, "position": position, "output": raw(output)}
    answer: WorkflowTurn = store.do(step.save, WorkflowTurnCheckpointRequest(**lease(task), **fields))
    return answer


def sleep(store: Store, task: WorkflowTurnTask, ms: int, key: str = "z", position: int = 0) -> WorkflowTurn:
    fields: dict[str, Any] = {"kind": "sleep", "key": key, "position": position, "delay_ms": ms}
    answer: WorkflowTurn = store.do(step.save, WorkflowTurnCheckpointRequest(**lease(task), **fields))
    return answer


def listen(
    store: Store, task: WorkflowTurnTask, name: str = "ok", position: int = 0, timeout_ms: int = 60_000, key: str = "r"
) -> WorkflowTurn:
    fields: dict[str, Any] = {"key": key, "position": position, "name": name, "timeout_ms": timeout_ms}
    answer: WorkflowTurn = store.do(signal.wait, WorkflowTurnWaitSignalRequest(**lease(task), **fields))
    return answer


def complete(store: Store, task: WorkflowTurnTask, state: Any = 1, **more: Any) -> WorkflowTurn:
    """`result` and `continue_with` as plain values, the rest as the request takes it."""
    if "result" in more:
        more["result"] = raw(more["result"])
    if "continue_with" in more:
        more["continuation"] = WorkflowTurnContinuation(message=raw(more.pop("continue_with")))
    request = WorkflowTurnCompleteRequest(**lease(task), state=raw(state), **more)
    answer: WorkflowTurn = store.do(turn.complete, request)
    return answer


def fail(store: Store, task: WorkflowTurnTask, error: str = "no", **more: Any) -> WorkflowTurn:
    answer: WorkflowTurn = store.do(turn.fail, WorkflowTurnFailRequest(**lease(task), error=error, **more))
    return answer


def fail_for_good(store: Store, task: WorkflowTurnTask) -> WorkflowTurn:
    return fail(store, task, non_retryable=True)


def release(store: Store, task: WorkflowTurnTask) -> WorkflowTurn:
    """What a stopping worker sends for a turn it holds."""
    return fail(store, task, "released: the worker stops", retry_at_ms=store.clock.now_ms + 1_000)


# -- what others send --------------------------------------------------------------------------------------------


def signal_to(store: Store, value: Any = True, *, id: str = "e-1", name: str = "ok", turn: int = 1) -> WorkflowTurn:
    request = WorkflowTurnSignalRequest(workflow_id="a", turn=turn, id=id, name=name, value=raw(value))
    answer: WorkflowTurn = store.do(signal.send, request)
    return answer


def control(store: Store, action: Any, turn: int | None = None, *, id: str = "a") -> WorkflowInstance:
    request = WorkflowInstanceControlRequest(workflow_id=id, action=action, turn=turn)
    answer: WorkflowInstance = store.do(instance.control, request)
    return answer


def delete(store: Store, id: str = "a") -> bool:
    deleted: bool = store.do(instance.delete, WorkflowInstanceDeleteRequest(workflow_id=id)).deleted
    return deleted


def put_blob(store: Store, data: bytes, id: str = "a", caller: Caller = CALLER) -> WorkflowBlob:
    answer: WorkflowBlob = store.do(blob.put, WorkflowBlobPutQuery(workflow_id=id), data, caller)
    return answer


def get_blob(store: Store, key: str) -> bytes:
    data: bytes = store.look(blob.get, WorkflowBlobGetQuery(key=key))
    return data


# -- reading -----------------------------------------------------------------------------------------------------


def current(store: Store, number: int = 1, *, id: str = "a") -> WorkflowTurn:
    """A turn as of now."""
    shown: WorkflowTurn = store.look(turn.get, WorkflowTurnQuery(id=id, turn=number))
    return shown


def inspect(store: Store, id: str = "a") -> WorkflowInstance:
    shown: WorkflowInstance = store.look(instance.get, WorkflowInstanceQuery(id=id))
    return shown


def history(store: Store, **query: Any) -> WorkflowTurnHistoryResponse:
    page: WorkflowTurnHistoryResponse = store.look(turn.history, WorkflowTurnHistoryQuery(**{"id": "a", **query}))
    return page


def inbox(store: Store, **query: Any) -> WorkflowInboxResponse:
    page: WorkflowInboxResponse = store.look(instance.inbox, WorkflowInboxQuery(**{"id": "a", **query}))
    return page


def inbox_by_type(store: Store, **query: Any) -> WorkflowInboxByTypeResponse:
    asked = WorkflowInboxByTypeQuery(**{"workflow_type": "t", **query})
    page: WorkflowInboxByTypeResponse = store.look(instance.inbox_by_type, asked)
    return page


def instances(store: Store, **query: Any) -> WorkflowInstancesResponse:
    page: WorkflowInstancesResponse = store.look(instance.list_page, WorkflowInstancesQuery(**query))
    return page


def runs(store: Store, id: str = "a") -> list[WorkflowRunSummary]:
    """Newest first."""
    found: list[WorkflowRunSummary] = store.look(run.list_page, WorkflowRunsQuery(id=id)).runs
    return found


def one_run(store: Store, run_id: str, id: str = "a") -> WorkflowRunResultsResponse:
    found: WorkflowRunResultsResponse = store.look(run.get, WorkflowRunQuery(id=id, run=run_id))
    return found


def status(store: Store) -> WorkflowStatus:
    found: WorkflowStatus = store.look(server.status, NoQuery())
    return found


def bytes_of(answer: msgspec.Struct) -> bytes:
    return msgspec.json.encode(answer)


def flush(store: Store) -> None:
    """Wait until what was answered before its commit can be read: heartbeats, and progress without a new cursor."""
    write(store.database, lambda tx: None)


# -- time --------------------------------------------------------------------------------------------------------


def settle(store: Store) -> None:
    """What upkeep does as soon as an attempt has ended by itself."""
    while write(store.database, upkeep.settle):
        pass
