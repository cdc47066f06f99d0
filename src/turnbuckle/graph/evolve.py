"""Operations on an ontology: each gives the next one and says what changed, or refuses (lbb-graph 2.2).

What takes away is blocked by data in use; that is the caller's to look up, from what `Evolved.needs` names.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from turnbuckle.graph import values
from turnbuckle.graph.ontology import EntityType, Ontology, Property, Relation
from turnbuckle.wire import limits
from turnbuckle.wire import ontology as wire
from turnbuckle.wire.errors import Refused

T = TypeVar("T", EntityType, Property, Relation)
UNITS = frozenset(
    [
        "mm",
        "cm",
        "dm",
        "m",
        "km",
        "mm2",
        "cm2",
        "dm2",
        "m2",
        "ml",
        "cl",
        "dl",
        "l",
        "cm3",
        "dm3",
        "m3",
        "mg",
        "g",
        "kg",
        "t",
        "w",
        "kw",
        "wh",
        "kwh",
        "s",
        "min",
        "h",
    ]
)
_NAME = re.compile(rf"[^\W\d][\w.-]{{0,{limits.TERM_CHARS - 1}}}")
_CONSTRAINED = frozenset({"keyword", "text", "i64", "bool"})


class Need(msgspec.Struct, frozen=True):
    """Data that must not be there: `kind` tells what of the class or relation `id`."""

    kind: str  # records, links, pairs: links outside `relation`, many: more links than its cardinality allows
    id: str
    relation: Relation | None = None  # as it shall become
    message: str = ""


class Evolved(msgspec.Struct, frozen=True):
    ontology: Ontology
    applied: tuple[wire.OntologyChange, ...] = ()
    messages: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


def evolve(ontology: Ontology, ops: Iterable[wire.OntologyOp], version: int) -> Evolved:
    """All operations in order, each on what those before it made. `version` is the one that they make.

    Refused(invalid_request) with the operation's index path.
    """
    evolved = Evolved(ontology)
    for index, op in enumerate(ops):
        evolved = _OPS[type(op)](_Step(evolved, version, f"ops[{index}]"), op)
    return evolved


class _Step:
    """One operation at work: where it is, and what it adds."""

    def __init__(self, before: Evolved, version: int, path: str) -> None:
        self.before, self.version, self.path = before, version, path
        self.ontology = before.ontology

    def refused(self, field: str, what: str) -> Refused:
        path = f"{self.path}.{field}"
        return Refused("invalid_request", f"{path}: {what}", param=path)

    def no_op(self, message: str) -> Evolved:
        return replace(self.before, messages=(*self.before.messages, message))

    def changed(self, ontology: Ontology, kind: Any, subject: str, message: str, *needs: Need) -> Evolved:
        change = wire.OntologyChange(kind=kind, subject=subject, message=message)
        return Evolved(ontology, (*self.before.applied, change), self.before.messages, (*self.before.needs, *needs))

    # -- names ---------------------------------------------------------------------------------------------------

    def new_name(self, field: str, name: str, kind: str, ids: Iterable[str], known: object) -> str:
        """The name, when it is well formed and free."""
        if not _NAME.fullmatch(name):
            expected = f"a letter or `_`, then letters, digits, `_`, `.`, `-`, at most {limits.TERM_CHARS}"
            raise self.refused(field, f"got {name[:80]!r}, expected {expected}")
        if known is not None or name.lower() in {one.lower() for one in ids}:
            raise self.refused(
                field, f"the {kind} name {name!r} is taken, or was that of a renamed one, which keeps its IRI"
            )
        return name

    def entity_type(self, field: str, name: str) -> EntityType:
        found = self.ontology.entity_type(name)
        if found is None:
            raise self.refused(field, f"class {name!r} is not declared")
        return found

    def classes(self, field: str, names: Iterable[str] | None) -> tuple[str, ...]:
        found = [self.entity_type(f"{field}[{index}]", name).id for index, name in enumerate(names or ())]
        return tuple(dict.fromkeys(found))

    def property(self, field: str, name: str) -> Property:
        found = self.ontology.property(name)
        if found is None:
            raise self.refused(field, f"property {name!r} is not declared")
        return found

    def relation(self, field: str, name: str) -> Relation:
        found = self.ontology.relation(name)
        if found is None:
            raise self.refused(field, f"relation {name!r} is not declared")
        return found

    # -- parts of the next ontology ------------------------------------------------------------------------------

    def with_type(self, one: EntityType) -> Ontology:
        return replace(self.ontology, entity_types=self.ontology.entity_types | {one.id: one})

    def with_property(self, one: Property) -> Ontology:
        return replace(self.ontology, properties=self.ontology.properties | {one.id: one})

    def with_relation(self, one: Relation) -> Ontology:
        return replace(self.ontology, relations=self.ontology.relations | {one.id: one})


# -- classes -----------------------------------------------------------------------------------------------------


def _add_entity_type(step: _Step, op: wire.AddEntityTypeOp) -> Evolved:
    known = step.ontology.entity_type(op.name)
    if known is not None:
        return step.no_op(f"class {known.name} is there")
    name = step.new_name("name", op.name, "class", step.ontology.entity_types, None)
    made = EntityType(name.lower(), name, step.version)
    return step.changed(step.with_type(made), "additive", name, f"class {name} is declared")


def _add_super_types(step: _Step, op: wire.AddSuperTypesOp) -> Evolved:
    one = step.entity_type("entity_type", op.entity_type)
    parents = step.classes("super_types", op.super_types)
    new = [parent for parent in parents if parent not in one.super_types]
    if not new:
        return step.no_op(f"class {one.name} has these parents")
    for index, parent in enumerate(parents):
        if one.id in step.ontology.with_super_types(parent):
            raise step.refused(f"super_types[{index}]", f"{op.super_types[index]} is {one.name} or a class under it")
    made = replace(one, super_types=(*one.super_types, *new))
    under = ", ".join(step.ontology.entity_types[parent].name for parent in new)
    return step.changed(step.with_type(made), "additive", one.name, f"class {one.name} is under {under}")


def _rename_entity_type(step: _Step, op: wire.RenameEntityTypeOp) -> Evolved:
    one = step.entity_type("from", op.from_)
    if op.to == one.name:
        return step.no_op(f"class {one.name} has this name")
    name = _new_name(step, op.to, "class", one.id, one.name, step.ontology.entity_types, step.ontology.entity_type)
    made = step.with_type(replace(one, name=name))
    return step.changed(made, "additive", name, f"class {one.name} is now {name}; its IRI stays")


def _new_name(
    step: _Step, to: str, kind: str, id: str, present: str, ids: Iterable[str], find: Callable[[str], object]
) -> str:
    """A new name for what has an id: its own first name and another spelling of the present one are free for it."""
    others = [one for one in ids if one != id]
    return step.new_name("to", to, kind, others, None if to.lower() == present.lower() else find(to))


def _remove_entity_type(step: _Step, op: wire.RemoveEntityTypeOp) -> Evolved:
    one = step.entity_type("name", op.name)
    for other in step.ontology.entity_types.values():
        if one.id in other.super_types:
            raise step.refused("name", f"class {other.name} is under {one.name}")
    for relation in step.ontology.relations.values():
        if one.id in (*relation.domain, *relation.range):
            raise step.refused("name", f"relation {relation.name} names {one.name}; narrow or remove it first")
    left = {id: other for id, other in step.ontology.entity_types.items() if id != one.id}
    need = Need("records", one.id, message=f"there are records of class {one.name}")
    made = replace(step.ontology, entity_types=left)
    return step.changed(made, "restrictive", one.name, f"class {one.name} is removed", need)


# -- properties --------------------------------------------------------------------------------------------------


def _add_property(step: _Step, op: wire.AddPropertyOp) -> Evolved:
    known = step.ontology.property(op.name)
    if known is not None:
        return step.no_op(f"property {known.name} is there, with type {known.value_type}")
    name = step.new_name("name", op.name, "property", step.ontology.properties, None)
    made = Property(
        name,
        name,
        step.version,
        op.value_type,
        bool(op.required),
        _unit(step, op.unit, op.value_type),
        _allowed(step, op.allowed_values or [], op.value_type),
    )
    return step.changed(step.with_property(made), "additive", name, f"property {name} is declared, {op.value_type}")


def _unit(step: _Step, unit: str | None, value_type: str) -> str | None:
    if unit is None:
        return None
    if value_type not in ("i64", "f64"):
        raise step.refused(
            "unit", f"got {unit!r} for a property of type {value_type}, expected none: numbers have units"
        )
    if unit not in UNITS:
        raise step.refused("unit", f"got {unit[:40]!r}, expected one of {' '.join(sorted(UNITS))}")
    return unit


def _allowed(step: _Step, allowed: list[Any], value_type: str) -> tuple[Any, ...]:
    if allowed and value_type not in _CONSTRAINED:
        types = ", ".join(sorted(_CONSTRAINED))
        raise step.refused("allowed_values", f"got values for type {value_type}, expected none: {types} have them")
    found = [values.flat(value_type, one, f"{step.path}.allowed_values[{i}]") for i, one in enumerate(allowed)]
    return tuple(msgspec.json.decode(one) for one in dict.fromkeys(found))


def _set_property_constraint(step: _Step, op: wire.SetPropertyConstraintOp) -> Evolved:
    one = step.property("property", op.property)
    made = replace(one, allowed_values=_allowed(step, op.allowed_values, one.value_type))
    if made == one:
        return step.no_op(f"property {one.name} has these values")
    is_wider = not made.allowed_values or (one.allowed_values and set(one.allowed_values) <= set(made.allowed_values))
    kind = "additive" if is_wider else "restrictive"  # what is stored stays: values are compared when they are written
    what = "takes any value" if not made.allowed_values else f"takes {len(made.allowed_values)} values"
    return step.changed(step.with_property(made), kind, one.name, f"property {one.name} {what}")


def _set_property_unit(step: _Step, op: wire.SetPropertyUnitOp) -> Evolved:
    one = step.property("property", op.property)
    made = replace(one, unit=_unit(step, op.unit, one.value_type))
    if made == one:
        return step.no_op(f"property {one.name} has this unit")
    message = f"property {one.name} has the unit {made.unit or 'none'}; no value is converted"
    return step.changed(step.with_property(made), "additive", one.name, message)


# -- relations ---------------------------------------------------------------------------------------------------


def _add_relation(step: _Step, op: wire.AddRelationOp) -> Evolved:
    known = step.ontology.relation(op.name)
    if known is not None:
        return step.no_op(f"relation {known.name} is there")
    name = step.new_name("name", op.name, "relation", _relation_terms(step.ontology), None)
    made = Relation(
        name.lower(),
        name,
        step.version,
        step.classes("domain", op.domain),
        step.classes("range", op.range),
        op.cardinality or "many_to_many",
        _inverse(step, op.inverse_name, name),
        bool(op.symmetric),
        bool(op.transitive),
        op.temporal_semantics or "bitemporal",
        op.reducer or "append_only",
    )
    return step.changed(step.with_relation(made), "additive", name, f"relation {name} is declared")


def _relation_terms(ontology: Ontology) -> list[str]:
    """Ids and inverse names: both are IRIs of the same namespace."""
    inverses = [one.inverse_name for one in ontology.relations.values() if one.inverse_name is not None]
    return [*ontology.relations, *inverses]


def _inverse(step: _Step, inverse: str | None, name: str) -> str | None:
    if inverse is None:
        return None
    if inverse.lower() == name.lower():
        raise step.refused("inverse_name", f"got the relation's own name {name!r}; set symmetric instead")
    known = step.ontology.relation(inverse)
    return step.new_name("inverse_name", inverse, "relation", _relation_terms(step.ontology), known)


def _widen_relation(step: _Step, op: wire.WidenRelationOp) -> Evolved:
    one = step.relation("relation", op.relation)
    made = replace(
        one,
        domain=_wider(one.domain, step.classes("add_domain", op.add_domain)),
        range=_wider(one.range, step.classes("add_range", op.add_range)),
    )
    if made == one:
        return step.no_op(f"relation {one.name} takes these classes")
    return step.changed(step.with_relation(made), "additive", one.name, f"relation {one.name} takes more classes")


def _wider(present: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    if not present:
        return present  # any class is taken already
    return tuple(dict.fromkeys((*present, *more)))


def _narrow_relation(step: _Step, op: wire.NarrowRelationOp) -> Evolved:
    one = step.relation("relation", op.relation)
    made = replace(
        one,
        domain=_narrower(step, "remove_domain", one.domain, op.remove_domain),
        range=_narrower(step, "remove_range", one.range, op.remove_range),
    )
    if made == one:
        return step.no_op(f"relation {one.name} takes none of these classes")
    need = Need("pairs", one.id, made, f"there are {one.name} links of a class that is taken away")
    message = f"relation {one.name} takes fewer classes"
    return step.changed(step.with_relation(made), "restrictive", one.name, message, need)


def _narrower(step: _Step, field: str, present: tuple[str, ...], less: list[str] | None) -> tuple[str, ...]:
    gone = step.classes(field, less)
    left = tuple(one for one in present if one not in gone)
    if present and not left:
        raise step.refused(field, "got every class that is left, expected one to stay: none would mean any")
    return left


def _set_relation_inverse(step: _Step, op: wire.SetRelationInverseOp) -> Evolved:
    one = step.relation("relation", op.relation)
    if op.inverse_name == one.inverse_name:
        return step.no_op(f"relation {one.name} has this inverse")
    without = replace(step.ontology, relations=step.ontology.relations | {one.id: replace(one, inverse_name=None)})
    step.ontology = without
    made = replace(one, inverse_name=_inverse(step, op.inverse_name, one.name))
    kind = "additive" if one.inverse_name is None else "identity_breaking"  # the IRI of the old inverse is gone
    message = f"relation {one.name} has the inverse {made.inverse_name or 'none'}"
    return step.changed(step.with_relation(made), kind, one.name, message)


def _set_relation_cardinality(step: _Step, op: wire.SetRelationCardinalityOp) -> Evolved:
    one = step.relation("relation", op.relation)
    if op.cardinality == one.cardinality:
        return step.no_op(f"relation {one.name} is {one.cardinality}")
    made = replace(one, cardinality=op.cardinality)
    message = f"relation {one.name} is {op.cardinality}"
    if op.cardinality == "many_to_many":
        return step.changed(step.with_relation(made), "additive", one.name, message)
    need = Need("many", one.id, made, f"there are {one.name} links that {op.cardinality} does not allow")
    return step.changed(step.with_relation(made), "restrictive", one.name, message, need)


def _rename_relation(step: _Step, op: wire.RenameRelationOp) -> Evolved:
    one = step.relation("from", op.from_)
    if op.to == one.name:
        return step.no_op(f"relation {one.name} has this name")
    terms = _relation_terms(step.ontology)
    name = _new_name(step, op.to, "relation", one.id, one.name, terms, step.ontology.relation)
    made = step.with_relation(replace(one, name=name))
    return step.changed(made, "additive", name, f"relation {one.name} is now {name}; its IRI stays")


def _remove_relation(step: _Step, op: wire.RemoveRelationOp) -> Evolved:
    one = step.relation("name", op.name)
    left = {id: other for id, other in step.ontology.relations.items() if id != one.id}
    need = Need("links", one.id, message=f"there are {one.name} links")
    made = replace(step.ontology, relations=left)
    return step.changed(made, "restrictive", one.name, f"relation {one.name} is removed", need)


_OPS: dict[type, Callable[[_Step, Any], Evolved]] = {
    wire.AddEntityTypeOp: _add_entity_type,
    wire.AddSuperTypesOp: _add_super_types,
    wire.AddPropertyOp: _add_property,
    wire.AddRelationOp: _add_relation,
    wire.WidenRelationOp: _widen_relation,
    wire.NarrowRelationOp: _narrow_relation,
    wire.SetPropertyConstraintOp: _set_property_constraint,
    wire.SetPropertyUnitOp: _set_property_unit,
    wire.SetRelationInverseOp: _set_relation_inverse,
    wire.SetRelationCardinalityOp: _set_relation_cardinality,
    wire.RenameEntityTypeOp: _rename_entity_type,
    wire.RenameRelationOp: _rename_relation,
    wire.RemoveEntityTypeOp: _remove_entity_type,
    wire.RemoveRelationOp: _remove_relation,
}
