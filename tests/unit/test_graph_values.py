"""Field values: graph/values.py."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbuckle.graph import values
from turnbuckle.graph.ontology import Ontology, Property
from turnbuckle.wire.commit import TypedFieldInput
from turnbuckle.wire.errors import Refused

TYPES = ["bool", "i64", "f64", "date_time", "keyword", "text", "bytes", "keyword_set", "i64_set"]
DECLARED = Ontology(properties={name: Property(name, name, 1, name) for name in TYPES})


@pytest.mark.parametrize(
    ("value_type", "value", "stored"),
    [
        ("bool", True, True),
        ("i64", 3, 3),
        ("i64", 3.0, 3),
        ("i64", -(2**63), -(2**63)),
        ("f64", 3, 3.0),
        ("f64", 0.1, 0.1),
        ("date_time", "2026-01-31", "2026-01-31T00:00:00Z"),
        ("date_time", "2026-01-31T09:05:00.250+01:00", "2026-01-31T08:05:00.25Z"),
        ("date_time", "2026-01-31t08:05:00z", "2026-01-31T08:05:00Z"),
        ("keyword", "", ""),
        ("text", "Größe\0", "Größe\0"),
        ("bytes", "aGk=", "aGk="),
        ("keyword_set", ["b", "a", "b"], ["a", "b"]),
        ("i64_set", [3, 1, 3.0], [1, 3]),
        ("i64_set", [], []),
    ],
)
def test_a_value_is_stored_as_its_type_says(value_type: str, value: Any, stored: Any) -> None:
    found = json.loads(values.flat(value_type, value, "p"))

    assert (found, type(found)) == (stored, type(stored))


@pytest.mark.parametrize(
    ("value_type", "value"),
    [
        ("bool", 1),
        ("bool", "true"),
        ("i64", True),
        ("i64", 1.5),
        ("i64", "1"),
        ("i64", 2**63),
        ("i64", 1e300),
        ("f64", "1"),
        ("f64", True),
        ("f64", 10**400),
        ("date_time", "yesterday"),
        ("date_time", "2026-01-31T08:05:00"),
        ("date_time", "2026-02-30"),
        ("date_time", "0001-01-01T00:00:00+01:00"),
        ("date_time", 1),
        ("keyword", 1),
        ("text", None),
        ("text", {"text": "x"}),
        ("bytes", "hé"),
        ("bytes", "abc"),
        ("keyword_set", "a"),
        ("keyword_set", [1]),
        ("i64_set", [True]),
        ("i64_set", ["1"]),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(value_type: str, value: Any) -> None:
    with pytest.raises(Refused, match=r"^a\[3\]\.f: got .*, expected " + value_type) as info:
        values.flat(value_type, value, "a[3].f")

    assert info.value.param == "a[3].f"


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()))
def test_a_value_is_stored_or_refused_and_stored_again_it_is_the_same(value: Any) -> None:
    for value_type in TYPES:
        try:
            stored = values.flat(value_type, value, "p")
        except Refused:
            continue
        assert values.flat(value_type, json.loads(stored), "p") == stored


def test_a_typed_value_must_name_the_declared_type() -> None:
    def read(field: str, value: dict[str, Any]) -> dict[str, bytes]:
        return values.fields(DECLARED, [TypedFieldInput(field=field, value=value)], "r.properties")

    assert read("i64", {"i64": 3}) == {"i64": b"3"}
    for bad in ({"f64": 3}, {"i64": 3, "f64": 3}, {}):
        with pytest.raises(Refused, match=r"r\.properties\[0\]\.value: got .*, expected {'i64': ...}"):
            read("i64", bad)
    with pytest.raises(Refused, match=r'r\.properties\[0\]\.value\.i64: got "x", expected i64'):
        read("i64", {"i64": "x"})


def test_an_undeclared_field_is_refused() -> None:
    with pytest.raises(Refused, match=r"r\.properties\.nope: field 'nope' is not declared"):
        values.fields(DECLARED, {"nope": 1}, "r.properties")


def test_names_are_found_without_regard_to_case() -> None:
    assert values.fields(DECLARED, {"I64": 1}, "p") == {"i64": b"1"}


def test_a_field_twice_in_the_typed_shape_is_refused() -> None:
    twice = [TypedFieldInput(field="i64", value={"i64": 1})] * 2

    with pytest.raises(Refused, match="field 'i64' is there twice"):
        values.fields(DECLARED, twice, "p")


def test_a_field_in_two_spellings_is_refused() -> None:
    """One of the two values would be lost without a word."""
    with pytest.raises(Refused, match=r"p\.I64: field 'I64' is there twice"):
        values.fields(DECLARED, {"i64": 1, "I64": 2}, "p")


def test_a_value_that_is_too_large_is_refused_with_its_size() -> None:
    with pytest.raises(Refused, match="got 300002 bytes, expected at most 262144; save it as a blob"):
        values.flat("text", "x" * 300_000, "p")
