"""Graphs as a test writes and reads them: verbs on a store, with defaults, so that a test shows only what matters.

`declared(store)` gives classes Note and Person (over nothing), Draft under Note, some properties, and relations.
"""

import itertools
import json
from typing import Any

import msgspec

from tests.store.calls import Store
from turnbuckle.graph.entity import entity_id
from turnbuckle.operations import commit, entity, ontology
from turnbuckle.operations.caller import Caller
from turnbuckle.store import change, edge, fact
from turnbuckle.store import entity as entities
from turnbuckle.store.database import read
from turnbuckle.wire.commit import (
    GraphCommitDryRunResponse,
    GraphCommitRequest,
    GraphCommitResponse,
    GraphRetractRequest,
    GraphRetractResponse,
)
from turnbuckle.wire.entity import GraphEntityQuery, GraphEntityResponse
from turnbuckle.wire.ontology import (
    OntologyEvolveQuery,
    OntologyEvolveRequest,
    OntologyEvolveResponse,
    OntologyQuery,
    OntologyResponse,
)

OPS: list[dict[str, Any]] = [
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_entity_type", "name": "Draft"},
    {"op": "add_entity_type", "name": "Person"},
    {"op": "add_super_types", "entity_type": "Draft", "super_types": ["Note"]},
    {"op": "add_property", "name": "text"},
    {"op": "add_property", "name": "word_count", "value_type": "i64"},
    {"op": "add_property", "name": "score", "value_type": "f64"},
    {"op": "add_property", "name": "seen_at", "value_type": "date_time"},
    {"op": "add_property", "name": "tags", "value_type": "keyword_set"},
    {"op": "add_property", "name": "state", "value_type": "keyword", "allowed_values": ["open", "done"]},
    {"op": "add_relation", "name": "MENTIONS"},
    {"op": "add_relation", "name": "ABOUT", "domain": ["Note"], "range": ["Person"]},
    {"op": "add_relation", "name": "WRITTEN_BY", "cardinality": "many_to_one", "inverse_name": "WROTE"},
]
_KEYS = itertools.count(1)


def caller(key: str | None = None) -> Caller:
    return Caller("test", "main", by="key:tests", role="admin", scope="user", idempotency_key=key)


def evolve(store: Store, *ops: dict[str, Any], dry_run: bool = False, **more: Any) -> OntologyEvolveResponse:
    body = msgspec.convert({"ops": list(ops), **more}, OntologyEvolveRequest)

    answer: OntologyEvolveResponse = store.do(_evolve, body, OntologyEvolveQuery(dry_run=dry_run))
    return answer


def _evolve(tx: Any, graph_id: str, body: OntologyEvolveRequest, query: OntologyEvolveQuery) -> Any:
    return ontology.evolve(tx, graph_id, query, body, caller())


def declared(store: Store) -> Store:
    evolve(store, *OPS)
    return store


def view(store: Store, *, counts: bool = False) -> OntologyResponse:
    shown: OntologyResponse = read(
        store.database, lambda tx: ontology.view(tx, store.graph_id, OntologyQuery(counts=counts), caller())
    )
    return shown


def write(store: Store, *, key: str | None = None, **body: Any) -> GraphCommitResponse:
    """A commit of these fields, under a new key unless one is given."""
    request = msgspec.convert(body, GraphCommitRequest)
    answer: GraphCommitResponse = store.do(commit.commit, request, caller(key or f"k-{next(_KEYS)}"))
    return answer


def dry(store: Store, **body: Any) -> GraphCommitDryRunResponse:
    answer: GraphCommitDryRunResponse = store.do(commit.dry_run, msgspec.convert(body, GraphCommitRequest), caller())
    return answer


def retract(store: Store, *, key: str | None = None, **body: Any) -> GraphRetractResponse:
    request = msgspec.convert(body, GraphRetractRequest)
    answer: GraphRetractResponse = store.do(commit.retract, request, caller(key or f"k-{next(_KEYS)}"))
    return answer


# -- parts of a body ---------------------------------------------------------------------------------------------


def ref(name: str, type: str = "Note", **more: Any) -> dict[str, Any]:
    return {"type": type, "name": name, **more}


def by_id(id: str, type: str = "Note", name: str | None = None) -> dict[str, Any]:
    """As `entity_ref` of the SDK makes it."""
    return {"type": type, "name": name or id, "key": "\0lbb-eid:" + id}


def row(name: str | dict[str, Any], type: str = "Note", remove: list[str] | None = None, **fields: Any) -> Any:
    named = name if isinstance(name, dict) else ref(name, type)
    return {**named, "properties": fields, **({"remove_fields": remove} if remove else {})}


def link(source: Any, relation: str, target: Any, **more: Any) -> dict[str, Any]:
    """Between records by name: notes, or what is given whole."""
    ends = [ref(end) if isinstance(end, str) else end for end in (source, target)]
    return {"source": ends[0], "relation": relation, "target": ends[1], **more}


def id_of(name: str, type: str = "note", key: str | None = None) -> str:
    return entity_id(type, key, name)


# -- reading -----------------------------------------------------------------------------------------------------


def detail(store: Store, id: str, **query: Any) -> GraphEntityResponse:
    asked = GraphEntityQuery(id=id, **query)
    shown: GraphEntityResponse = read(store.database, lambda tx: entity.get(tx, store.graph_id, asked, caller()))
    return shown


def fields(store: Store, name: str, type: str = "note", *, at: int | None = None) -> dict[str, Any]:
    """A record's fields, now or at a commit."""
    return detail(store, id_of(name, type), as_of_commit_seq=at).attributes


def targets(store: Store, name: str, type: str = "note", *, at: int | None = None) -> list[tuple[str, str]]:
    """(relation, name) of a record's links out, now or at a commit."""
    out = detail(store, id_of(name, type), as_of_commit_seq=at).outgoing
    return sorted((one.relation, one.entity.name) for one in out)


def feed(store: Store, after: int = 0) -> list[tuple[int, str, str, list[str]]]:
    """(commit, id, kind, fields) of the changes after a commit."""
    found = read(store.database, lambda tx: change.after(tx, store.graph_id, after, 10_000))
    return [(one.commit_seq, one.entity_id, one.kind, json.loads(one.fields)) for one in found]


def everything(store: Store, at: int) -> tuple[set[Any], set[Any], list[Any]]:
    """Records, fields and links as commit `at` left them, as the pages give them."""

    def pages(tx: Any) -> Any:
        records = {(one.entity_id, one.class_id, one.name) for one in _all(tx, store, entities, at)}
        facts = {(one.entity_id, one.property_id, one.value) for one in _all(tx, store, fact, at)}
        edges = sorted((one.source_id, one.relation_id, one.target_id) for one in _all(tx, store, edge, at))
        return records, facts, edges

    found: tuple[set[Any], set[Any], list[Any]] = read(store.database, pages)
    return found


def _all(tx: Any, store: Store, noun: Any, at: int) -> Any:
    """Small pages, so that a cut is met."""
    place = noun.START
    while page := noun.page_at(tx, store.graph_id, at, place, 3):
        yield from page
        place = noun.place(page[-1])
