"""What a commit asks for, with every name looked up in the ontology: the first half of a commit, without the graph.

The second half is graph/commit.py, which compares it with the records that are there.
"""

from collections.abc import Iterator

import msgspec

from turnbuckle.graph import reference, values
from turnbuckle.graph.ontology import Ontology, Relation
from turnbuckle.graph.reference import Reference, refused
from turnbuckle.wire import limits
from turnbuckle.wire.commit import (
    EntityPropertiesInput,
    EvidenceInput,
    GraphCommitRequest,
    NamedEntityInput,
    PropertiesInput,
    ReplaceOwned,
    TripletInput,
)


class Row(msgspec.Struct, frozen=True):
    """Fields of one record."""

    record: Reference
    sets: dict[str, bytes]  # stored values by property id
    removes: tuple[str, ...]  # property ids


class Link(msgspec.Struct, frozen=True):
    path: str
    source: Reference
    relation: Relation
    target: Reference
    confidence: float | None = None
    evidence: bytes | None = None
    properties: bytes | None = None
    valid_time: bytes | None = None

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.source.entity_id, self.relation.id, self.target.entity_id


class Owned(msgspec.Struct, frozen=True):
    """What goes unless the same commit asserts it again."""

    subjects: tuple[Reference, ...] = ()
    relations: frozenset[str] = frozenset()
    properties: frozenset[str] = frozenset()
    retracts: tuple[Reference, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    rows: tuple[Row, ...] = ()
    links: tuple[Link, ...] = ()
    owned: Owned | None = None
    replaces_fields: bool = False  # a row is the record's whole field set
    skips_unchanged: bool = False  # a link that is there is not written again
    unlinks: tuple[Link, ...] = ()  # links to end, every copy of each

    def references(self) -> Iterator[Reference]:
        """Every place that names a record to be written."""
        for row in self.rows:
            yield row.record
        for link in self.links:
            yield link.source
            yield link.target


def ask(ontology: Ontology, body: GraphCommitRequest) -> Asked:
    """Refused(invalid_request) with an index path, such as `entity_properties[3].properties.word_count`."""
    if not (body.triplets or body.entity_properties or body.replace_owned):
        raise refused("body", "got nothing to write, expected triplets, entity_properties or replace_owned")
    return Asked(
        tuple(row(ontology, one, f"entity_properties[{i}]") for i, one in enumerate(body.entity_properties or ())),
        tuple(link(ontology, one, f"triplets[{i}]") for i, one in enumerate(body.triplets or ())),
        None if body.replace_owned is None else _owned(ontology, body.replace_owned, "replace_owned"),
        body.property_merge == "replace",
        body.edge_idempotency == "skip_unchanged",
    )


def row(ontology: Ontology, asked: EntityPropertiesInput, path: str) -> Row:
    record = reference.resolve(ontology, asked, path)
    sets = values.fields(ontology, asked.properties, f"{path}.properties")
    places = [(name, f"{path}.remove_fields[{index}]") for index, name in enumerate(asked.remove_fields or ())]
    removes = []
    for name, place in places:
        removes.append(values.property_of(ontology, name, place).id)
        if removes[-1] in sets:
            raise refused(place, f"field {name!r} is both set and removed")
    return Row(record, sets, tuple(removes))


def link(ontology: Ontology, asked: TripletInput, path: str) -> Link:
    return Link(
        path,
        reference.resolve(ontology, asked.source, f"{path}.source"),
        relation(ontology, asked.relation, f"{path}.relation"),
        reference.resolve(ontology, asked.target, f"{path}.target"),
        asked.confidence,
        _evidence(asked.evidence, f"{path}.evidence"),
        _edge_fields(ontology, asked.properties, f"{path}.properties"),
        None if asked.valid_time is None else msgspec.json.encode(asked.valid_time),
    )


def relation(ontology: Ontology, name: str, path: str) -> Relation:
    found = ontology.relation(name)
    if found is None:
        raise refused(path, f"relation {name[:80]!r} is not declared; add it with the operation add_relation")
    return found


def _evidence(evidence: str | EvidenceInput | None, path: str) -> bytes | None:
    if evidence is None:
        return None
    if isinstance(evidence, str):
        evidence = EvidenceInput(text=evidence)
    region = evidence.region
    if region is not None and (region.x0 > region.x1 or region.y0 > region.y1):
        got = f"({region.x0}, {region.y0}) to ({region.x1}, {region.y1})"
        raise refused(f"{path}.region", f"got {got}, expected x0 <= x1 and y0 <= y1")
    return msgspec.json.encode(evidence)


def _edge_fields(ontology: Ontology, properties: PropertiesInput | None, path: str) -> bytes | None:
    fields = values.fields(ontology, properties, path)
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in fields.items()}) if fields else None


def _owned(ontology: Ontology, asked: ReplaceOwned, path: str) -> Owned:
    subjects, retracts = asked.subjects or [], asked.retract_entities or []
    count = len(subjects) + len(retracts)
    if not 1 <= count <= limits.OWNED_RECORDS:
        what = f"got {count} subjects and retract_entities, expected 1 to {limits.OWNED_RECORDS}"
        raise refused(path, what)
    relations, properties = enumerate(asked.relations or ()), enumerate(asked.properties or ())
    return Owned(
        _references(ontology, subjects, f"{path}.subjects"),
        frozenset(relation(ontology, name, f"{path}.relations[{i}]").id for i, name in relations),
        frozenset(values.property_of(ontology, name, f"{path}.properties[{i}]").id for i, name in properties),
        _references(ontology, retracts, f"{path}.retract_entities"),
    )


def _references(ontology: Ontology, named: list[NamedEntityInput], path: str) -> tuple[Reference, ...]:
    return tuple(reference.resolve(ontology, one, f"{path}[{index}]") for index, one in enumerate(named))
