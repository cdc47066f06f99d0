"""Values of a workflow (lbb-engine 5.13)."""

import enum
import json
import math
import sys
from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from lbb.workflows import WorkflowError
from lbb.workflows.json_rules import copy_json, encode_json, encode_within


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


class Page(BaseModel):
    title: str
    note: str | None = None


def refusal(value: Any, where: str = "state") -> str:
    with pytest.raises(WorkflowError) as caught:
        encode_json(value, where)
    return str(caught.value)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2**80, str(2**80)),
        (-0.0, "-0.0"),
        (1e22, "1e+22"),
        ("Straße ✓", '"Straße ✓"'),
        ("a\u0000b", '"a\\u0000b"'),
        ((1, [2]), "[1,[2]]"),
        (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (Point(1, 2), "[1,2]"),
        (Page(title="t"), '{"title":"t"}'),
        ([{"page": Page(title="t")}], '[{"page":{"title":"t"}}]'),
        ({Colour.RED: Level.HIGH}, '{"red":3}'),
    ],
)
def test_what_json_can_hold_is_written_compactly_and_unescaped(value: Any, text: str) -> None:
    assert encode_json(value, "state").text.decode() == text


@pytest.mark.parametrize("value", [(1, 2), {Colour.RED: Level.HIGH}, [Point(1, 2)], Page(title="t"), 2**80, -0.0])
def test_the_first_run_sees_what_a_replay_will_read(value: Any) -> None:
    encoded = encode_json(value, "state")

    assert repr(encoded.value) == repr(json.loads(encoded.text))


def test_members_of_enums_become_their_plain_value() -> None:
    copied = copy_json([Colour.RED, Level.HIGH], "state")

    assert [type(value) for value in copied] == [str, int]


def test_a_copy_shares_nothing_with_the_value() -> None:
    value = {"rows": [{"a": 1}]}

    copied = copy_json(value, "state")
    value["rows"][0]["a"] = 2

    assert copied == {"rows": [{"a": 1}]}


def test_a_reference_that_is_shared_but_goes_in_no_circle_is_fine() -> None:
    shared = [1]

    assert copy_json({"a": shared, "b": shared}, "state") == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("value", "where", "says"),
    [
        ({"rows": [1, math.nan]}, 'step "page.0"', 'step "page.0".rows[1] is NaN'),
        ([math.inf], "message", "message[0] is infinite"),
        ({"rows": {1: "a"}}, "state", "state.rows has a key of type int"),
        ({"tags": {"a"}}, "state", "state.tags is of type set"),
        ({"a b": [b"x"]}, "result", 'result["a b"][0] is of type bytes'),
        (object(), "state", "state is of type object"),
        ((item for item in ""), 'step "a"', 'step "a" is of type generator'),
        (["\ud800"], "state", "state[0] holds the lone surrogate \\ud800"),
        ({"\udfff": 1}, "state", "state has a key that holds the lone surrogate \\udfff"),
        ([10**4_300], "state", "state[0] is an integer of more than 4,300 digits"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any, where: str, says: str) -> None:
    assert refusal(value, where).startswith(says)


def test_a_coroutine_is_refused_with_the_await_that_is_missing() -> None:
    async def price() -> int:
        return 12

    assert refusal({"due": price()}, "state") == "state.due is a coroutine: write `await` before the call that made it"


def test_an_integer_of_4300_digits_is_kept() -> None:
    number = 10**4_300 - 1

    assert encode_json(number, "state").text == str(number).encode()


def test_a_circle_is_refused_and_named() -> None:
    circle: dict[str, Any] = {"a": []}
    circle["a"].append(circle)

    assert "goes in a circle" in refusal(circle)


def test_a_circle_in_a_wide_graph_is_found_without_walking_every_path() -> None:
    wide: list[Any] = []
    for _ in range(60):
        wide = [wide, wide]
    circle: list[Any] = [wide]
    circle[0] = circle
    circle.append(wide)

    assert "goes in a circle" in refusal(circle)


def test_two_hundred_levels_are_kept() -> None:
    assert len(encode_json(nested(200), "state").text) == 401


@pytest.mark.parametrize("levels", [201, 5_000, 100_000])
def test_more_than_two_hundred_levels_are_refused_with_a_path_and_no_recursion_error(levels: int) -> None:
    says = refusal(nested(levels))

    assert says.startswith("state[0][0]")
    assert "nested deeper than 200 levels" in says
    assert len(says) < 200


def test_a_value_that_is_copied_on_a_deep_stack_is_refused_instead_of_overflowing() -> None:
    def deep(levels: int) -> str:
        return refusal(nested(200)) if levels == 0 else deep(levels - 1)

    assert "the stack is too deep" in deep(sys.getrecursionlimit() - 150 - _stack_depth())


def _stack_depth() -> int:
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


def test_a_value_over_its_limit_says_what_was_got_the_limit_and_the_way_out() -> None:
    with pytest.raises(WorkflowError, match=r'step "a" is 1,002 bytes of JSON, the limit is 1,000: use a blob'):
        encode_within("x" * 1_000, 'step "a"', 1_000)


def test_a_value_of_exactly_its_limit_is_kept() -> None:
    assert len(encode_within("x" * 998, "state", 1_000).text) == 1_000


def test_sizes_are_bytes_of_utf_8() -> None:
    with pytest.raises(WorkflowError, match="1,002 bytes"):
        encode_within("ß" * 500, "state", 1_001)
