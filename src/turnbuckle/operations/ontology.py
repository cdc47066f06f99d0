"""The ontology of a graph: evolved, tried, viewed (lbb-graph 2.2)."""

from collections.abc import Iterator

from msgspec.structs import replace

from turnbuckle.graph import evolve as rules
from turnbuckle.graph import iri
from turnbuckle.graph import ontology as ontologies
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.evolve import Evolved, Need
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.ontology import EMPTY, ONE_SOURCE, ONE_TARGET, EntityType, Ontology, Property, Relation
from turnbuckle.operations import commit_log, graph
from turnbuckle.operations.caller import Caller
from turnbuckle.store import edge, entity
from turnbuckle.store import graph as graphs
from turnbuckle.store import ontology as documents
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.ontology import (
    OntologyChange,
    OntologyEntityType,
    OntologyEvolveQuery,
    OntologyEvolveRequest,
    OntologyEvolveResponse,
    OntologyProperty,
    OntologyQuery,
    OntologyRelation,
    OntologyRelationName,
    OntologyResponse,
    OntologyTypeName,
)

_PAGE = 1_000


def load(tx: Transaction, head: GraphHead) -> Ontology:
    """The newest version."""
    document = documents.get(tx, head.graph_id, head.ontology_version)
    return EMPTY if document is None else ontologies.decode(document)


def of_graph(tx: Transaction, graph_id: str) -> Ontology:
    """The same for a reader; a graph that is not there declares nothing."""
    head = graphs.head(tx, graph_id)
    return EMPTY if head is None else load(tx, head)


# -- changing ----------------------------------------------------------------------------------------------------


def evolve(
    tx: Transaction, graph_id: str, query: OntologyEvolveQuery, body: OntologyEvolveRequest, caller: Caller
) -> OntologyEvolveResponse:
    """Apply the operations, all or none. Refused(conflict) with `details.conflicts` when data in use is in the way.

    With `dry_run` nothing is written, and conflicts are part of the answer.
    """
    head = commit_log.lock(tx, graph_id, caller)
    commit_log.check_preconditions(head, body.preconditions)
    evolved = rules.evolve(load(tx, head), body.ops, head.ontology_version + 1)
    conflicts = [need for need in evolved.needs if _is_in_the_way(tx, graph_id, evolved.ontology, need)]
    if conflicts and not query.dry_run:
        shown = [{"subject": need.id, "message": need.message} for need in conflicts]
        raise Refused("conflict", f"ops: {conflicts[0].message}", param="ops", details={"conflicts": shown})
    if evolved.applied and not query.dry_run:
        after = replace(head, ontology_version=head.ontology_version + 1)
        documents.add(tx, graph_id, after.ontology_version, ontologies.encode(evolved.ontology))
        graphs.save(tx, head, after)
        tx.announce("committed", graph_id)  # whoever reads the graph by its ontology looks again
    return _evolved(caller, head, evolved, conflicts, query.dry_run)


def _evolved(
    caller: Caller, head: GraphHead, evolved: Evolved, conflicts: list[Need], is_dry_run: bool
) -> OntologyEvolveResponse:
    blocked = [OntologyChange(kind="restrictive", subject=need.id, message=need.message) for need in conflicts]
    return OntologyEvolveResponse(
        graph=graph.key_of(caller),
        base_ontology_version=head.ontology_version,
        ontology_version=head.ontology_version + bool(evolved.applied),
        dry_run=is_dry_run,
        publishable=not conflicts,
        no_op=not evolved.applied,
        applied=list(evolved.applied),
        messages=list(evolved.messages),
        conflicts=blocked or None,
    )


def _is_in_the_way(tx: Transaction, graph_id: str, after: Ontology, need: Need) -> bool:
    """Whether data in use is of what an operation takes away."""
    if need.kind == "records":
        return bool(entity.of_class(tx, graph_id, need.id, "", 1))
    links = _links(tx, graph_id, need.id)
    if need.kind == "links" or need.relation is None:
        return next(links, None) is not None
    if need.kind == "many":
        return _has_too_many(links, need.relation)
    return any(not _fits(tx, graph_id, after, link, need.relation) for link in links)


def _links(tx: Transaction, graph_id: str, relation_id: str) -> Iterator[Edge]:
    after, page = edge.START, edge.of_relation(tx, graph_id, relation_id, edge.START, _PAGE)
    while page:
        yield from page
        after = edge.place(page[-1])
        page = edge.of_relation(tx, graph_id, relation_id, after, _PAGE)


def _has_too_many(links: Iterator[Edge], relation: Relation) -> bool:
    pairs = {(link.source_id, link.target_id) for link in links}
    of_sources, of_targets = {source for source, _ in pairs}, {target for _, target in pairs}
    has_targets = relation.cardinality in ONE_TARGET and len(of_sources) < len(pairs)
    return has_targets or (relation.cardinality in ONE_SOURCE and len(of_targets) < len(pairs))


def _fits(tx: Transaction, graph_id: str, after: Ontology, link: Edge, relation: Relation) -> bool:
    ends = entity.current(tx, graph_id, [link.source_id, link.target_id])
    source, target = ends[link.source_id].class_id, ends[link.target_id].class_id
    return after.is_one_of(source, relation.domain) and after.is_one_of(target, relation.range)


# -- reading -----------------------------------------------------------------------------------------------------


def view(tx: Transaction, graph_id: str, query: OntologyQuery, caller: Caller) -> OntologyResponse:
    """Refused(not_found) when there is no such graph."""
    head = graphs.head(tx, graph_id)
    if head is None:
        raise commit_log.missing(caller)
    declared = load(tx, head)
    counts = entity.count_of_classes(tx, graph_id) if query.counts else None
    types, relations = declared.entity_types.values(), declared.relations.values()
    return OntologyResponse(
        graph=graph.key_of(caller),
        ontology_version=head.ontology_version,
        entity_types=[
            OntologyTypeName(name=one.name, count=None if counts is None else counts.get(one.id, 0)) for one in types
        ],
        relations=[OntologyRelationName(name=one.name) for one in relations],
        entity_type_defs=[_entity_type(declared, one) for one in types],
        property_defs=[_property(one) for one in declared.properties.values()],
        relation_defs=[_relation(declared, one) for one in relations],
    )


def _entity_type(declared: Ontology, one: EntityType) -> OntologyEntityType:
    return OntologyEntityType(
        name=one.name,
        iri=iri.of_class(one.id),
        stable_id=one.id,
        since_version=one.since_version,
        resolvable=True,
        properties=[],
        super_types=_names(declared, one.super_types) or None,
    )


def _property(one: Property) -> OntologyProperty:
    return OntologyProperty(
        name=one.name,
        value_type=one.value_type,  # type: ignore[arg-type]  # checked at the door
        required=one.required,
        iri=iri.of_property(one.id),
        since_version=one.since_version,
        unit=one.unit,
        allowed_values=list(one.allowed_values) or None,
    )


def _relation(declared: Ontology, one: Relation) -> OntologyRelation:
    return OntologyRelation(
        name=one.name,
        iri=iri.of_relation(one.id),
        stable_id=one.id,
        since_version=one.since_version,
        domain=_names(declared, one.domain),
        range=_names(declared, one.range),
        cardinality=one.cardinality,  # type: ignore[arg-type]  # checked at the door
        symmetric=one.symmetric,
        transitive=one.transitive,
        temporal_semantics=one.temporal_semantics,
        reducer=one.reducer,
        inverse_name=one.inverse_name,
    )


def _names(declared: Ontology, classes: tuple[str, ...]) -> list[str]:
    return [declared.entity_types[class_id].name for class_id in classes]
