"""What the runner asks about the execution in its hands; keys of scope `runtime` only (decision 36)."""

from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.hub import execution as rules
from turnbuckle.operations import hub_turn, hub_waiting
from turnbuckle.operations.hub_execution import of_data, of_execution
from turnbuckle.operations.hub_place import Visitor, denied
from turnbuckle.operations.hub_session_feed import add_event
from turnbuckle.operations.hub_time import micro_iso
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_definition as definitions
from turnbuckle.store import hub_execution as executions
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store import hub_session as sessions
from turnbuckle.store import hub_thread as threads
from turnbuckle.store.hub_rows import Execution, Wait
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_run import HubPostEventsRequest, HubRunQuery, HubWaitRequest

_PINS_MAX = 10_000


def get(tx: Transaction, visitor: Visitor, query: HubRunQuery) -> dict[str, Any]:
    """All that a run needs. The first call is its start: the document is fixed then, by its hash (decision 35).

    A run whose definition is gone has failed; its document comes as null, as does that of a run that was stopped
    before it started.
    """
    row = _lock(tx, visitor, query.id)
    if row.status == rules.CREATING:
        row = _begin(tx, row)
    document = None if row.sha256 is None else Raw(definitions.document(tx, row.graph_id, row.sha256))
    settings = msgspec.json.decode(row.settings)
    return {
        "execution": of_execution(row),
        "definition": {
            "id": row.definition_id,
            "alias": row.definition_alias,
            "revision_id": msgspec.json.decode(row.source)["revision_id"],
        },
        "definition_object": document,
        "input_data": Raw(row.input_data),
        "blob": _blob(tx, row),
        "session": _session(tx, row),
        "pause_before": settings["pause_before"],
        "dry_run": settings["dry_run"],
        "fork": settings.get("fork"),
        "pins": _pins(tx, row, settings.get("fork")),
    }


def _lock(tx: Transaction, visitor: Visitor, execution_id: str) -> Execution:
    """The execution, after its session: HubRefused(access_denied) when there is none."""
    found = executions.get(tx, visitor.graph_id, execution_id)
    if found is not None and found.status == rules.CREATING:
        sessions.lock(tx, visitor.graph_id, found.session_id)  # its feed tells of the start
    row = None if found is None else executions.lock(tx, visitor.graph_id, execution_id)
    if row is None:
        raise denied(f"the execution {execution_id}")
    return row


def _begin(tx: Transaction, row: Execution) -> Execution:
    sha256 = row.sha256  # of a fork
    if sha256 is None:
        definition = definitions.get(tx, row.graph_id, row.definition_id)
        sha256 = None if definition is None else definition.sha256
    if sha256 is None:
        return _fail(tx, row)
    started = hub_turn.decided(row, rules.start(hub_turn.rule_of(row), sha256, tx.now_ms))
    executions.save(tx, row, started)
    session = sessions.lock(tx, row.graph_id, row.session_id)
    if session is not None:
        body = {"execution_id": row.execution_id, "status": started.status}
        sessions.save(tx, session, add_event(tx, session, "execution_started", body))
    return started


def _fail(tx: Transaction, row: Execution) -> Execution:
    error = rules.ExecutionError("definition_missing", f"The definition {row.definition_alias} was deleted")
    failed = hub_turn.end(tx, row, rules.fail(hub_turn.rule_of(row), error, tx.now_ms))
    failed = hub_turn.add_event(
        tx, failed, "flow.error", error.message, msgspec.json.encode({"status": "failed", "code": error.code})
    )
    executions.save(tx, row, failed)
    return failed


def _blob(tx: Transaction, row: Execution) -> dict[str, Any] | None:
    revision = revisions.get(tx, row.graph_id, row.revision_id)
    blob = None if revision is None else blobs.get(tx, row.graph_id, revision.blob_id)
    return None if blob is None else {"id": blob.blob_id, "org_id": blob.org_id, "alias": blob.alias}


def _session(tx: Transaction, row: Execution) -> dict[str, Any] | None:
    session = sessions.get(tx, row.graph_id, row.session_id)
    if session is None:
        return None
    created_at = micro_iso(session.created_at_us)
    return {"id": session.session_id, "alias": session.alias, "created_at": created_at}


def _pins(tx: Transaction, row: Execution, fork: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What the run takes over from the one it was forked from."""
    if fork is None:
        return []
    origin = fork["execution_id"]
    return [of_data(one) for one in executions.data_page(tx, row.graph_id, origin, _PINS_MAX, fork["through"])]


def post_events(tx: Transaction, visitor: Visitor, request: HubPostEventsRequest) -> dict[str, Any]:
    """Events between the requests of a turn. A run that has ended takes them too: the last words of a stopped one."""
    row = _lock(tx, visitor, request.execution_id)
    told = hub_turn.with_events(tx, row, request.events)
    executions.save(tx, row, told)
    return {"events": told.events - row.events}


def wait(tx: Transaction, visitor: Visitor, request: HubWaitRequest) -> dict[str, Any]:
    """Note what a turn waits for. What has happened already is told at once."""
    row = executions.get(tx, visitor.graph_id, request.execution_id)
    if row is None:
        raise denied(f"the execution {request.execution_id}")
    target = request.target if isinstance(request.target, str) else ""
    topic = _topic(row, request.on, target)
    noted = Wait(row.graph_id, topic, request.workflow_id, request.turn, request.signal, row.execution_id)
    hub_waiting.add(tx, noted)
    if request.on == "execution":
        child = executions.get(tx, row.graph_id, target)
        if child is None or child.ended_at_us is not None:
            status = rules.FAILED if child is None else child.status
            hub_waiting.tell(tx, row.graph_id, topic, {"execution_id": target, "status": status})
    if request.on == "thread" and isinstance(request.after, str):
        item = threads.first_after(tx, row.graph_id, row.session_id, target, request.after, row.execution_id)
        if item is not None:
            hub_waiting.tell(tx, row.graph_id, topic, {"item_id": item.item_id})
    return {}


def _topic(row: Execution, on: str, target: str) -> str:
    if on == "breakpoint":
        return hub_waiting.breakpoint_of(row.execution_id)
    if on == "execution":
        return hub_waiting.end_of(target)
    return hub_waiting.thread_of(row.session_id, target)
