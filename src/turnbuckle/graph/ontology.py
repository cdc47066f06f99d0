"""The ontology of a graph as one value: what is declared, and what a name stands for (lbb-graph 2.2).

An id is the term a class, property or relation was declared under and stays when it is renamed; IRIs and stored rows
use ids. Names are looked up without regard to case, as their IRIs have lower case. Operations: graph/evolve.py.
"""

from functools import cached_property, lru_cache

import msgspec

ONE_TARGET = frozenset({"many_to_one", "one_to_one"})  # a source has at most one
ONE_SOURCE = frozenset({"one_to_many", "one_to_one"})  # a target has at most one


class EntityType(msgspec.Struct, frozen=True):
    id: str
    name: str
    since_version: int
    super_types: tuple[str, ...] = ()  # ids of its direct parents


class Property(msgspec.Struct, frozen=True):
    id: str
    name: str
    since_version: int
    value_type: str
    required: bool = False
    unit: str | None = None
    allowed_values: tuple[bool | int | str, ...] = ()  # none: any value of its type


class Relation(msgspec.Struct, frozen=True):
    id: str
    name: str
    since_version: int
    domain: tuple[str, ...] = ()  # class ids; none: any
    range: tuple[str, ...] = ()
    cardinality: str = "many_to_many"
    inverse_name: str | None = None
    symmetric: bool = False
    transitive: bool = False
    temporal_semantics: str = "bitemporal"
    reducer: str = "append_only"


class Ontology(msgspec.Struct, frozen=True, dict=True):
    """One version. The three dictionaries are by id, in the order of declaration."""

    entity_types: dict[str, EntityType] = {}
    properties: dict[str, Property] = {}
    relations: dict[str, Relation] = {}

    def entity_type(self, name: str) -> EntityType | None:
        """By its present name."""
        return self._entity_types.get(name.lower())

    def property(self, name: str) -> Property | None:
        return self._properties.get(name.lower())

    def relation(self, name: str) -> Relation | None:
        return self._relations.get(name.lower())

    def with_super_types(self, class_id: str) -> frozenset[str]:
        """The class with all its ancestors, as ids."""
        return self._ancestors[class_id]

    def with_sub_types(self, class_id: str) -> frozenset[str]:
        """The class with all its descendants, as ids."""
        return frozenset(other for other, above in self._ancestors.items() if class_id in above)

    def is_one_of(self, class_id: str, classes: tuple[str, ...]) -> bool:
        """Whether the class or one of its ancestors is among `classes`; no classes: any is."""
        return not classes or not self._ancestors[class_id].isdisjoint(classes)

    @cached_property
    def _entity_types(self) -> dict[str, EntityType]:
        return {one.name.lower(): one for one in self.entity_types.values()}

    @cached_property
    def _properties(self) -> dict[str, Property]:
        return {one.name.lower(): one for one in self.properties.values()}

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return {one.name.lower(): one for one in self.relations.values()}

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        return {class_id: frozenset(_closure(self.entity_types, class_id)) for class_id in self.entity_types}


def _closure(types: dict[str, EntityType], class_id: str) -> set[str]:
    found, waiting = set[str](), [class_id]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += types[one].super_types
    return found


EMPTY = Ontology()


@lru_cache(maxsize=64)
def decode(document: bytes) -> Ontology:
    """An ontology from its document. Kept, as every commit and query of a graph needs the same one."""
    return msgspec.json.decode(document, type=Ontology)


def encode(ontology: Ontology) -> bytes:
    return msgspec.json.encode(ontology)
