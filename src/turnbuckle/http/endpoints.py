"""Every endpoint of the API, one row each. Dispatch, OpenAPI, the reference pages and contract tests loop over it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from turnbuckle.http import about
from turnbuckle.operations import blob, instance, run, server, signal, step, turn
from turnbuckle.wire import limits
from turnbuckle.wire.blob import WorkflowBlob, WorkflowBlobGetQuery, WorkflowBlobPutQuery
from turnbuckle.wire.instance import (
    WorkflowInboxByTypeQuery,
    WorkflowInboxByTypeResponse,
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
from turnbuckle.wire.run import WorkflowRunQuery, WorkflowRunResultsResponse, WorkflowRunsQuery, WorkflowRunsResponse
from turnbuckle.wire.server import Health, NoQuery, Version, WorkflowServedResponse, WorkflowStatus
from turnbuckle.wire.step import (
    WorkflowTurnCheckpointRequest,
    WorkflowTurnOperationRequest,
    WorkflowTurnProgressRequest,
    WorkflowTurnWaitSignalRequest,
)
from turnbuckle.wire.turn import (
    WorkflowTurn,
    WorkflowTurnClaimRequest,
    WorkflowTurnClaimResponse,
    WorkflowTurnCompleteRequest,
    WorkflowTurnFailRequest,
    WorkflowTurnHistoryQuery,
    WorkflowTurnHistoryResponse,
    WorkflowTurnLeaseRequest,
    WorkflowTurnQuery,
    WorkflowTurnSignalRequest,
)

Method = Literal["GET", "POST"]
Role = Literal["admin", "write", "read", "review"]

READERS: frozenset[Role] = frozenset({"admin", "write", "read", "review"})
WRITERS: frozenset[Role] = frozenset({"admin", "write"})


@dataclass(frozen=True)
class Endpoint:
    """One route. A GET reads its query, a POST its body; with `raw_body` the body is bytes beside the query."""

    method: Method
    path: str
    run: Callable[..., Any]  # (transaction, graph id, request); for routes outside a graph see about.py
    summary: str
    answer: type[msgspec.Struct] | None  # None: raw bytes
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = NoQuery
    raw_body: bool = False
    body_bytes: int = limits.BODY_BYTES
    refusals: tuple[str, ...] = ()
    roles: frozenset[Role] | None = WRITERS  # None: open without a key (decision 20)
    in_graph: bool = True  # takes `graph` and `stack`
    makes_graph: bool = False  # where there is none of that name

    @property
    def name(self) -> str:
        """`turn.claim` and the like, unique."""
        return f"{self.run.__module__.rsplit('.', 1)[-1]}.{self.run.__name__}"

    @property
    def is_of_engine(self) -> bool:
        return self.path.startswith("/v1/workflows")


HELD = ("instance_not_found", "turn_lease_lost")
STEPS = (*HELD, "conflict")
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/health",
        about.health,
        "Whether the server takes requests.",
        Health,
        roles=None,
        in_graph=False,
    ),
    Endpoint(
        "GET",
        "/version",
        about.version,
        "The contract and what the server can do.",
        Version,
        roles=None,
        in_graph=False,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances",
        instance.create,
        "Start an instance, or get the one the same request started.",
        WorkflowInstance,
        body=WorkflowInstanceCreateRequest,
        makes_graph=True,
        refusals=("conflict", "payload_too_large"),
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances",
        instance.list_page,
        "Instances of the graph by id.",
        WorkflowInstancesResponse,
        query=WorkflowInstancesQuery,
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/get",
        instance.get,
        "One instance, as of now.",
        WorkflowInstance,
        query=WorkflowInstanceQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances/message",
        instance.send,
        "Admit a message once under its id; the answer is its turn.",
        WorkflowTurn,
        body=WorkflowMessageRequest,
        refusals=("instance_not_found", "conflict", "payload_too_large"),
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/inbox",
        instance.inbox,
        "Unfinished turns of an instance, oldest first.",
        WorkflowInboxResponse,
        query=WorkflowInboxQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/history",
        turn.history,
        "Finished turns of an instance, oldest first.",
        WorkflowTurnHistoryResponse,
        query=WorkflowTurnHistoryQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/turn",
        turn.get,
        "One turn, as of now; with wait_ms, as soon as it has finished.",
        WorkflowTurn,
        query=WorkflowTurnQuery,
        refusals=("instance_not_found", "turn_not_found"),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/runs",
        run.list_page,
        "Run summaries of an instance, newest first.",
        WorkflowRunsResponse,
        query=WorkflowRunsQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/run",
        run.get,
        "One run with what it did to each input.",
        WorkflowRunResultsResponse,
        query=WorkflowRunQuery,
        refusals=("instance_not_found", "workflow_run_not_found"),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/inbox",
        instance.inbox_by_type,
        "Instances of a type that have unfinished turns.",
        WorkflowInboxByTypeResponse,
        query=WorkflowInboxByTypeQuery,
        roles=READERS,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances/control",
        instance.control,
        "Pause, resume, retry, skip, cancel or wake.",
        WorkflowInstance,
        body=WorkflowInstanceControlRequest,
        refusals=("instance_not_found", "turn_not_found", "conflict"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances/delete",
        instance.delete,
        "Remove an instance with its turns and history.",
        WorkflowInstanceDeleteResponse,
        body=WorkflowInstanceDeleteRequest,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/claim",
        turn.claim,
        "Take the next ready turn of the named types; waits for one.",
        WorkflowTurnClaimResponse,
        body=WorkflowTurnClaimRequest,
        makes_graph=True,
        refusals=("execution_credentials_disabled",),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/heartbeat",
        turn.heartbeat,
        "Renew the lease.",
        WorkflowTurn,
        body=WorkflowTurnLeaseRequest,
        refusals=HELD,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/operation",
        step.begin,
        "Begin a step; answers its resume cursor.",
        WorkflowTurn,
        body=WorkflowTurnOperationRequest,
        refusals=STEPS,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/progress",
        step.progress,
        "Report progress of the step that runs, and save its cursor.",
        WorkflowTurn,
        body=WorkflowTurnProgressRequest,
        refusals=(*STEPS, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/checkpoint",
        step.save,
        "Save a step's output, or a sleep.",
        WorkflowTurn,
        body=WorkflowTurnCheckpointRequest,
        refusals=(*STEPS, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/wait-signal",
        signal.wait,
        "Take a signal that is there, or wait for it without a worker.",
        WorkflowTurn,
        body=WorkflowTurnWaitSignalRequest,
        refusals=STEPS,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/signal",
        signal.send,
        "Deliver a signal to one turn, once under its event id.",
        WorkflowTurn,
        body=WorkflowTurnSignalRequest,
        refusals=("instance_not_found", "turn_not_found", "conflict", "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/complete",
        turn.complete,
        "End the turn: state, result and continuation in one write.",
        WorkflowTurn,
        body=WorkflowTurnCompleteRequest,
        body_bytes=limits.COMPLETION_BYTES,
        refusals=(*HELD, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/fail",
        turn.fail,
        "End the attempt: retry, wait without counting, or fail for good.",
        WorkflowTurn,
        body=WorkflowTurnFailRequest,
        refusals=(*HELD, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/blobs",
        blob.put,
        "Keep bytes under their SHA-256.",
        WorkflowBlob,
        query=WorkflowBlobPutQuery,
        raw_body=True,
        makes_graph=True,
        body_bytes=limits.BLOB_BYTES,
        refusals=("payload_too_large",),
    ),
    Endpoint(
        "GET",
        "/v1/workflows/blobs",
        blob.get,
        "The bytes of a blob.",
        None,
        query=WorkflowBlobGetQuery,
        refusals=("blob_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/status",
        server.status,
        "Whether the engine is on, and what it holds.",
        WorkflowStatus,
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/served",
        about.served,
        "Which types and versions workers have claimed from this server.",
        WorkflowServedResponse,
        roles=READERS,
    ),
)
