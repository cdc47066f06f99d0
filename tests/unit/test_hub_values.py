"""Data values, their plain contents and conversions (blobhub 5.2), and the events of a run (5.7)."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests.unit.hub_documents import text
from tests.unit.json_values import values
from turnbuckle.hub import events, value
from turnbuckle.wire.hub_errors import HubRefused

HELLO = value.create_message("user", "hello")
TWO_BLOCKS = {"type": "message", "message": {"content": [text("a"), {"type": "json", "json": 1}, text("b")]}}


@pytest.mark.parametrize(
    ("given_", "plain"),
    [
        (text("a"), "a"),
        ({"type": "string", "string": "a"}, "a"),
        ({"type": "integer", "integer": 5}, 5),
        ({"type": "float", "float": 0.5}, 0.5),
        ({"type": "boolean", "flag": True}, True),
        ({"type": "choice", "id": "x"}, "x"),
        ({"type": "json", "json": [1, {"type": "text"}]}, [1, {"type": "text"}]),
        (HELLO, "hello"),
        (TWO_BLOCKS, "a\nb"),
        ({"type": "message", "message": {"content": "bare"}}, "bare"),
        ({"type": "message"}, ""),
        ({"type": "messages", "messages": [HELLO["message"], TWO_BLOCKS["message"]]}, ["hello", "a\nb"]),
        ({"type": "messages"}, []),
        ({"type": "unheard.of", "x": 1}, {"type": "unheard.of", "x": 1}),
        ({"type": "text"}, None),
        ("bare", "bare"),
        (None, None),
        ({"no": "type"}, {"no": "type"}),
    ],
)
def test_the_plain_contents_of_a_value(given_: Any, plain: Any) -> None:
    assert value.plain(given_) == plain


@given(values)
def test_plain_data_makes_a_value_with_the_same_contents(data: Any) -> None:
    made = value.value_of(data)

    assert value.is_value(made)
    if not value.is_value(data):
        assert value.plain(made) == data


@pytest.mark.parametrize("raw", ["5", "null", "[]", "{}", '{"type": 1}', '{"type": null}'])
def test_a_value_without_a_type_is_a_400(raw: str) -> None:
    with pytest.raises(HubRefused, match=r"input_data\[0\]") as refused:
        value.check_value(raw.encode(), "input_data[0].value")

    assert refused.value.code == "invalid_request_body"


@pytest.mark.parametrize("raw", ['{"type": "unheard.of"}', '{"type": "integer", "integer": "no number"}'])
def test_nothing_else_is_checked_of_a_value(raw: str) -> None:
    value.check_value(raw.encode(), "value")


@pytest.mark.parametrize(
    ("given_", "data_type", "expected"),
    [
        (text("5"), "integer", {"type": "integer", "integer": 5}),
        (text("0.5"), "float", {"type": "float", "float": 0.5}),
        ({"type": "float", "float": 2.0}, "integer", {"type": "integer", "integer": 2}),
        (text("true"), "boolean", {"type": "boolean", "flag": True}),
        ({"type": "json", "json": {"a": 1}}, "text", text('{"a":1}')),
        (HELLO, "text", text("hello")),
        (text("hello"), "message", HELLO),
        (HELLO, "messages", {"type": "messages", "messages": [HELLO["message"]]}),
        (HELLO, "json", {"type": "json", "json": "hello"}),
    ],
)
def test_a_value_becomes_another_type_where_nothing_is_lost(given_: Any, data_type: str, expected: Any) -> None:
    assert value.convert(given_, data_type) == expected


@pytest.mark.parametrize(
    ("given_", "data_type"),
    [
        (text("five"), "integer"),
        (text("nan"), "float"),
        (text("1e400"), "float"),
        ({"type": "float", "float": 2.5}, "integer"),
        ({"type": "boolean", "flag": True}, "integer"),
        (text("yes"), "boolean"),
        (text("a"), "graph"),
        ({"type": "json", "json": [1]}, "message"),
    ],
)
def test_a_value_that_would_lose_something_is_refused(given_: Any, data_type: str) -> None:
    with pytest.raises(ValueError, match=r"number|true|cannot|could not|invalid literal"):
        value.convert(given_, data_type)


def test_a_message_is_made_with_its_role_and_id() -> None:
    assert value.create_message("assistant", None, "m1")["message"] == {
        "role": "assistant",
        "content": [],
        "attributes": {"id": "m1"},
    }


def test_an_unknown_type_makes_no_value() -> None:
    with pytest.raises(ValueError, match="expected one of text"):
        value.create_value("texts", "a")


@given(values)
def test_a_size_is_that_of_the_json(data: Any) -> None:
    """Compact, and with characters as they are."""
    assert value.size_bytes(value.create_value("json", data)) <= len(json.dumps({"type": "json", "json": data})) + 400


def test_a_stopped_run_leaves_with_the_reason_stopped() -> None:
    assert events.flow_stopped("session_closed").attributes["reason"] == "stopped"
