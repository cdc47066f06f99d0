"""A commit as row changes: what was asked, compared with the records that are there (lbb-graph 2.5 and 2.6).

`plan` opens nothing: it is given what is present around the records that the commit names.
"""

from collections.abc import Iterable

import msgspec

from turnbuckle.graph import change as changes
from turnbuckle.graph.asked import Asked, Link, Owned, Row
from turnbuckle.graph.change import Change
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.entity import Entity
from turnbuckle.graph.fact import Fact
from turnbuckle.graph.ontology import ONE_SOURCE, ONE_TARGET, Ontology
from turnbuckle.graph.reference import Reference, refused
from turnbuckle.wire.commit import OwnedOutputsOutcome, SkippedEdge, SkippedEntity, WrittenProperties
from turnbuckle.wire.errors import Refused

Triple = tuple[str, str, str]  # source, relation, target


class Present(msgspec.Struct, frozen=True):
    """What is there now, at least of the records that `wanted` names."""

    entities: dict[str, Entity] = {}
    gone: frozenset[str] = frozenset()  # ids of records that were there once
    facts: dict[str, dict[str, Fact]] = {}  # by record and property
    edges: tuple[Edge, ...] = ()


class Wanted(msgspec.Struct, frozen=True):
    """Ids whose present rows a plan needs."""

    entities: frozenset[str]
    facts: frozenset[str]
    edges_out: frozenset[str]
    edges_in: frozenset[str]


class Plan(msgspec.Struct, frozen=True):
    """The rows to add and to end, and what the answer tells."""

    new_entities: tuple[Entity, ...] = ()
    ended_entities: tuple[Entity, ...] = ()
    new_facts: tuple[Fact, ...] = ()
    ended_facts: tuple[Fact, ...] = ()
    new_edges: tuple[Edge, ...] = ()
    ended_edges: tuple[Edge, ...] = ()
    changes: tuple[Change, ...] = ()
    written: tuple[WrittenProperties, ...] = ()
    owned: OwnedOutputsOutcome | None = None
    skipped_edges: tuple[SkippedEdge, ...] = ()
    skipped_entities: tuple[SkippedEntity, ...] = ()
    row_count: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.changes


def wanted(asked: Asked) -> Wanted:
    owned = asked.owned or Owned()
    referenced = frozenset(one.entity_id for one in asked.references())
    subjects = frozenset(one.entity_id for one in owned.subjects)
    retracts = frozenset(one.entity_id for one in owned.retracts)
    sources, targets = set[str](), set[str]()
    for link in asked.links:
        if asked.skips_unchanged or link.relation.cardinality in ONE_TARGET:
            sources.add(link.source.entity_id)
        if link.relation.cardinality in ONE_SOURCE:
            targets.add(link.target.entity_id)
    unlinked = {link.source.entity_id for link in asked.unlinks}
    return Wanted(
        referenced | subjects | retracts | unlinked,
        frozenset(row.record.entity_id for row in asked.rows) | (subjects if owned.properties else set()) | retracts,
        frozenset(sources | (subjects if owned.relations else set()) | retracts | unlinked),
        frozenset(targets | retracts),
    )


def plan(
    asked: Asked, present: Present, ontology: Ontology, graph_id: str, seq: int, bad: list[Refused] | None = None
) -> Plan:
    """The rows that commit `seq` writes.

    Refused(unknown_entity) for an id of a record that never was, (invalid_request) for a link that its relation does
    not take. With `bad` such rows and links go there instead and the others are planned.
    """
    draft = _Draft(asked, present, ontology, graph_id, seq, [] if bad is None else bad)
    draft.admit()
    if bad is None and draft.bad:
        raise draft.bad[0]
    draft.release_owned()
    draft.write_rows()
    draft.write_links()
    if bad is None and draft.bad:
        raise draft.bad[0]
    return draft.plan()


class _Draft:
    """The records around a commit, from as they are to as they will be."""

    def __init__(
        self, asked: Asked, present: Present, ontology: Ontology, graph_id: str, seq: int, bad: list[Refused]
    ) -> None:
        self.asked, self.present, self.ontology, self.bad = asked, present, ontology, bad
        self.graph_id, self.seq = graph_id, seq
        self.rows: list[Row] = []
        self.links: list[Link] = []
        self.fields = {id: {name: fact.value for name, fact in of.items()} for id, of in present.facts.items()}
        self.edges = {(edge.from_seq, edge.position): edge for edge in present.edges}
        self.ended: list[Edge] = []
        self.new_edges: list[Edge] = []
        self.names: dict[str, Reference] = {}  # of every record that is written, as it is named last
        self.retracted: set[str] = set()
        self.written: list[WrittenProperties] = []
        self.owned: OwnedOutputsOutcome | None = None
        self.skipped_edges: list[SkippedEdge] = []
        self.skipped_entities: list[SkippedEntity] = []

    # -- which rows and links are taken --------------------------------------------------------------------------

    def admit(self) -> None:
        self.made = {one.entity_id: one for one in self.asked.references() if not one.is_by_id}
        self.classes = {id: one.class_id for id, one in self.made.items()}
        self.classes |= {id: entity.class_id for id, entity in self.present.entities.items()}
        self.rows = [row for row in self.asked.rows if self._takes(row.record)]
        self.links = [link for link in self.asked.links if self._takes_link(link)]
        for row in self.rows:
            self._name(row.record)
        for link in self.links:
            self._name(link.source)
            self._name(link.target)

    def _takes_link(self, link: Link) -> bool:
        if not (self._takes(link.source) and self._takes(link.target)):
            return False
        for end, classes, word in (
            (link.source, link.relation.domain, "domain"),
            (link.target, link.relation.range, "range"),
        ):
            class_id = self.classes[end.entity_id]
            if not self.ontology.is_one_of(class_id, classes):
                names = ", ".join(self.ontology.entity_types[one].name for one in classes)
                got = self.ontology.entity_types[class_id].name
                what = f"got a {got}, expected the {word} of {link.relation.name}: {names}"
                self.bad.append(refused(end.path, what))
                return False
        return True

    def _takes(self, record: Reference) -> bool:
        """False for one that was retracted since it was read: its row is left out (decision 27)."""
        class_id = self.classes.get(record.entity_id)
        if class_id is None:
            if record.entity_id in self.present.gone:
                self.skipped_entities.append(SkippedEntity(path=record.path, entity_id=record.entity_id))
            else:
                self.bad.append(_unknown(record))
            return False
        if record.class_id not in self.ontology.with_super_types(class_id):
            name = self.ontology.entity_types[class_id].name
            what = f"got {record.type!r}, expected {name} or a class above it: that is the record's"
            self.bad.append(refused(f"{record.path}.type", what))
            return False
        return True

    def _name(self, record: Reference) -> None:
        known = self.names.get(record.entity_id)
        if known is None or not record.keeps_name:
            self.names[record.entity_id] = record

    # -- what goes -----------------------------------------------------------------------------------------------

    def release_owned(self) -> None:
        """End what the writer owns and does not assert again (lbb-graph 2.6), and what it asks to end."""
        asserted = {link.triple for link in self.links}
        ending = {link.triple for link in self.asked.unlinks}
        self._end(edge for edge in self.edges.values() if _triple(edge) in ending)
        if self.asked.owned is None:
            return
        owned = self.asked.owned
        edges_before, fields_removed = len(self.ended), 0
        sets = self._sets()
        subjects = {one.entity_id for one in owned.subjects}
        self._end(
            edge
            for edge in self.edges.values()
            if edge.source_id in subjects and edge.relation_id in owned.relations and _triple(edge) not in asserted
        )
        for id in sorted(subjects):
            fields_removed += self._remove_fields(id, owned.properties - sets.get(id, set()))
        retracts = {one.entity_id for one in owned.retracts}
        self._end(
            edge
            for edge in self.edges.values()
            if (edge.source_id in retracts or edge.target_id in retracts) and _triple(edge) not in asserted
        )
        for id in sorted(retracts):
            fields_removed += self._remove_fields(id, self.fields.get(id, {}).keys() - sets.get(id, set()))
        self.retracted = {id for id in retracts if id in self.present.entities and id not in self.names}
        self.owned = OwnedOutputsOutcome(
            edges_retracted=len(self.ended) - edges_before,
            fields_removed=fields_removed,
            entities_retracted=len(self.retracted),
        )

    def _sets(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for row in self.rows:
            found.setdefault(row.record.entity_id, set()).update(row.sets)
        return found

    def _end(self, edges: Iterable[Edge]) -> None:
        for edge in list(edges):
            self.ended.append(self.edges.pop((edge.from_seq, edge.position)))

    def _remove_fields(self, id: str, names: Iterable[str]) -> int:
        fields = self.fields.get(id, {})
        return sum(fields.pop(name, None) is not None for name in list(names))

    # -- what comes ----------------------------------------------------------------------------------------------

    def write_rows(self) -> None:
        replaced: set[str] = set()
        for row in self.rows:
            id = row.record.entity_id
            fields = self.fields.setdefault(id, {})
            removed = [name for name in row.removes if name in fields]
            if self.asked.replaces_fields and id not in replaced:
                removed = [name for name in fields if name not in row.sets]
                replaced.add(id)
            for name in removed:
                del fields[name]
            fields.update(row.sets)
            self.written.append(
                WrittenProperties(
                    type=row.record.type,
                    name=row.record.name,
                    fields=self._property_names(row.sets),
                    removed_fields=self._property_names(removed) or None,
                )
            )

    def _property_names(self, ids: Iterable[str]) -> list[str]:
        return [self.ontology.properties[id].name for id in ids]

    def write_links(self) -> None:
        there = {_triple(edge) for edge in self.edges.values()}
        targets, sources = _ends(there, by_source=True), _ends(there, by_source=False)
        for link in self.links:
            if self.asked.skips_unchanged and link.triple in there:
                self.skipped_edges.append(SkippedEdge(path=link.path, reason="unchanged"))
                continue
            source, relation, target = link.triple
            other_targets = targets.get((source, relation), set()) - {target}
            other_sources = sources.get((target, relation), set()) - {source}
            if (too_many := _too_many(link, other_targets, other_sources)) is not None:
                self.bad.append(too_many)
                continue
            there.add(link.triple)
            targets.setdefault((source, relation), set()).add(target)
            sources.setdefault((target, relation), set()).add(source)
            self.new_edges.append(self._edge(link))

    def _edge(self, link: Link) -> Edge:
        return Edge(
            self.graph_id,
            self.seq,
            len(self.new_edges),
            None,
            *link.triple,
            link.confidence,
            link.evidence,
            link.properties,
            link.valid_time,
        )

    # -- the rows ------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        new_entities, ended_entities = self._entity_rows()
        new_facts, ended_facts = self._fact_rows()
        made = _Changes(self.graph_id, self.seq, self.present.entities)
        made.note_entities(new_entities, ended_entities)
        made.note_facts((*new_facts, *ended_facts))
        made.note_edges((*self.new_edges, *self.ended))
        return Plan(
            tuple(new_entities),
            tuple(ended_entities),
            tuple(new_facts),
            tuple(ended_facts),
            tuple(self.new_edges),
            tuple(self.ended),
            made.rows(),
            tuple(self.written),
            self.owned,
            tuple(self.skipped_edges),
            tuple(self.skipped_entities),
            len(self.rows),
        )

    def _entity_rows(self) -> tuple[list[Entity], list[Entity]]:
        new, ended = [], [self.present.entities[id] for id in sorted(self.retracted)]
        for id, record in self.names.items():
            there, name = self.present.entities.get(id), record.name.encode()
            if there is None:
                new.append(self._new_entity(id, record))
            elif not record.keeps_name and there.name != name:
                ended.append(there)
                new.append(Entity(self.graph_id, id, self.seq, None, there.class_id, there.key, name))
        return new, ended

    def _new_entity(self, id: str, record: Reference) -> Entity:
        """One that another place of the same commit may name by its id."""
        made = self.made[id]
        name = made.name if record.keeps_name else record.name
        key = None if made.key is None else made.key.encode()
        return Entity(self.graph_id, id, self.seq, None, made.class_id, key, name.encode())

    def _fact_rows(self) -> tuple[list[Fact], list[Fact]]:
        new, ended = [], []
        for id, fields in self.fields.items():
            before = self.present.facts.get(id, {})
            for name, fact in before.items():
                if fields.get(name) != fact.value:
                    ended.append(fact)
            for name, value in fields.items():
                if name not in before or before[name].value != value:
                    new.append(Fact(self.graph_id, id, name, self.seq, None, value))
        return new, ended


class _Changes:
    """The feed's rows of one commit, gathered."""

    def __init__(self, graph_id: str, seq: int, present: dict[str, Entity]) -> None:
        self._graph_id, self._seq, self._present = graph_id, seq, present
        self._fields: dict[str, set[str]] = {}
        self._new: dict[str, str] = {}  # class by id of records that were not there
        self._gone: set[str] = set()

    def note_entities(self, new: Iterable[Entity], ended: Iterable[Entity]) -> None:
        gone = {entity.entity_id for entity in ended}
        for entity in new:
            self._fields.setdefault(entity.entity_id, set()).add("label")
            if entity.entity_id not in self._present:
                self._new[entity.entity_id] = entity.class_id
            gone.discard(entity.entity_id)
        for id in gone:
            self._fields.setdefault(id, set())
        self._gone = gone

    def note_facts(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            self._fields.setdefault(fact.entity_id, set()).add(f"p:{fact.property_id}")

    def note_edges(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            self._fields.setdefault(edge.source_id, set()).add(f"r:{edge.relation_id}")

    def rows(self) -> tuple[Change, ...]:
        return tuple(self._row(id, fields) for id, fields in sorted(self._fields.items()))

    def _row(self, id: str, fields: set[str]) -> Change:
        kind = changes.CREATED if id in self._new else changes.REMOVED if id in self._gone else changes.CHANGED
        class_id = self._new.get(id) or self._present[id].class_id
        return Change(self._graph_id, self._seq, id, class_id, kind, msgspec.json.encode(sorted(fields)))


def _triple(edge: Edge) -> Triple:
    return edge.source_id, edge.relation_id, edge.target_id


def _ends(triples: Iterable[Triple], *, by_source: bool) -> dict[tuple[str, str], set[str]]:
    """The other ends of each record's links, by (record, relation)."""
    found: dict[tuple[str, str], set[str]] = {}
    for source, relation, target in triples:
        here, there = (source, target) if by_source else (target, source)
        found.setdefault((here, relation), set()).add(there)
    return found


def _unknown(record: Reference) -> Refused:
    what = f"{record.path}: there never was a record {record.entity_id} in this graph"
    return Refused("unknown_entity", what, param=record.path)


def _too_many(link: Link, targets: set[str], sources: set[str]) -> Refused | None:
    """Why the link does not fit beside the others of its source, and of its target."""
    cardinality = link.relation.cardinality
    if cardinality in ONE_TARGET and targets:
        return refused(link.path, f"{link.relation.name} is {cardinality}: its source has another target already")
    if cardinality in ONE_SOURCE and sources:
        return refused(link.path, f"{link.relation.name} is {cardinality}: its target has another source already")
    return None
