"""The mock models: models/mock.py, sample.py, answer_key.py."""

import asyncio
import json
import math
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import Raw

from tests.unit import schemas as made
from tests.unit.json_values import texts
from turnbuckle.models import schema as schemas
from turnbuckle.models.answer_key import AnswerKey
from turnbuckle.models.mock import DIM, MockProvider
from turnbuckle.models.provider import CallFailed, Prompt
from turnbuckle.models.sample import sample
from turnbuckle.wire.activity import DecideActivityRequest, DecisionQuestion, EmbedActivityRequest

EXAMPLES = settings(deadline=None, max_examples=400)
FORMATS = Draft202012Validator.FORMAT_CHECKER


async def reasoned(schema: made.Schema, prompt: str = "hello", *, key: Any = None) -> Any:
    asked = Prompt(prompt, None, schemas.closed(schemas.check(schema)), 8_000)
    provider = MockProvider() if key is None else MockProvider(answer_key(key))
    return json.loads((await provider.reason("m", asked)).value)


def answer_key(key: Any) -> AnswerKey:
    return msgspec.json.decode(json.dumps(key).encode(), type=AnswerKey)


# -- reason ------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(schema=made.satisfiable, seed=st.binary(max_size=8))
def test_every_answer_follows_its_schema(schema: made.Schema, seed: bytes) -> None:
    """And every declared property is there (decision 29)."""
    asked = schemas.filled(schemas.closed(schemas.check(schema)))

    value = sample(asked, seed)

    Draft202012Validator(asked, format_checker=FORMATS).validate(json.loads(json.dumps(value)))


@pytest.mark.parametrize("schema", [{"type": "string", "format": name} for name in made.FORMATS[:-1]])
def test_a_format_is_kept(schema: made.Schema) -> None:
    """More strictly than the standard asks: formats are notes there."""
    for seed in range(20):
        Draft202012Validator(schema, format_checker=FORMATS).validate(sample(schema, bytes([seed])))


def test_the_same_question_has_the_same_answer_in_every_process() -> None:
    """Hashes of Python's own differ from process to process; these must not."""
    schema = {"type": "object", "properties": {"code": {"type": "string"}, "n": {"type": "integer"}}}
    code = (
        "import asyncio, json; from tests.unit.test_models_mock import reasoned;"
        f"print(json.dumps(asyncio.run(reasoned({schema!r}))))"
    )

    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout

    assert json.loads(elsewhere) == asyncio.run(reasoned(schema)) == asyncio.run(reasoned(schema))


async def test_another_question_has_another_answer() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 10**9, "minimum": 0}}}

    answers = {(await reasoned(schema, f"question {number}"))["n"] for number in range(20)}

    assert len(answers) == 20


def twice(levels: int) -> made.Schema:
    """A value of 2 ** levels parts, in a kilobyte."""
    parts = {
        str(n): {"type": "object", "properties": {key: {"$ref": f"#/$defs/{n + 1}"} for key in "ab"}}
        for n in range(levels)
    }
    return {"$defs": {**parts, str(levels): {"type": "null"}}, "$ref": "#/$defs/0"}


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "integer", "minimum": 1, "maximum": 0},
        {"not": {}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "string", "minLength": 10**9},
        {"type": "array", "minItems": 10**9},
        {"type": "array", "contains": {}, "minContains": 10**9},
        {"type": "object", "minProperties": 10**9},
        {"type": "array", "minItems": 9_000, "items": {"type": "string", "minLength": 9_000}},
        {"type": "array", "minItems": 900, "items": {"type": "array", "minItems": 900, "items": {"minItems": 900}}},
        twice(30),
        {"enum": []},
    ],
)
async def test_a_schema_that_nothing_follows_is_refused(schema: Any) -> None:
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]} if schema is False else schema

    with pytest.raises(CallFailed) as info:
        await reasoned(whole)

    assert info.value.code == "activity_request_refused"


@pytest.mark.parametrize(
    ("kind", "keyword"),
    [
        ("array", "minItems"),
        ("array", "maxItems"),
        ("array", "minContains"),
        ("string", "minLength"),
        ("string", "maxLength"),
        ("object", "minProperties"),
        ("object", "maxProperties"),
    ],
)
async def test_a_count_may_be_written_with_a_fraction_of_zero(kind: str, keyword: str) -> None:
    null = {"type": "null"}
    parts = {"array": {"contains": null}, "object": {"additionalProperties": null}}.get(kind, {})
    schema = {"type": kind, keyword: 2.0, **parts}

    Draft202012Validator(schema).validate(await reasoned(schema))


# -- decide and embed --------------------------------------------------------------------------------------------

questions = st.dictionaries(
    st.sampled_from(["q", "r", "s.t"]),
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), texts, min_size=2, max_size=8),
    min_size=1,
)


def decision(state: Any, asked: dict[str, dict[str, str]]) -> DecideActivityRequest:
    made = {id: DecisionQuestion(instructions="which?", criteria=criteria) for id, criteria in asked.items()}
    return DecideActivityRequest(state=Raw(json.dumps(state).encode()), questions=made)


@settings(deadline=None)
@given(asked=questions)
async def test_probabilities_are_of_all_options_and_add_up(asked: dict[str, dict[str, str]]) -> None:
    reply = await MockProvider().decide("m", decision({}, asked))

    assert reply.value.keys() == asked.keys()
    for id, shares in reply.value.items():
        assert list(shares) == list(asked[id])
        assert math.isclose(sum(shares.values()), 1)
        assert 0.55 <= max(shares.values()) <= 0.95


async def test_the_order_of_options_decides_nothing() -> None:
    one = await MockProvider().decide("m", decision(1, {"q": {"a": "", "b": "", "c": ""}}))
    other = await MockProvider().decide("m", decision(1, {"q": {"c": "", "b": "", "a": ""}}))

    assert one.value == other.value


async def test_vectors_have_length_one_and_depend_on_their_text_alone() -> None:
    reply = await MockProvider().embed("m", EmbedActivityRequest(texts=["a", "b", "a"]))

    first, second, third = reply.value
    assert first == third != second
    assert {len(vector) for vector in reply.value} == {DIM}
    assert all(math.isclose(sum(n * n for n in vector), 1) for vector in reply.value)


# -- the answer key ----------------------------------------------------------------------------------------------

KEY = {
    "reason": [
        {"when": ["Tisch Möwe", "60"], "value": {"width": 60}},
        {"when": ["bad"], "value": {"width": "wide"}},
    ],
    "decide": [{"when": ["Möwe", "width"], "probabilities": {"supported": 0.92}}],
}
WIDTH = {"type": "object", "properties": {"width": {"type": "integer"}}}


async def test_a_text_of_the_key_gets_the_keys_answer() -> None:
    """Also where the prompt is JSON with escapes: a key names what a person reads."""
    prompt = json.dumps({"instance": "Tisch Möwe", "text": "60 cm"})
    assert "ö" not in prompt

    assert await reasoned(WIDTH, prompt, key=KEY) == {"width": 60}
    assert await reasoned(WIDTH, "Tisch Möwe", key=KEY) != {"width": 60}


async def test_a_key_that_does_not_follow_the_schema_is_told() -> None:
    with pytest.raises(CallFailed, match="answer key's value does not follow"):
        await reasoned(WIDTH, "bad", key=KEY)


async def test_a_key_gives_probabilities_and_splits_what_is_left() -> None:
    provider = MockProvider(answer_key(KEY))
    asked = decision({"record": "Tisch Möwe"}, {"width": {"supported": "", "weak": "", "not_supported": ""}})

    shares = (await provider.decide("m", asked)).value["width"]

    assert shares["supported"] == 0.92
    assert shares["weak"] == shares["not_supported"] == pytest.approx(0.04)
