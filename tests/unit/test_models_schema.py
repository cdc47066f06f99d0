"""The schemas that callers send: models/schema.py."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from tests.unit import schemas as made
from tests.unit.json_values import values
from turnbuckle.models import schema as schemas
from turnbuckle.models.schema import BadSchema

EXAMPLES = settings(deadline=None, max_examples=150)


@EXAMPLES
@given(schema=made.satisfiable)
def test_a_schema_is_taken_as_it_is(schema: made.Schema) -> None:
    before = repr(schema)

    assert schemas.check(schema) is schema
    assert schemas.closed(schema) is not schema
    assert repr(schema) == before


@EXAMPLES
@given(schema=made.satisfiable, value=values)
def test_a_value_follows_exactly_when_the_standard_says_so(schema: made.Schema, value: Any) -> None:
    follows = Draft202012Validator(schema).is_valid(value)

    assert (schemas.problem(schema, value) is None) == follows


@pytest.mark.parametrize(
    ("schema", "path", "says"),
    [
        ([], (), "expected a JSON Schema"),
        ("object", (), "expected a JSON Schema"),
        (None, (), "expected a JSON Schema"),
        ({"type": "text"}, ("type",), "'text' is not valid"),
        ({"properties": {"a": {"minLength": -1}}}, ("properties", "a", "minLength"), "less than the minimum"),
        ({"properties": ["a"]}, ("properties",), "not of type 'object'"),
        ({"items": {"pattern": "("}}, ("items", "pattern"), "regex"),
        ({"pattern": "(?=a)b"}, ("pattern",), "look-around"),
        ({"pattern": r"(a)\1"}, ("pattern",), "backreferences"),
        ({"$ref": "https://example.com/s.json"}, ("$ref",), "expected a place inside the schema"),
        ({"$ref": "file:///etc/passwd"}, ("$ref",), "expected a place inside the schema"),
        ({"items": {"$ref": "#/$defs/none"}}, ("items", "$ref"), "leads nowhere"),
        ({"$ref": "#"}, (), "more than"),
        ({"allOf": [{"anyOf": [{"$ref": "#"}]}]}, (), "more than"),
        ({"patternProperties": {"a": {}}}, ("patternProperties",), "not supported"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: Any, path: tuple[Any, ...], says: str) -> None:
    with pytest.raises(BadSchema, match=says) as info:
        schemas.check(schema)

    assert info.value.path == path


def test_references_that_multiply_are_refused_at_once() -> None:
    """Each of forty definitions names the next one twice: 2**40 looks at one value."""
    names = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}

    started = time.monotonic()
    with pytest.raises(BadSchema, match="more than"):
        schemas.check({"$defs": {**names, "d40": {}}, "$ref": "#/$defs/d0"})

    assert time.monotonic() - started < 2


def test_nesting_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(190):
        schema = {"items": schema}

    with pytest.raises(BadSchema, match="nested too deep"):
        schemas.check(schema)


def test_a_pattern_that_is_slow_elsewhere_is_matched_at_once() -> None:
    started = time.monotonic()

    assert schemas.problem({"pattern": "^(a+)+$"}, "a" * 5_000 + "b") is not None
    assert time.monotonic() - started < 1


def test_a_type_that_holds_itself_is_fine() -> None:
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}

    schemas.check(node)
    assert schemas.problem(node, {"kids": [{"kids": []}]}) is None
    assert schemas.problem(node, {"kids": [{"kids": 1}]}) == "$.kids[0].kids: 1 is not of type 'array'"


# -- closing and filling -----------------------------------------------------------------------------------------


def test_open_objects_are_closed_wherever_they_are() -> None:
    schema: made.Schema = {
        "type": "object",
        "properties": {
            "open": {"type": "object"},
            "true": {"type": ["object", "null"], "additionalProperties": True},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "if": {"properties": {"x": {}}},
            "list": {"items": {"properties": {}}},
        },
    }

    closed = schemas.closed(schema)

    found = closed["properties"]
    assert closed["additionalProperties"] is False
    assert found["open"]["additionalProperties"] is False
    assert found["true"]["additionalProperties"] is False
    assert found["map"]["additionalProperties"] == {"type": "string"}
    assert found["if"]["additionalProperties"] is False  # a property of that name, not the keyword
    assert found["list"]["items"]["additionalProperties"] is False


def test_what_is_one_object_with_its_neighbours_stays_open() -> None:
    """Closed one by one, the two parts would refuse each other's properties."""
    schema: made.Schema = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}

    assert schemas.problem(schemas.closed(schema), {"a": 1, "b": 2}) is None


def test_filling_needs_every_declared_property() -> None:
    schema = {"properties": {"a": {"properties": {"b": {}}}}, "required": []}

    filled = schemas.filled(schema)

    assert filled["required"] == ["a"]
    assert filled["properties"]["a"]["required"] == ["b"]


@pytest.mark.parametrize(
    ("schema", "is_strict"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, True),
        ({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {}}}}, False),
        ({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}, False),
        ({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}}, True),
    ],
)
def test_strict_is_what_providers_can_force(schema: made.Schema, is_strict: bool) -> None:
    assert schemas.is_strict(schemas.filled(schemas.closed(schema))) == is_strict
