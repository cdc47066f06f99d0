"""The error table: each code once, with its HTTP status and one sentence that says what to do next.

Source: lbb-engine 2.6, 9 (P34) and 10.2. docs/reference/errors.md is generated from this table.
"""

from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True)
class ErrorKind:
    code: str
    status: int
    type: str
    sentence: str  # what the reader does next
    retryable: bool | None = None  # None: the client's own retry rules decide


_INVALID, _AUTH, _MISSING, _CONFLICT, _RATE, _API = (
    "invalid_request_error",
    "auth_error",
    "not_found_error",
    "conflict_error",
    "rate_limit_error",
    "api_error",
)

ERRORS: dict[str, ErrorKind] = {
    kind.code: kind
    for kind in (
        ErrorKind("invalid_request", 400, _INVALID, "Send a body that is valid JSON of the documented shape."),
        ErrorKind("invalid_param", 400, _INVALID, "Correct the named field and send the request again."),
        ErrorKind(
            "execution_credentials_disabled",
            400,
            _INVALID,
            "This server gives no execution credentials; claim without include_execution_credential.",
        ),
        ErrorKind(
            "unauthorized",
            401,
            _AUTH,
            "Send a key of this server as `Authorization: Bearer KEY`, in Python by `api_key=KEY`.",
        ),
        ErrorKind("forbidden", 403, _AUTH, "Use a key whose role allows this call."),
        ErrorKind("stack_endpoint_mismatch", 403, _AUTH, "This key belongs to another environment; use its own."),
        ErrorKind(
            "not_found",
            404,
            _MISSING,
            "Check the id, the name and the graph, or the path: /docs lists the routes there are.",
        ),
        ErrorKind("instance_not_found", 404, _MISSING, "Start the instance first, or check its id and graph."),
        ErrorKind("turn_not_found", 404, _MISSING, "Check the turn number; finished turns are pruned after a while."),
        ErrorKind("blob_not_found", 404, _MISSING, "Check the key; blobs nothing refers to are removed after a day."),
        ErrorKind("workflow_run_not_found", 404, _MISSING, "Check the run id; runs are kept 30 days."),
        ErrorKind("method_not_allowed", 405, _INVALID, "Use the method the route is documented with."),
        ErrorKind("turn_lease_lost", 409, _CONFLICT, "Another attempt may hold this turn. Send nothing more for it."),
        ErrorKind(
            "conflict",
            409,
            _CONFLICT,
            "Read the present state before sending this again; a retry cannot help.",
        ),
        # Graphs
        ErrorKind(
            "missing_idempotency_key",
            400,
            _INVALID,
            "Send the header Idempotency-Key, the same for every repeat of this write.",
        ),
        ErrorKind("unknown_entity", 400, _INVALID, "Write the record first, or correct its id."),
        ErrorKind("rdf_native_graph", 400, _INVALID, "Write RDF to this graph, or JSON records to another one."),
        ErrorKind("workflow_fence_lost", 409, _CONFLICT, "Another attempt may hold this turn. Nothing was written."),
        # Reviews
        ErrorKind("review_stale", 409, _CONFLICT, "Read the item again: its question changed after it was read."),
        ErrorKind(
            "idempotency_conflict",
            409,
            _CONFLICT,
            "Give another request another idempotency key; a key belongs to one body.",
        ),
        # Model calls
        ErrorKind("model_call_not_found", 404, _MISSING, "Check the id; calls are kept 31 days."),
        ErrorKind(
            "activity_effect_conflict",
            409,
            _CONFLICT,
            "One effect id is one call: give each call of a step an id of its own.",
        ),
        ErrorKind(
            "activity_request_refused",
            422,
            _INVALID,
            "The model or host cannot take this, or its answer is of no use: change or split the input.",
            False,
        ),
        ErrorKind("workflow_budget_exceeded", 429, _RATE, "Wait until retry_at_ms, or have the budget raised.", False),
        ErrorKind(
            "models_not_configured",
            503,
            _API,
            "Name a provider that can serve it in the file that the server got as `--models`.",
            False,
        ),
        ErrorKind("model_unavailable", 503, _API, "The provider gave no answer; send it again under its effect id."),
        ErrorKind(
            "http_unavailable",
            503,
            _API,
            "The host gave no answer, but may have taken the request: look before it is sent again.",
            False,
        ),
        ErrorKind("payload_too_large", 413, _INVALID, "Send less, or save it as a blob and send its key.", False),
        # Workflows on a graph
        ErrorKind("named_workflow_not_found", 404, _MISSING, "Check the name and the graph, or create the workflow."),
        ErrorKind("triggered_workflow_not_found", 404, _MISSING, "Check starter, name and graph, or create it."),
        ErrorKind(
            "workflow_shards_busy",
            409,
            _CONFLICT,
            "Send it again when its shards have finished their turns: turns of two versions do not mix.",
        ),
        ErrorKind("workflow_param_invalid", 400, _INVALID, "Correct the named setting and send the request again."),
        ErrorKind("workflow_stream_rate_limited", 429, _RATE, "Send the same events again a minute later."),
        ErrorKind("workflow_stream_full", 429, _RATE, "Send the same events again when the workflow has caught up."),
        # SPARQL and RDF
        ErrorKind("invalid_query", 400, _INVALID, "Correct the query at the place that the message names."),
        ErrorKind("query_timeout", 400, _INVALID, "Ask for less: bind more of the pattern, or add a LIMIT.", False),
        ErrorKind("query_too_large", 400, _INVALID, "Ask for less: bind more of the pattern, or add a LIMIT.", False),
        ErrorKind("invalid_rdf", 400, _INVALID, "Correct the document at the line and column that are named.", False),
        ErrorKind("record_graph", 400, _INVALID, "Import RDF into a graph of its own: this one has JSON records."),
        ErrorKind("read_your_writes_pending", 429, _RATE, "Wait as long as Retry-After says, then read again."),
        ErrorKind("strong_read_pending", 429, _RATE, "The index follows; wait as long as Retry-After says."),
        ErrorKind("query_interrupted", 429, _RATE, "Another query took the index down with it; send this one again."),
        ErrorKind("index_unavailable", 503, _API, "The server's log says why the SPARQL index does not start."),
        ErrorKind("rate_limited", 429, _RATE, "Wait as long as Retry-After says, then send again."),
        ErrorKind("internal", 500, _API, "Send it again; if it stays, look up the request id in the server's log."),
        ErrorKind("workflows_disabled", 503, _API, "Start the server with --workflows.", False),
        ErrorKind(
            "storage_degraded",
            503,
            _API,
            "The store did not take the write; nothing was saved. Send it again.",
        ),
        ErrorKind("stopping", 503, _API, "The server is shutting down; send it again to the next one."),
    )
}


class Refused(Exception):
    """An operation that was not done, and nothing of it was saved. `code` is a key of ERRORS."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        param: str | None = None,
        details: Any = None,
        retry_at_ms: int | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        """`retry_at_ms` is Unix time: before it, the same request is refused again."""
        super().__init__(message)
        self.code = code
        self.kind = ERRORS[code]
        self.message = message
        self.param = param
        self.details = details
        self.retry_at_ms = retry_at_ms
        self.retry_after_s = retry_after_s


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    code: str
    message: str
    param: str | None = None
    doc_url: str | None = None
    request_id: str | None = None
    retryable: bool | msgspec.UnsetType = msgspec.UNSET
    retry_after_seconds: int | msgspec.UnsetType = msgspec.UNSET
    retry_at_ms: int | msgspec.UnsetType = msgspec.UNSET
    details: Any = None


class ErrorEnvelope(msgspec.Struct, frozen=True):
    """What every answer that is not 2xx carries (lbb-engine 2.6)."""

    error: ErrorBody
