"""One record: its fields and links as a commit left them (lbb-graph 2.11)."""

import json
from typing import Any

from turnbuckle.graph import entity as rules
from turnbuckle.graph import iri
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.entity import ID_KEY_SENTINEL, Entity
from turnbuckle.graph.fact import Fact
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.ontology import Ontology
from turnbuckle.operations import commit_log, ontology
from turnbuckle.operations.caller import Caller
from turnbuckle.store import commit as commits
from turnbuckle.store import edge, fact
from turnbuckle.store import entity as entities
from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.entity import (
    GraphEntityEdge,
    GraphEntityMetadata,
    GraphEntityPast,
    GraphEntityQuery,
    GraphEntityRef,
    GraphEntityResponse,
    GraphEntityState,
    GraphObservation,
)
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.graph import GraphSnapshot


def get(tx: Transaction, graph_id: str, query: GraphEntityQuery, caller: Caller) -> GraphEntityResponse:
    """Refused(not_found) when the record was not there at that commit."""
    head = graphs.head(tx, graph_id)
    if head is None:
        raise commit_log.missing(caller)
    seq, declared = _seq(head, query), ontology.load(tx, head)
    found = entities.at(tx, graph_id, _id_of(declared, query), seq)
    if found is None:
        raise Refused("not_found", f"there is no such record at commit {seq}")
    return _Reader(tx, declared, found, seq).answer(head, query)


def _seq(head: GraphHead, query: GraphEntityQuery) -> int:
    """The commit to read. One above the head is an error, never cut."""
    asked = query.as_of_commit_seq
    if asked is not None and asked > head.head_seq:
        what = f"as_of_commit_seq: got {asked}, the newest commit is {head.head_seq}"
        raise Refused("invalid_param", what, param="as_of_commit_seq")
    return head.head_seq if asked is None else asked


def _id_of(declared: Ontology, query: GraphEntityQuery) -> str:
    if query.id is not None:
        return query.id.lower()
    if query.key is not None and query.key.startswith(ID_KEY_SENTINEL):
        return query.key.removeprefix(ID_KEY_SENTINEL).lower()
    if query.type is None or (query.key is None and query.name is None):
        raise Refused("invalid_param", "id: got none, expected id, or type with key or name", param="id")
    one = declared.entity_type(query.type)
    if one is None:
        raise Refused("invalid_param", f"type: class {query.type[:80]!r} is not declared", param="type")
    return rules.entity_id(one.id, query.key, query.name or "")


class _Reader:
    """A record at one commit, with what its answer needs of the graph."""

    def __init__(self, tx: Transaction, declared: Ontology, found: Entity, seq: int) -> None:
        self._tx, self._declared, self._found, self._seq = tx, declared, found, seq
        self._refs: dict[str, GraphEntityRef] = {}

    def answer(self, head: GraphHead, query: GraphEntityQuery) -> GraphEntityResponse:
        found = self._found
        where = (self._tx, found.graph_id, found.entity_id)
        facts = fact.at(*where, self._seq)
        out, into = (read(*where, self._seq, query.edges) for read in (edge.out_at, edge.in_at))
        return GraphEntityResponse(
            entity=self._ref(found),
            attributes={self._field(one): json.loads(one.value) for one in facts},
            outgoing=[self._edge(one, one.target_id) for one in out],
            incoming=[self._edge(one, one.source_id) for one in into],
            current_state=[self._state(one) for one in facts],
            history=self._history(),
            observations=self._observations([*out, *into], query.evidence),
            metadata=self._metadata(facts),
            snapshot=self._snapshot(head, query),
        )

    def _ref(self, one: Entity) -> GraphEntityRef:
        return GraphEntityRef(id=one.entity_id, type=self._type(one.class_id), name=one.name.decode())

    def _type(self, class_id: str) -> str:
        declared = self._declared.entity_types.get(class_id)
        return class_id if declared is None else declared.name  # one that was removed since

    def _field(self, one: Fact) -> str:
        return self._declared.properties[one.property_id].name

    def _relation(self, one: Edge) -> str:
        declared = self._declared.relations.get(one.relation_id)
        return one.relation_id if declared is None else declared.name

    def _other(self, entity_id: str) -> GraphEntityRef:
        if entity_id not in self._refs:
            other = entities.at(self._tx, self._found.graph_id, entity_id, self._seq)
            assert other is not None  # links end with their records
            self._refs[entity_id] = self._ref(other)
        return self._refs[entity_id]

    def _edge(self, one: Edge, other: str) -> GraphEntityEdge:
        return GraphEntityEdge(
            edge_event_id=one.event_id,
            relation=self._relation(one),
            entity=self._other(other),
            commit_seq=one.from_seq,
            confidence=one.confidence,
            evidence=_decoded(one.evidence),
            properties=_decoded(one.properties),
            valid_time=_decoded(one.valid_time),
        )

    def _state(self, one: Fact) -> GraphEntityState:
        return GraphEntityState(field=self._field(one), value=json.loads(one.value), commit_seq=one.from_seq)

    def _history(self) -> list[GraphEntityPast]:
        rows = fact.history(self._tx, self._found.graph_id, self._found.entity_id, limits.ENTITY_HISTORY)
        return [
            GraphEntityPast(
                field=self._field(one),
                value=json.loads(one.value),
                from_commit_seq=one.from_seq,
                to_commit_seq=one.to_seq,
            )
            for one in rows
            if one.to_seq is not None and one.to_seq <= self._seq
        ]

    def _observations(self, edges: list[Edge], most: int) -> list[GraphObservation]:
        newest = sorted((one for one in edges if one.evidence is not None), key=lambda one: -one.from_seq)
        return [
            GraphObservation(
                edge_event_id=one.event_id, relation=self._relation(one), evidence=_decoded(one.evidence) or {}
            )
            for one in newest[:most]
        ]

    def _metadata(self, facts: list[Fact]) -> GraphEntityMetadata:
        found = self._found
        newest = max([found.from_seq, *(one.from_seq for one in facts)])
        commit = commits.get(self._tx, found.graph_id, newest)
        return GraphEntityMetadata(
            iri=iri.of_entity(found.entity_id),
            first_commit_seq=found.from_seq,
            key=None if found.key is None else found.key.decode(),
            changed_at_ms=None if commit is None else commit.at_ms,
        )

    def _snapshot(self, head: GraphHead, query: GraphEntityQuery) -> GraphSnapshot:
        return GraphSnapshot(
            commit_seq=self._seq,
            compacted_seq=head.head_seq,
            served_at_seq=head.head_seq,
            as_of_commit_seq=query.as_of_commit_seq,
        )


def _decoded(value: bytes | None) -> dict[str, Any] | None:
    return None if value is None else json.loads(value)
