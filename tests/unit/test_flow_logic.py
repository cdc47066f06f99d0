"""How conditions and switches compare, and what they refuse (blobhub 5.3)."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from turnbuckle.flow.components import logic
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.hub.value import plain, value_of


def context(settings: dict[str, Any], **inputs: Any) -> Any:
    values = {route: value_of(value) for route, value in inputs.items() if value is not None}
    return cast(
        Any,
        SimpleNamespace(
            setting=lambda route, default=None: settings.get(route, default),
            plain=lambda route: plain(values.get(route)),
            round=settings.get("round", 0),
        ),
    )


async def compared(operator: str, left: Any, right: Any) -> str | None:
    return (await logic.condition(context({"operator": operator}, left=left, right=right))).route


@pytest.mark.parametrize(
    ("operator", "left", "right", "is_true"),
    [
        ("eq", 1, 1.0, True),
        ("eq", True, 1, False),
        ("eq", "1", 1, False),
        ("eq", None, None, True),
        ("eq", [1, {"a": 2}], [1, {"a": 2}], True),
        ("neq", "a", "b", True),
        ("lt", 1, 2, True),
        ("lte", 2, 2, True),
        ("gt", "b", "a", True),
        ("gte", 1.5, 2, False),
        ("contains", "where is it", "is", True),
        ("contains", [1, True], 1, True),
        ("contains", [True], 1, False),
        ("contains", {"a": 1}, "a", True),
        ("contains", 5, 5, False),
        ("empty", None, None, True),
        ("empty", "", None, True),
        ("empty", [], None, True),
        ("empty", 0, None, False),
        ("empty", False, None, False),
    ],
)
async def test_comparing(operator: str, left: Any, right: Any, is_true: bool) -> None:
    assert await compared(operator, left, right) == ("true" if is_true else "false")


@pytest.mark.parametrize(("left", "right"), [(1, "1"), (True, 1), ([1], [2]), (None, 1)])
async def test_what_has_no_order_is_a_failure(left: Any, right: Any) -> None:
    with pytest.raises(ComponentFailed, match="two numbers or two texts"):
        await compared("lt", left, right)


async def test_an_unknown_operator_is_a_failure() -> None:
    with pytest.raises(ComponentFailed, match="operator"):
        await compared("like", 1, 1)


async def test_the_first_case_that_is_equal_wins() -> None:
    cases = [{"route": "a", "equals": 1}, {"route": "b", "equals": 2}, {"route": "c", "equals": 2}]

    found = [(await logic.switch(context({"cases": cases}, value=value))).route for value in (1, 2, 3)]

    assert found == ["a", "b", "default"]


@pytest.mark.parametrize("cases", [None, 1, [1], [{"equals": 1}]])
async def test_cases_that_cannot_be_read_are_a_failure(cases: Any) -> None:
    with pytest.raises(ComponentFailed, match="case"):
        await logic.switch(context({"cases": cases}, value=1))


async def test_a_loop_gives_one_element_a_round_and_then_is_done() -> None:
    rounds = [await logic.loop(context({"round": n}, items=["x", "y"])) for n in range(3)]

    assert [outcome.route for outcome in rounds] == ["item", "item", "done"]
    assert rounds[1].outputs == {"item": {"type": "json", "json": "y"}, "index": {"type": "integer", "integer": 1}}


async def test_a_loop_over_no_list_is_a_failure() -> None:
    with pytest.raises(ComponentFailed, match="expected a list"):
        await logic.loop(context({}, items="text"))
