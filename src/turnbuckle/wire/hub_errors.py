"""The error table of the hub's API: each code once, with its HTTP status and one sentence that says what to do next.

The statuses are load-bearing: clients choose their exception by them (blobhub 2.8, 9.1). `access_denied` stands for
"not allowed" and for "not there" alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HubErrorKind:
    code: str
    status: int
    sentence: str  # what the reader does next


HUB_ERRORS: dict[str, HubErrorKind] = {
    kind.code: kind
    for kind in (
        HubErrorKind("invalid_request_body", 400, "Send the documented keys only; leave a key out rather than null."),
        HubErrorKind("unknown_command", 400, "Check the command's name, and whether it is a query or a command."),
        HubErrorKind("alias_in_use", 400, "Read what has this alias, or choose another."),
        HubErrorKind("limit_exceeded", 400, "Remove something first, or have the limit named in `limit` raised."),
        HubErrorKind("invalid_definition_category", 400, "Name a workflow; a playground cannot be executed."),
        HubErrorKind("invalid_execution_status", 400, "Read the execution again; only a running one can be stopped."),
        HubErrorKind("invalid_layout", 400, "Send the layout that the playground was created with."),
        HubErrorKind("invalid_component_position", 400, "Put the component inside the grid, on free cells."),
        HubErrorKind("invalid_invocation_target", 400, "Correct the schedule's target as the message says."),
        HubErrorKind("invalid_session_object_alias", 400, "Use 1 to 256 characters: segments joined by `/`."),
        HubErrorKind("invalid_thread_envelope", 400, "Upload a value of type `thread` under this alias first."),
        HubErrorKind("invalid_graph_envelope", 400, "Upload a value of type `graph` under this alias first."),
        HubErrorKind("thread_item_too_large", 400, "Send less than 65,536 bytes, or put the content in a file."),
        HubErrorKind("invalid_cursor", 400, "Start the listing again without a cursor."),
        HubErrorKind("invalid_graph_query", 400, "Correct the step of the query that the message names."),
        HubErrorKind("graph_traversal_limit_exceeded", 400, "Ask for less: filter earlier, or add `limit`."),
        HubErrorKind("unauthorized", 401, "Send a valid key as X-API-Key or Bearer, or a fresh anonymous token."),
        HubErrorKind("access_denied", 403, "Check the name, and whether your key may see it."),
        HubErrorKind("revision_not_found", 404, "Check the revision's id; `default` needs a default revision."),
        HubErrorKind("not_found", 404, "Check the alias or the id; it may have been deleted."),
        HubErrorKind("method_not_allowed", 405, "Use the method the route is documented with."),
        HubErrorKind("session_not_open", 409, "Open the session again, or use another."),
        HubErrorKind("revision_not_writable", 409, "Use a draft; a committed revision does not change."),
        HubErrorKind("revision_not_ready", 409, "Wait until the revision's status is `ready`."),
        HubErrorKind("revision_not_committed", 409, "Commit the default revision first."),
        HubErrorKind("revision_in_use", 409, "Wait until the revision's executions have ended, or stop them."),
        HubErrorKind("graph_mutation_conflict", 409, "Read the element again; it is not as the operation expected."),
        HubErrorKind("execution_not_finished", 409, "Wait until the named component has finished."),
        HubErrorKind("execution_not_paused", 409, "Read the execution again; it waits at no breakpoint."),
        HubErrorKind("request_too_large", 413, "Send less."),
        HubErrorKind("rate_limited", 429, "Nothing was done. Wait as long as Retry-After says, then send it again."),
        HubErrorKind("internal", 500, "Look before you repeat a write: it may have been done."),
        HubErrorKind("unavailable", 503, "Nothing was saved. Send it again."),
    )
}


class HubRefused(Exception):
    """An operation that was not done, and nothing of it was saved. `code` is a key of HUB_ERRORS."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        limit: dict[str, Any] | None = None,  # {"id", "value", "held"?}
        details: Sequence[dict[str, Any]] | None = None,  # [{"content": text}]
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = HUB_ERRORS[code]
        self.message = message
        self.limit = limit
        self.details = details


def failure_body(refused: HubRefused) -> dict[str, Any]:
    """The JSON object of an answer that is no success (blobhub 2.2)."""
    body: dict[str, Any] = {"status": "failure", "error": refused.code, "message": refused.message}
    if refused.limit is not None:
        body["limit"] = refused.limit
    if refused.details is not None:
        body["details"] = list(refused.details)
    return body
