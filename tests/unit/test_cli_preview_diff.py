"""What a preview says a write would change, against what the graph holds."""

from typing import Any

import pytest

from lbb import entity_ref
from turnbuckle.cli.preview_diff import (
    LABEL,
    PROPERTY,
    RELATION,
    Change,
    Present,
    RecordDiff,
    diff,
    iri_of,
    present_of,
    records_of,
    shown,
)

DESK, SHELF, OLD_SOURCE = (f"https://littlebigbrain.com/e/{digit * 32}" for digit in "abc")
DESK_ID, SHELF_ID = "a" * 32, "b" * 32  # the identities
SOURCE = {"type": "ValueSource", "name": "60 cm", "key": "value:1"}


def ref(iri: str = DESK, type: str = "Product") -> dict[str, str]:
    return entity_ref(iri, type)


def row(reference: dict[str, str], **properties: Any) -> dict[str, Any]:
    return {**reference, "properties": properties}


def edge(target: dict[str, str] = SOURCE, source: dict[str, str] | None = None) -> dict[str, Any]:
    evidence = {"text": "60 cm deep"}
    return {"source": source or ref(), "relation": "HAS_SOURCE", "target": target, "evidence": evidence}


def changes(body: dict[str, Any], present: Present) -> list[Change]:
    """Of the desk, the first record of the write."""
    return diff(body, {DESK_ID: present})[0].changes


def test_rows_of_the_graph_become_fields_edges_and_a_label() -> None:
    rows = [
        {"s": DESK, "p": LABEL, "o": "Desk"},
        {"s": DESK, "p": f"{PROPERTY}tags", "o": "a"},
        {"s": DESK, "p": f"{PROPERTY}tags", "o": "b"},
        {"s": DESK, "p": f"{RELATION}has_source", "o": OLD_SOURCE, "label": "62 cm"},
        {
            "s": DESK,
            "p": "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
            "o": "https://littlebigbrain.com/class/product",
        },
    ]

    assert present_of(rows) == {DESK: Present(DESK, "Desk", {"tags": ["a", "b"]}, {"has_source": ["62 cm"]})}


def test_a_field_is_set_changed_or_stays() -> None:
    body = {"entity_properties": [row(ref(), width=60.0, depth=30, material="oak")]}

    found = changes(body, Present(DESK, "Desk", {"depth": ["28"], "material": ["oak"]}))

    assert found == [
        Change("width", "set", after="60"),
        Change("depth", "changed", before="28", after="30"),
        Change("material", "same", before="oak", after="oak"),
    ]


@pytest.mark.parametrize(
    ("lexical", "value"),
    [
        (["60"], 60.0),
        (["6.0E1"], 60.0),
        (["true"], True),
        (["2026-05-01T00:00:00Z"], "2026-05-01T02:00:00+02:00"),
        (["b", "a"], ["a", "b"]),
        (["2", "1"], [1, 2]),
    ],
)
def test_one_value_in_two_spellings_is_the_same(lexical: list[str], value: Any) -> None:
    (change,) = changes({"entity_properties": [row(ref(), field=value)]}, Present(DESK, "", {"field": lexical}))

    assert change.kind == "same"


@pytest.mark.parametrize(
    ("lexical", "value"), [(["60"], 61.0), (["yes"], 1), (["true"], False), (["a"], ["a", "b"]), (["oak"], "Oak")]
)
def test_another_value_is_a_change(lexical: list[str], value: Any) -> None:
    (change,) = changes({"entity_properties": [row(ref(), field=value)]}, Present(DESK, "", {"field": lexical}))

    assert change.kind == "changed"


def test_owned_fields_that_are_not_set_again_are_removed_from_subjects_alone() -> None:
    body = {
        "replace_owned": {"subjects": [ref()], "properties": ["width", "depth", "color"]},
        "entity_properties": [row(ref(), width=60), row(ref(SHELF), width=80)],
    }
    there = Present(DESK, "", {"width": ["60"], "depth": ["30"], "text": ["..."]})

    found = diff(body, {DESK_ID: there, SHELF_ID: there})

    assert [change.kind for change in found[0].changes] == ["same", "removed"]
    assert found[0].changes[1] == Change("depth", "removed", before="30")
    assert [change.kind for change in found[1].changes] == ["changed"]


def test_fields_named_for_removal_and_a_replaced_field_set_are_removed() -> None:
    there = Present(DESK, "", {"width": ["60"], "depth": ["30"]})

    named = changes({"entity_properties": [{**row(ref()), "remove_fields": ["depth", "color"]}]}, there)
    replaced = changes({"entity_properties": [row(ref(), depth=30)], "property_merge": "replace"}, there)

    assert named == [Change("depth", "removed", before="30")]
    assert Change("width", "removed", before="60") in replaced


def test_the_list_shape_of_properties_is_read_too() -> None:
    listed = [{"field": "width", "value": {"f64": 60.0}}]

    found = changes({"entity_properties": [{**ref(), "properties": listed}]}, Present())

    assert found == [Change("width", "set", after="60")]


def test_an_edge_is_new_or_there_and_an_owned_one_that_is_not_said_again_goes() -> None:
    body = {"replace_owned": {"subjects": [ref()], "relations": ["HAS_SOURCE"]}, "triplets": [edge()]}

    new = changes(body, Present(DESK, "", {}, {"has_source": ["62 cm"]}))
    again = changes(body, Present(DESK, "", {}, {"has_source": ["60 cm"]}))

    assert new == [
        Change("HAS_SOURCE", "set", after="60 cm", quote="60 cm deep"),
        Change("HAS_SOURCE", "removed", before="62 cm"),
    ]
    assert [change.kind for change in again] == ["same"]


def test_a_retracted_record_loses_everything() -> None:
    body = {"replace_owned": {"subjects": [], "retract_entities": [ref()]}}

    found = changes(body, Present(DESK, "Desk", {"width": ["60"]}, {"has_source": ["60 cm"]}))

    assert found == [Change("width", "removed", before="60"), Change("HAS_SOURCE", "removed", before="60 cm")]


def test_a_record_is_named_by_what_the_graph_calls_it_else_by_the_write() -> None:
    body = {"entity_properties": [row(ref(), width=60), row(SOURCE, support=1)]}

    named = [(record.iri, record.type, record.label) for record in diff(body, {DESK_ID: Present(DESK, "Desk")})]

    assert named == [(DESK, "Product", "Desk"), (None, "ValueSource", "60 cm")]


def test_a_record_that_is_named_by_its_key_is_compared_too() -> None:
    body = {"entity_properties": [row(SOURCE, support=0.92)]}
    (identity,) = records_of(body)

    (found,) = diff(body, {identity: Present(OLD_SOURCE, "60 cm", {"support": ["0.92"]})})

    assert found == RecordDiff(OLD_SOURCE, "ValueSource", "60 cm", [Change("support", "same", "0.92", "0.92")])


def test_each_record_is_named_once_and_by_its_id_where_the_write_has_one() -> None:
    body = {
        "replace_owned": {"subjects": [ref()], "retract_entities": [ref(OLD_SOURCE, "ValueSource")]},
        "entity_properties": [{"entity_id": "B" * 32, "type": "Product", "name": "Shelf"}, row(SOURCE, support=1)],
        "triplets": [edge()],
    }

    named = records_of(body)

    assert [iri_of(reference) for reference in named.values()] == [DESK, SHELF, None, OLD_SOURCE]


def test_values_are_shown_as_people_write_them() -> None:
    assert [shown(value) for value in (60.0, 0.5, True, ["b", "a"], "oak")] == ["60", "0.5", "true", "a, b", "oak"]
