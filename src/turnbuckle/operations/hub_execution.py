"""Executions: started, read, stopped, forked, continued (blobhub 3.4 to 3.6; the last two are ours).

Each is an instance of the engine (decision 35), made in the same transaction. hub_ending.py ends them, hub_turn.py
learns how they ended, hub_run.py is what the runner asks.
"""

import uuid
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from turnbuckle.hub import alias as aliases
from turnbuckle.hub import execution as rules
from turnbuckle.hub import limits as limit_rules
from turnbuckle.hub import reference as references
from turnbuckle.hub import value as values
from turnbuckle.operations import hub_blob, hub_cursor, hub_definition, hub_ending, hub_waiting, instance
from turnbuckle.operations.hub_place import DEFAULT, Place, blob, denied, owned_blob, revision_of
from turnbuckle.operations.hub_session import find, find_by_id, find_open
from turnbuckle.operations.hub_time import micro_iso, now_us, span
from turnbuckle.store import hub_definition as definitions
from turnbuckle.store import hub_execution as executions
from turnbuckle.store import hub_session as sessions
from turnbuckle.store.hub_rows import Data, Definition, Event, Execution, Revision, Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_execution import (
    HubContinueExecutionRequest,
    HubCreateExecutionRequest,
    HubForkExecutionRequest,
    HubGetExecutionDataRequest,
    HubGetExecutionDefinitionRequest,
    HubGetExecutionRequest,
    HubListExecutionEventsRequest,
    HubListExecutionsRequest,
    HubStopExecutionRequest,
)
from turnbuckle.wire.instance import WorkflowInstanceCreateRequest, WorkflowMessageRequest

_NAMESPACE = uuid.UUID("0d6c2f1e-31c8-5f0b-8f0a-6a0f7d5c9b42")  # of executions that the runner starts
_DATA_MAX = 10_000
ATTEMPTS = 5  # of the turns of an execution: workers that may die in its hands

# -- starting ----------------------------------------------------------------------------------------------------


def create(
    tx: Transaction, place: Place, request: HubCreateExecutionRequest, trigger: dict[str, Any] | None = None
) -> dict[str, Any]:
    """An execution that waits for a worker, status `creating`. The checks come in the order of blobhub 2.8."""
    session = _open_session(tx, place, request.target.session)
    execution_id = _new_id(place)
    known = executions.get(tx, place.graph_id, execution_id)
    if known is not None:  # the runner's step again
        return {"execution": of_execution(known)}
    named = {name: part for name, part in msgspec.structs.asdict(request.workflow).items() if part is not UNSET}
    definition, source = resolve(tx, place, references.parse_request(named))
    inputs = [] if request.input_data is UNSET else list(request.input_data)
    for index, given in enumerate(inputs):
        values.check_value(bytes(given.value), f"input_data[{index}].value")
    settings = _settings(request)
    return _start(
        tx,
        place,
        session,
        definition,
        execution_id=execution_id,
        source=source,
        workflow=msgspec.json.encode(named),
        input_data=msgspec.json.encode([{"alias": one.alias, "value": one.value} for one in inputs]),
        settings=settings,
        trigger=trigger,
    )


def _open_session(tx: Transaction, place: Place, name: str) -> Session:
    session = find(tx, place, name)
    return find_open(tx, place, session.session_id)


def _new_id(place: Place) -> str:
    """Random; for a step of the runner the same on every attempt."""
    visitor = place.visitor
    if visitor.execution_id is None or visitor.effect_id is None:
        return str(uuid.uuid4())
    return str(uuid.uuid5(_NAMESPACE, f"{visitor.execution_id}/{visitor.effect_id}"))


def _settings(request: HubCreateExecutionRequest | HubForkExecutionRequest) -> dict[str, Any]:
    pause_before = [] if request.pause_before is UNSET else list(request.pause_before)
    return {"pause_before": pause_before, "dry_run": request.dry_run}


def _start(
    tx: Transaction,
    place: Place,
    session: Session,
    definition: Definition,
    *,
    execution_id: str,
    source: dict[str, Any],
    workflow: bytes,
    input_data: bytes,
    settings: dict[str, Any],
    trigger: dict[str, Any] | None = None,
    sha256: str | None = None,
) -> dict[str, Any]:
    """The row and the engine's instance. HubRefused(limit_exceeded)."""
    limit_rules.check_limit(limit_rules.EXECUTIONS, session.executions, hub_blob.overrides(place.blob))
    parent = _parent(tx, place)
    if trigger is None:
        trigger = {"type": "api"} if parent is None else {"type": "workflow", "execution_id": parent.execution_id}
    at_us, number = now_us(tx), session.sequence + 1
    row = Execution(
        graph_id=place.graph_id,
        execution_id=execution_id,
        session_id=session.session_id,
        revision_id=session.revision_id,
        number=number,
        definition_id=definition.definition_id,
        definition_alias=definition.alias,
        source=msgspec.json.encode(source),
        workflow=workflow,
        input_data=input_data,
        sha256=sha256,
        user_id=place.visitor.user_id if parent is None else parent.user_id,
        trigger_by=msgspec.json.encode(trigger),
        settings=msgspec.json.encode(settings),
        parent_id=None if parent is None else parent.execution_id,
        depth=0 if parent is None else parent.depth + 1,
        status=rules.CREATING,
        stop_by_us=None,
        stop_reason=None,
        error=None,
        last_at_us=at_us,
        events=0,
        created_at_us=at_us,
        updated_at_us=at_us,
        started_at_us=None,
        ended_at_us=None,
        is_told=0,
    )
    executions.add(tx, row)
    grown = msgspec.structs.replace(session, sequence=number, executions=session.executions + 1)
    sessions.save(tx, session, grown)
    _start_instance(tx, row)
    return {"execution": of_execution(row)}


def _parent(tx: Transaction, place: Place) -> Execution | None:
    """The execution that starts this one. HubRefused(limit_exceeded) when they are nested too deep."""
    if place.visitor.execution_id is None:
        return None
    parent = executions.get(tx, place.graph_id, place.visitor.execution_id)
    if parent is not None and parent.depth + 1 > hub_limits.CHILD_DEPTH:
        most = hub_limits.CHILD_DEPTH
        limit = {"id": "workflow.execution_depth", "value": most, "held": parent.depth}
        raise HubRefused("limit_exceeded", f"executions start executions at most {most} deep", limit=limit)
    return parent


def _start_instance(tx: Transaction, row: Execution) -> None:
    """One message, with the execution's id only (decision 35). A turn without attempts left is let go."""
    instance_id = rules.instance_id(row.execution_id)
    wanted = WorkflowInstanceCreateRequest(
        id=instance_id,
        workflow_type=rules.WORKFLOW_TYPE,
        version=rules.VERSION,
        max_attempts=ATTEMPTS,
        on_exhausted="skip",
    )
    instance.create(tx, row.graph_id, wanted)
    message = Raw(msgspec.json.encode({"execution_id": row.execution_id}))
    instance.send(
        tx, row.graph_id, WorkflowMessageRequest(workflow_id=instance_id, id=row.execution_id, message=message)
    )


def resolve(
    tx: Transaction, place: Place, reference: references.WorkflowReference
) -> tuple[Definition, dict[str, Any]]:
    """The definition, and where it lives. HubRefused(access_denied | invalid_definition_category)."""
    revision = _revision(tx, place, reference)
    found = _definition(tx, revision, reference)
    if found is None or found.revision_id != revision.revision_id:
        raise denied(f"the definition {references.path_of(reference)}")
    if found.category != hub_definition.WORKFLOW:
        raise HubRefused("invalid_definition_category", f"the definition {found.alias} is a {found.category}")
    of = place.blob if reference.is_local else blob(tx, place.visitor, reference.org or "", reference.blob or "")
    return found, {"org_id": of.org_id, "blob_id": of.blob_id, "revision_id": revision.revision_id}


def _revision(tx: Transaction, place: Place, reference: references.WorkflowReference) -> Revision:
    if reference.is_local:
        return place.revision
    assert reference.blob is not None
    if reference.org is None:
        of = blob(tx, place.visitor, reference.blob, reference.blob)
    else:
        of = owned_blob(tx, place.visitor, reference.org, reference.blob)
    found = revision_of(tx, of, reference.revision_id or DEFAULT)
    if found is None:
        raise denied(f"the revision {reference.revision} of the blob {of.alias}")
    return found


def _definition(tx: Transaction, revision: Revision, reference: references.WorkflowReference) -> Definition | None:
    if aliases.is_canonical_id(reference.definition):
        return definitions.get(tx, revision.graph_id, reference.definition)
    where = (revision.revision_id, hub_definition.WORKFLOW, reference.definition)
    return definitions.by_alias(tx, revision.graph_id, *where)


# -- debugging ---------------------------------------------------------------------------------------------------


def fork(tx: Transaction, place: Place, request: HubForkExecutionRequest) -> dict[str, Any]:
    """A new run of the same document that takes over what the other did up to one component, outputs edited.

    HubRefused(execution_not_finished) when that component has not finished there.
    """
    origin = get_row(tx, place, request.execution_id)
    session = find_open(tx, place, origin.session_id)
    kept = _component_run(tx, origin, request.component_key)
    if kept is None or origin.sha256 is None:
        what = f"the execution has no finished component run {request.component_key!r}"
        raise HubRefused("execution_not_finished", what)
    outputs = None if request.outputs is UNSET else list(request.outputs)
    for index, one in enumerate(outputs or []):
        values.check_value(bytes(one.value), f"outputs[{index}].value")
    forked = {
        "execution_id": origin.execution_id,
        "component_key": request.component_key,
        "through": kept.sequence,
        "outputs": None if outputs is None else [{"route": one.route, "value": one.value} for one in outputs],
        "route": request.route if isinstance(request.route, str) else None,
    }
    definition = Definition(
        origin.graph_id, origin.definition_id, origin.revision_id, hub_definition.WORKFLOW, origin.definition_alias,
        None, origin.sha256, origin.created_at_us, origin.created_at_us,
    )  # fmt: skip
    return _start(
        tx,
        place,
        session,
        definition,
        execution_id=_new_id(place),
        source=msgspec.json.decode(origin.source),
        workflow=origin.workflow,
        input_data=origin.input_data,
        settings={**_settings(request), "fork": forked},
        sha256=origin.sha256,
    )


def _component_run(tx: Transaction, origin: Execution, component_key: str) -> Data | None:
    found = executions.data_page(tx, origin.graph_id, origin.execution_id, _DATA_MAX)
    return next((one for one in found if one.component_key == component_key.encode()), None)


def go_on(tx: Transaction, place: Place, request: HubContinueExecutionRequest) -> dict[str, Any]:
    """Let a run go on that waits at a breakpoint. HubRefused(execution_not_paused)."""
    row = get_row(tx, place, request.execution_id)
    topic = hub_waiting.breakpoint_of(row.execution_id)
    if not executions.waits(tx, place.graph_id, topic):
        raise HubRefused("execution_not_paused", f"the execution is {row.status} and waits at no breakpoint")
    pause_before = None if request.pause_before is UNSET else list(request.pause_before)
    hub_waiting.tell(tx, place.graph_id, topic, {"pause_before": pause_before})
    return {"execution": of_execution(row)}


def stop(tx: Transaction, place: Place, request: HubStopExecutionRequest) -> dict[str, Any]:
    """`stopping` at once. HubRefused(invalid_execution_status) unless it is running."""
    row = get_row(tx, place, request.execution_id)
    stopped = hub_ending.stop(tx, place.graph_id, row.execution_id)
    return {"execution": of_execution(stopped or row)}


# -- reading -----------------------------------------------------------------------------------------------------


def get_row(tx: Transaction, place: Place, execution_id: str) -> Execution:
    """HubRefused(access_denied) when it is absent, or lives on another revision, or its session is deleted."""
    found = executions.get(tx, place.graph_id, execution_id)
    if found is None or found.revision_id != place.revision.revision_id:
        raise denied(f"the execution {execution_id}")
    find_by_id(tx, place, found.session_id)
    return found


def get(tx: Transaction, place: Place, request: HubGetExecutionRequest) -> dict[str, Any]:
    return {"execution": of_execution(get_row(tx, place, request.execution_id))}


def list_page(tx: Transaction, place: Place, request: HubListExecutionsRequest) -> dict[str, Any]:
    """Newest first unless `ascending`."""
    session = find(tx, place, request.session_id)
    after = hub_cursor.read_number(request.cursor) if isinstance(request.cursor, str) else None
    found = executions.page(tx, place.graph_id, session.session_id, after, request.rows + 1, request.ascending)
    page = found[: request.rows]
    cursor = hub_cursor.of_number(page[-1].number) if len(found) > len(page) else None
    return {"executions": [of_execution(one) for one in page], "cursor": cursor}


def list_events(tx: Transaction, place: Place, request: HubListExecutionEventsRequest) -> dict[str, Any]:
    """By (time, sequence), to which cursors are pinned: pages never overlap, whatever is written meanwhile."""
    row = get_row(tx, place, request.execution_id)
    asked = span(request, hub_cursor.read_place(request.cursor))
    found = executions.events(tx, place.graph_id, row.execution_id, asked, request.rows + 1)
    page = found[: request.rows]
    cursor = hub_cursor.of_place(page[-1].created_at_us, page[-1].sequence) if len(found) > len(page) else None
    return {"execution_events": [of_event(row, one) for one in page], "cursor": cursor}


def get_data(tx: Transaction, place: Place, request: HubGetExecutionDataRequest) -> dict[str, Any]:
    """What its components took and gave, in the order they finished; one value when `data_id` names it."""
    row = get_row(tx, place, request.execution_id)
    if isinstance(request.data_id, str):
        one = executions.data(tx, place.graph_id, row.execution_id, request.data_id)
        if one is None:
            raise HubRefused("not_found", f"the execution keeps no value {request.data_id!r}")
        return {"data": [of_data(one)]}
    found = executions.data_page(tx, place.graph_id, row.execution_id, _DATA_MAX)
    return {"data": [of_data(one) for one in found]}


def get_definition(tx: Transaction, place: Place, request: HubGetExecutionDefinitionRequest) -> dict[str, Any]:
    """The document that the run is fixed to; before its start, the one that it would be fixed to now (decision 35).

    HubRefused(access_denied) unless the visitor may read the blob that the definition lives on.
    """
    row = get_row(tx, place, request.execution_id)
    source = msgspec.json.decode(row.source)
    blob(tx, place.visitor, source["org_id"], source["blob_id"])
    definition = definitions.get(tx, place.graph_id, row.definition_id)
    sha256 = row.sha256 or (None if definition is None else definition.sha256)
    if sha256 is None:
        raise HubRefused("not_found", f"the definition {row.definition_alias} has no document any more")
    shown = {"id": row.definition_id, "alias": row.definition_alias, "revision_id": source["revision_id"]}
    return {"definition": shown, "definition_object": Raw(definitions.document(tx, place.graph_id, sha256))}


def of_execution(row: Execution) -> dict[str, Any]:
    settings = msgspec.json.decode(row.settings)
    return {
        "id": row.execution_id,
        "session_id": row.session_id,
        "revision_id": row.revision_id,
        "definition_id": row.definition_id,
        "definition_alias": row.definition_alias,
        "workflow": Raw(row.workflow),
        "workflow_source": Raw(row.source),
        "status": row.status,
        "input_data": Raw(row.input_data),
        "user_id": row.user_id,
        "trigger": Raw(row.trigger_by),
        "parent_id": row.parent_id,
        "document_sha256": row.sha256,
        "error": None if row.error is None else Raw(row.error),
        "stop_reason": row.stop_reason,
        "created_at": micro_iso(row.created_at_us),
        "updated_at": micro_iso(row.updated_at_us),
        "started_at": None if row.started_at_us is None else micro_iso(row.started_at_us),
        "ended_at": None if row.ended_at_us is None else micro_iso(row.ended_at_us),
        **settings,
    }


def of_event(row: Execution, event: Event) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": event.event_id,
        "revision_id": row.revision_id,
        "session_id": row.session_id,
        "execution_id": row.execution_id,
        "created_at": micro_iso(event.created_at_us),
        "type": event.type,
    }
    if event.message is not None:
        shown["message"] = event.message.decode()
    if event.attributes is not None:
        shown["attributes"] = Raw(event.attributes)
    if event.data_id is not None:
        shown["data"] = {"data_id": event.data_id}
    return shown


def of_data(data: Data) -> dict[str, Any]:
    return {
        "data_id": data.data_id,
        "component_id": None if data.component_id is None else data.component_id.decode(),
        "component_key": None if data.component_key is None else data.component_key.decode(),
        "created_at": micro_iso(data.created_at_us),
        "value": Raw(data.value),
    }
