"""Every endpoint of the API, one row each. Dispatch, OpenAPI, the reference pages and contract tests loop over it."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from turnbuckle.wire import blob, instance, run, server, turn
from turnbuckle.wire import step as steps

Method = Literal["GET", "POST"]
Role = Literal["admin", "write", "read", "review"]

READERS: frozenset[Role] = frozenset({"admin", "write", "read", "review"})
WRITERS: frozenset[Role] = frozenset({"admin", "write"})


@dataclass(frozen=True)
class Endpoint:
    method: Method
    path: str
    operation: str
    summary: str
    answer: type[msgspec.Struct] | None  # None: raw bytes
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = server.NoQuery
    raw_body: bool = False
    refusals: tuple[str, ...] = ()
    roles: frozenset[Role] | None = WRITERS  # None: open without a key (decision 20)
    in_graph: bool = True  # takes `graph` and `stack`


HELD = ("instance_not_found", "turn_lease_lost", "conflict")
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/health",
        "server.health",
        "Whether the server takes requests.",
        server.Health,
        roles=None,
        in_graph=False,
    ),
    Endpoint(
        "GET",
        "/version",
        "server.version",
        "The contract and what the server can do.",
        server.Version,
        roles=None,
        in_graph=False,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances",
        "instance.create",
        "Start an instance, or get the one the same request started.",
        instance.WorkflowInstance,
        body=instance.WorkflowInstanceCreateRequest,
        refusals=("conflict", "payload_too_large"),
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances",
        "instance.list",
        "Instances of the graph by id.",
        instance.WorkflowInstancesResponse,
        query=instance.WorkflowInstancesQuery,
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/get",
        "instance.get",
        "One instance, as of now.",
        instance.WorkflowInstance,
        query=instance.WorkflowInstanceQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances/message",
        "instance.send",
        "Admit a message once under its id; the answer is its turn.",
        turn.WorkflowTurn,
        body=instance.WorkflowMessageRequest,
        refusals=("instance_not_found", "conflict", "payload_too_large"),
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/inbox",
        "instance.inbox",
        "Unfinished turns of an instance, oldest first.",
        instance.WorkflowInboxResponse,
        query=instance.WorkflowInboxQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/history",
        "turn.history",
        "Finished turns of an instance, oldest first.",
        turn.WorkflowTurnHistoryResponse,
        query=turn.WorkflowTurnHistoryQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/turn",
        "turn.get",
        "One turn, as of now; with wait_ms, as soon as it has finished.",
        turn.WorkflowTurn,
        query=turn.WorkflowTurnQuery,
        refusals=("instance_not_found", "turn_not_found"),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/runs",
        "run.list",
        "Run summaries of an instance, newest first.",
        run.WorkflowRunsResponse,
        query=run.WorkflowRunsQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/instances/run",
        "run.get",
        "One run with what it did to each input.",
        run.WorkflowRunResultsResponse,
        query=run.WorkflowRunQuery,
        refusals=("instance_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/inbox",
        "instance.inbox_by_type",
        "Instances of a type that have unfinished turns.",
        instance.WorkflowInboxByTypeResponse,
        query=instance.WorkflowInboxByTypeQuery,
        roles=READERS,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances/control",
        "instance.control",
        "Pause, resume, retry, skip, cancel or wake.",
        instance.WorkflowInstance,
        body=instance.WorkflowInstanceControlRequest,
        refusals=("instance_not_found", "turn_not_found", "conflict"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/instances/delete",
        "instance.delete",
        "Remove an instance with its turns and history.",
        instance.WorkflowInstanceDeleteResponse,
        body=instance.WorkflowInstanceDeleteRequest,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/claim",
        "turn.claim",
        "Take the next ready turn of the named types; waits for one.",
        turn.WorkflowTurnClaimResponse,
        body=turn.WorkflowTurnClaimRequest,
        refusals=("execution_credentials_disabled",),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/heartbeat",
        "turn.heartbeat",
        "Renew the lease.",
        turn.WorkflowTurn,
        body=turn.WorkflowTurnLeaseRequest,
        refusals=HELD,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/operation",
        "step.begin",
        "Begin a step; answers its resume cursor.",
        turn.WorkflowTurn,
        body=steps.WorkflowTurnOperationRequest,
        refusals=HELD,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/progress",
        "step.progress",
        "Report progress of the step that runs, and save its cursor.",
        turn.WorkflowTurn,
        body=steps.WorkflowTurnProgressRequest,
        refusals=(*HELD, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/checkpoint",
        "step.save",
        "Save a step's output, or a sleep.",
        turn.WorkflowTurn,
        body=steps.WorkflowTurnCheckpointRequest,
        refusals=(*HELD, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/wait-signal",
        "signal.wait",
        "Take a signal that is there, or wait for it without a worker.",
        turn.WorkflowTurn,
        body=steps.WorkflowTurnWaitSignalRequest,
        refusals=HELD,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/signal",
        "signal.send",
        "Deliver a signal to one turn, once under its event id.",
        turn.WorkflowTurn,
        body=turn.WorkflowTurnSignalRequest,
        refusals=("instance_not_found", "turn_not_found", "conflict", "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/complete",
        "turn.complete",
        "End the turn: state, result and continuation in one write.",
        turn.WorkflowTurn,
        body=turn.WorkflowTurnCompleteRequest,
        refusals=(*HELD, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/turns/fail",
        "turn.fail",
        "End the attempt: retry, wait without counting, or fail for good.",
        turn.WorkflowTurn,
        body=turn.WorkflowTurnFailRequest,
        refusals=(*HELD, "payload_too_large"),
    ),
    Endpoint(
        "POST",
        "/v1/workflows/blobs",
        "blob.put",
        "Keep bytes under their SHA-256.",
        blob.WorkflowBlob,
        query=blob.WorkflowBlobPutQuery,
        raw_body=True,
        refusals=("payload_too_large",),
    ),
    Endpoint(
        "GET",
        "/v1/workflows/blobs",
        "blob.get",
        "The bytes of a blob.",
        None,
        query=blob.WorkflowBlobGetQuery,
        refusals=("blob_not_found",),
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/workflows/status",
        "server.status",
        "Whether the engine is on, and what it holds.",
        server.WorkflowStatus,
        roles=READERS,
    ),
)
