"""Operations on an ontology: graph/evolve.py."""

from typing import Any

import msgspec
import pytest

from turnbuckle.graph import ontology as ontologies
from turnbuckle.graph.evolve import Evolved, evolve
from turnbuckle.graph.ontology import EMPTY, Ontology
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.ontology import OntologyOp

BASE: list[dict[str, Any]] = [
    {"op": "add_entity_type", "name": "Thing"},
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_entity_type", "name": "Draft"},
    {"op": "add_super_types", "entity_type": "Note", "super_types": ["Thing"]},
    {"op": "add_super_types", "entity_type": "Draft", "super_types": ["Note"]},
    {"op": "add_property", "name": "size", "value_type": "i64", "unit": "mm"},
    {"op": "add_property", "name": "title"},
    {"op": "add_relation", "name": "PART_OF", "domain": ["Note"], "inverse_name": "HAS_PART"},
]


def after(*ops: dict[str, Any], base: Ontology | None = None, version: int = 2) -> Evolved:
    known = evolve(EMPTY, msgspec.convert(BASE, list[OntologyOp]), 1).ontology if base is None else base
    return evolve(known, msgspec.convert(list(ops), list[OntologyOp]), version)


def test_an_ontology_comes_back_from_its_document() -> None:
    known = after().ontology

    assert ontologies.decode(ontologies.encode(known)) == known


def test_classes_above_and_below_are_followed_to_the_end() -> None:
    known = after().ontology

    assert known.with_super_types("draft") == {"draft", "note", "thing"}
    assert known.with_sub_types("thing") == {"draft", "note", "thing"}
    assert known.is_one_of("draft", ("thing",))
    assert not known.is_one_of("thing", ("draft",))
    assert known.is_one_of("thing", ())


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ({"op": "add_entity_type", "name": "1st"}, r"ops\[0\]\.name: got '1st', expected a letter"),
        ({"op": "add_entity_type", "name": "a b"}, "expected a letter"),
        ({"op": "add_entity_type", "name": "a\n"}, "expected a letter"),
        (
            {"op": "add_super_types", "entity_type": "Thing", "super_types": ["Draft"]},
            "Draft is Thing or a class",
        ),
        (
            {"op": "add_super_types", "entity_type": "Thing", "super_types": ["Thing"]},
            "Thing is Thing or a class",
        ),
        (
            {"op": "add_property", "name": "p", "value_type": "f64", "unit": "ell"},
            r"\.unit: got 'ell', expected",
        ),
        ({"op": "add_property", "name": "p", "unit": "mm"}, "numbers have units"),
        ({"op": "add_property", "name": "p", "value_type": "f64", "allowed_values": [1.5]}, "got values for type f64"),
        (
            {"op": "add_property", "name": "p", "value_type": "i64", "allowed_values": ["x"]},
            r"values\[0\]: got",
        ),
        ({"op": "set_property_unit", "property": "title", "unit": "mm"}, "numbers have units"),
        ({"op": "set_property_unit", "property": "nope", "unit": "mm"}, "property 'nope' is not declared"),
        ({"op": "add_relation", "name": "R", "domain": ["Nope"]}, r"domain\[0\]: class 'Nope' is not declared"),
        ({"op": "add_relation", "name": "HAS_PART"}, "the relation name 'HAS_PART' is taken"),
        ({"op": "add_relation", "name": "R", "inverse_name": "part_of"}, "is taken"),
        ({"op": "add_relation", "name": "R", "inverse_name": "r"}, "set symmetric instead"),
        ({"op": "widen_relation", "relation": "NOPE"}, "relation 'NOPE' is not declared"),
        ({"op": "narrow_relation", "relation": "PART_OF", "remove_domain": ["Note"]}, "expected one to stay"),
        ({"op": "rename_entity_type", "from": "Note", "to": "Thing"}, "is taken"),
        ({"op": "rename_relation", "from": "PART_OF", "to": "has_part"}, "is taken"),
        ({"op": "remove_entity_type", "name": "Note"}, "class Draft is under Note"),
        ({"op": "remove_entity_type", "name": "Nope"}, "class 'Nope' is not declared"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused_with_its_place(op: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message) as info:
        after(op)

    assert info.value.code == "invalid_request"
    assert (info.value.param or "").startswith("ops[0].")


@pytest.mark.parametrize(
    "op",
    [
        {"op": "add_entity_type", "name": "note"},
        {"op": "add_super_types", "entity_type": "Note", "super_types": ["Thing"]},
        {"op": "add_property", "name": "SIZE", "value_type": "text"},
        {"op": "add_relation", "name": "part_of", "domain": ["Thing"]},
        {"op": "widen_relation", "relation": "PART_OF", "add_domain": ["Note"], "add_range": ["Note"]},
        {"op": "narrow_relation", "relation": "PART_OF", "remove_domain": ["Draft"]},
        {"op": "set_property_constraint", "property": "title", "allowed_values": []},
        {"op": "set_property_unit", "property": "size", "unit": "mm"},
        {"op": "set_relation_inverse", "relation": "PART_OF", "inverse_name": "HAS_PART"},
        {"op": "set_relation_cardinality", "relation": "PART_OF", "cardinality": "many_to_many"},
        {"op": "rename_entity_type", "from": "Note", "to": "Note"},
        {"op": "rename_relation", "from": "PART_OF", "to": "PART_OF"},
    ],
)
def test_what_is_so_already_changes_nothing_and_is_told(op: dict[str, Any]) -> None:
    evolved = after(op)

    assert evolved.ontology == after().ontology
    assert evolved.applied == ()
    assert len(evolved.messages) == 1


def test_a_property_keeps_its_type() -> None:
    evolved = after({"op": "add_property", "name": "size", "value_type": "text"})

    assert evolved.ontology.properties["size"].value_type == "i64"


@pytest.mark.parametrize(
    ("allowed", "kind"), [(["a", "b"], "restrictive"), (["a", "b", "c", "d"], "additive"), ([], "additive")]
)
def test_fewer_allowed_values_restrict_and_more_add(allowed: list[str], kind: str) -> None:
    given = after({"op": "set_property_constraint", "property": "title", "allowed_values": ["a", "b", "c"]})

    op = {"op": "set_property_constraint", "property": "title", "allowed_values": allowed}
    evolved = after(op, base=given.ontology)

    assert [one.kind for one in evolved.applied] == [kind]
    assert evolved.ontology.properties["title"].allowed_values == tuple(allowed)


def test_a_rename_keeps_the_id_and_frees_no_iri() -> None:
    evolved = after(
        {"op": "rename_entity_type", "from": "Note", "to": "Memo"},
        {"op": "rename_relation", "from": "PART_OF", "to": "WITHIN"},
    )

    known = evolved.ontology
    assert known.entity_type("Note") is None
    memo, within = known.entity_type("memo"), known.relation("within")
    assert memo is not None
    assert within is not None
    assert (memo.id, within.id) == ("note", "part_of")
    for op in ({"op": "add_entity_type", "name": "Note"}, {"op": "add_relation", "name": "PART_OF"}):
        with pytest.raises(Refused, match="keeps its IRI"):
            after(op, base=known)
    back = after({"op": "rename_entity_type", "from": "Memo", "to": "Note"}, base=known).ontology
    assert back.entity_type("Note") is not None


def test_widening_a_relation_that_takes_any_class_changes_nothing() -> None:
    evolved = after({"op": "widen_relation", "relation": "PART_OF", "add_domain": ["Thing"], "add_range": ["Note"]})

    relation = evolved.ontology.relations["part_of"]
    assert (relation.domain, relation.range) == (("note", "thing"), ())


def test_a_new_inverse_frees_the_name_of_the_old_one() -> None:
    evolved = after(
        {"op": "set_relation_inverse", "relation": "PART_OF", "inverse_name": "HOLDS"},
        {"op": "add_relation", "name": "HAS_PART"},
    )

    assert [one.kind for one in evolved.applied] == ["identity_breaking", "additive"]
