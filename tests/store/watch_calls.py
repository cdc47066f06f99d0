"""Graph and watch operations as a test calls them. The watch is `notes`, over the class Note, served by t@v1."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from tests.store.calls import Store, plain
from turnbuckle.graph import iri
from turnbuckle.graph.entity import entity_id
from turnbuckle.operations import commit, named, named_reads, ontology, requeue, triggered
from turnbuckle.operations.caller import the_server
from turnbuckle.store.database import read, write
from turnbuckle.wire.commit import GraphCommitRequest
from turnbuckle.wire.named import (
    NamedWorkflow,
    NamedWorkflowDeleteQuery,
    NamedWorkflowPauseRequest,
    NamedWorkflowQuery,
    NamedWorkflowRequest,
    NamedWorkflowsQuery,
    TriggeredWorkflow,
    TriggeredWorkflowRequest,
)
from turnbuckle.wire.ontology import OntologyEvolveQuery, OntologyEvolveRequest
from turnbuckle.wire.turn import WorkflowTurnTask
from turnbuckle.wire.watch import (
    WorkflowQueueQuery,
    WorkflowQueueResponse,
    WorkflowRequeueItem,
    WorkflowRequeueRequest,
    WorkflowRequeueResponse,
)

SERVER = the_server("test", "main")
T_V1 = {"workflow_type": "t", "version": "v1"}
ONTOLOGY: list[dict[str, Any]] = [
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_entity_type", "name": "Topic"},
    {"op": "add_property", "name": "text"},
    {"op": "add_property", "name": "word_count", "value_type": "i64"},
    {"op": "add_property", "name": "owner", "value_type": "keyword"},
    {"op": "add_relation", "name": "ABOUT"},
    {"op": "add_relation", "name": "HAS_SOURCE"},
]
_KEYS = iter(range(10**9))


def declare(store: Store, *ops: dict[str, Any]) -> None:
    """The ontology of these tests, or some operations on it."""
    body = msgspec.convert({"ops": list(ops or ONTOLOGY)}, OntologyEvolveRequest)
    write(
        store.database,
        lambda tx: ontology.evolve(tx, store.graph_id, OntologyEvolveQuery(), body, SERVER),
    )


def committed(store: Store, **body: Any) -> int:
    """The number of the commit."""
    asked = msgspec.convert(body, GraphCommitRequest)
    caller = msgspec.structs.replace(SERVER, idempotency_key=f"test-{next(_KEYS)}")
    return write(store.database, lambda tx: commit.commit(tx, store.graph_id, asked, caller)).commit_seq


def note(store: Store, name: str, type: str = "Note", **properties: Any) -> int:
    """Write fields of one record; the number of the commit."""
    row = {"type": type, "name": name, "key": name, "properties": properties}
    return committed(store, entity_properties=[row])


def notes(store: Store, names: Sequence[str], **properties: Any) -> int:
    """The same of many records in one commit."""
    rows = [{"type": "Note", "name": name, "key": name, "properties": properties} for name in names]
    return committed(store, entity_properties=rows)


def link(store: Store, source: str, relation: str, target: str, to_type: str = "Topic") -> int:
    ends = [{"type": "Note", "name": source, "key": source}, {"type": to_type, "name": target, "key": target}]
    return committed(store, triplets=[{"source": ends[0], "relation": relation, "target": ends[1]}])


def retract(store: Store, name: str, type: str = "Note") -> int:
    return committed(
        store, replace_owned={"subjects": [], "retract_entities": [{"type": type, "name": name, "key": name}]}
    )


def iri_of(store: Store, name: str, type: str = "Note") -> str:
    """The record's IRI, whether it is there or not."""
    declared = read(store.database, partial(ontology.of_graph, graph_id=store.graph_id))
    found = declared.entity_type(type)
    assert found is not None
    return iri.of_entity(entity_id(found.id, name, name))


# -- workflows ---------------------------------------------------------------------------------------------------


def watch(store: Store, name: str = "notes", fields: Any = ("text",), class_: str = "Note", **more: Any) -> Any:
    """A named workflow with a watch. `fields=None`: every field."""
    watched: dict[str, Any] = {"class": class_}
    if fields is not None:
        watched["fields"] = list(fields)
    if "exclude" in more:
        watched["exclude"] = more.pop("exclude")
    body = {"name": name, "workflow": T_V1, "triggers": [{"watch": watched}], **more}
    return put(store, body)


def put(store: Store, body: dict[str, Any]) -> NamedWorkflow:
    answer: NamedWorkflow = store.do(named.put, msgspec.convert(body, NamedWorkflowRequest))
    return answer


def starter(store: Store, **body: Any) -> TriggeredWorkflow:
    asked = {"starter": "workflow", "watch": {"class": "Note", "fields": ["text"]}, "workflow": T_V1, **body}
    request = msgspec.json.decode(json.dumps(asked), type=TriggeredWorkflowRequest)
    answer: TriggeredWorkflow = store.do(triggered.put, request)
    return answer


def get(store: Store, name: str = "notes") -> NamedWorkflow:
    answer: NamedWorkflow = store.look(named_reads.get, NamedWorkflowsQuery(name=name))
    return answer


def queue(store: Store, name: str = "notes", **query: Any) -> WorkflowQueueResponse:
    answer: WorkflowQueueResponse = store.look(named_reads.queue, WorkflowQueueQuery(name=name, **query))
    return answer


def pause(store: Store, paused: bool = True, name: str = "notes") -> NamedWorkflow:
    query, body = NamedWorkflowQuery(name=name), NamedWorkflowPauseRequest(paused=paused)
    answer: NamedWorkflow = write(store.database, lambda tx: named.pause(tx, store.graph_id, query, body))
    return answer


def run_now(store: Store, name: str = "notes") -> bool:
    query = NamedWorkflowQuery(name=name)
    return write(store.database, lambda tx: named.run(tx, store.graph_id, query, SERVER)).queued


def delete(store: Store, name: str = "notes") -> bool:
    query = NamedWorkflowDeleteQuery(name=name, confirm=name)
    return bool(store.do(named.delete, query).deleted)


def give_back(
    store: Store, task: WorkflowTurnTask, *instances: str, error: str | None = "no", name: str = "notes"
) -> WorkflowRequeueResponse:
    items = [WorkflowRequeueItem(instance=one, error=error) for one in instances]
    body = WorkflowRequeueRequest(workflow_id=task.turn.workflow_id, turn=task.turn.number, items=items)
    query = NamedWorkflowQuery(name=name)
    return write(store.database, lambda tx: requeue.requeue(tx, store.graph_id, query, body))


def pump(store: Store, most: int = 1_000) -> int:
    """Let all triggers do what they can now; how many pieces that took."""
    pieces = 0
    while waiting := [place for place in read(store.database, named.waiting) if _advance(store, *place, most)]:
        pieces += len(waiting)
        assert pieces < 10_000, "the triggers never rest"
    return pieces


def _advance(store: Store, graph_id: str, name: str, most: int) -> bool:
    return write(store.database, partial(named.advance, graph_id=graph_id, name=name, most=most))


def message(task: WorkflowTurnTask) -> dict[str, Any]:
    found: dict[str, Any] = plain(task.turn.message)
    return found


def origin(task: WorkflowTurnTask) -> dict[str, Any]:
    assert task.turn.origin is not None
    found: dict[str, Any] = json.loads(bytes(task.turn.origin))
    return found
