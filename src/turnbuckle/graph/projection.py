"""A record graph as RDF (lbb-graph 2.3): rows to triples, each a text `<s> <p> "o"` as N-Triples has it, without dot.

One field value is one triple, a set one for each member; an edge one, and another way round where its relation has an
inverse or is symmetric. Evidence, confidence and times of edges are not shown.
"""

import hashlib
import json
from functools import cached_property, lru_cache

from turnbuckle.graph import iri
from turnbuckle.graph import ontology as ontologies
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.entity import Entity
from turnbuckle.graph.fact import Fact
from turnbuckle.graph.log import Commit
from turnbuckle.graph.ontology import Ontology, Relation

_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
_DATATYPES = {  # of what is stored as text or number; texts themselves have none
    "bool": f"^^<{_XSD}boolean>",
    "i64": f"^^<{_XSD}integer>",
    "i64_set": f"^^<{_XSD}integer>",
    "f64": f"^^<{_XSD}double>",
    "date_time": f"^^<{_XSD}dateTime>",
    "bytes": f"^^<{_XSD}base64Binary>",
}


class Projection:
    """The rules of one version of an ontology."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._suffixes = {p.id: _DATATYPES.get(p.value_type, "") for p in ontology.properties.values()}
        self._ways = {relation.id: _ways(relation) for relation in ontology.relations.values()}

    def of_schema(self) -> list[str]:
        """Which class is directly below which."""
        return [
            f"{_class(one.id)} {_SUBCLASS} {_class(above)}"
            for one in self._ontology.entity_types.values()
            for above in one.super_types
        ]

    def of_entity(self, row: Entity) -> list[str]:
        subject = f"<{iri.ENTITY}{row.entity_id}>"
        return [f"{subject} {_TYPE} {_class(row.class_id)}", f"{subject} {_LABEL} {_encode(row.name.decode())}"]

    def of_fact(self, row: Fact) -> list[str]:
        start = f"<{iri.ENTITY}{row.entity_id}> {_property(row.property_id)} "
        suffix, value = self._suffixes.get(row.property_id, ""), row.value.decode()
        if value[0] == "[":
            return [start + _literal(_encode(member), suffix) for member in json.loads(value)]
        return [start + _literal(value, suffix)]

    def of_edge(self, row: Edge) -> list[str]:
        source, target = f"<{iri.ENTITY}{row.source_id}>", f"<{iri.ENTITY}{row.target_id}>"
        return [
            f"{target} {predicate} {source}" if is_back else f"{source} {predicate} {target}"
            for predicate, is_back in self._ways_of(row.relation_id)
        ]

    def kin_of(self, relation_id: str) -> list[str]:
        """Ids of the relations whose edges can show a triple that an edge of this one shows, its own first."""
        shown = {predicate for predicate, _ in self._ways_of(relation_id)}
        kin = [other for other, ways in self._ways.items() if any(predicate in shown for predicate, _ in ways)]
        return list(dict.fromkeys([relation_id, *kin]))

    @cached_property
    def shape(self) -> str:
        """What of the ontology shows in the triples of rows that are there: equal shapes, equal triples."""
        return json.dumps([sorted(self.of_schema()), self.ways])

    @cached_property
    def ways(self) -> dict[str, list[tuple[str, bool]]]:
        """Relations whose edges show more than one triple, by id."""
        return {relation_id: ways for relation_id, ways in sorted(self._ways.items()) if len(ways) > 1}

    def _ways_of(self, relation_id: str) -> list[tuple[str, bool]]:
        return self._ways.get(relation_id) or [(_relation(relation_id), False)]


@lru_cache(maxsize=64)
def of_document(document: bytes) -> Projection:
    """Kept, as every query of a graph needs the same one."""
    return Projection(ontologies.decode(document))


def point(commit: Commit | None, shape: str) -> str:
    """`<commit number>.<mark>`: the mark differs where another history has the same number. None: before any commit."""
    if commit is None:
        return f"0.{_digest('0', shape)}"
    made = (commit.at_ms, commit.made_by.hex(), commit.workflow_id, commit.turn)
    return f"{commit.commit_seq}.{_digest(json.dumps(made), shape)}"


def seq_of(of_point: str) -> int:
    return int(of_point.partition(".")[0])


def is_there(row: Entity | Fact | Edge, seq: int) -> bool:
    """Whether commit `seq` left the row valid."""
    return row.from_seq <= seq and (row.to_seq is None or row.to_seq > seq)


def _ways(relation: Relation) -> list[tuple[str, bool]]:
    """(predicate, from target to source) of each triple that an edge shows."""
    ways = [(_relation(relation.id), False)]
    if relation.symmetric:
        ways.append((_relation(relation.id), True))
    if relation.inverse_name:
        inverse = _relation(relation.inverse_name.lower())
        ways.append((inverse, True))
        if relation.symmetric:
            ways.append((inverse, False))
    return list(dict.fromkeys(ways))


def _literal(text: str, suffix: str) -> str:
    """Of a stored JSON scalar. A JSON text is written as RDF writes a text: same quotes, same escapes."""
    if text[0] == '"':
        return text + suffix
    return f'"{text}"{suffix or _suffix_of_plain(text)}'


def _suffix_of_plain(text: str) -> str:
    """For a field whose declaration is gone."""
    if text in ("true", "false"):
        return _DATATYPES["bool"]
    return _DATATYPES["f64" if set(text) & set(".eE") else "i64"]


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def _class(class_id: str) -> str:
    return f"<{iri.of_class(class_id)}>"


@lru_cache(maxsize=4_096)
def _property(property_id: str) -> str:
    return f"<{iri.of_property(property_id)}>"


@lru_cache(maxsize=4_096)
def _relation(relation_id: str) -> str:
    return f"<{iri.of_relation(relation_id)}>"


_encode = json.JSONEncoder(ensure_ascii=False).encode
