"""Which turn and step a model call belongs to, and what it costs (lbb-engine 5.11)."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lbb.workflows import WorkflowResult
from lbb.workflows.running import RunningTurn, current_turn, enter, leave, running_turns, turn_of_call
from lbb.workflows.task import read_task
from lbb.workflows.usage import TurnUsage
from tests.unit.workflow_server import make_task, run_turn

ALL = ("calls", "errors", "tokens_in", "tokens_out", "cost_micro_usd")


def running_turn(prefix: str, **fields: Any) -> RunningTurn:
    task = read_task({"task": make_task(effect_prefix=prefix, **fields)})
    assert task is not None
    return RunningTurn(task, None)


@contextmanager
def running(*prefixes: str) -> Iterator[list[RunningTurn]]:
    turns = [running_turn(prefix) for prefix in prefixes]
    for turn in turns:
        enter(turn)
    try:
        yield turns
    finally:
        for turn in turns:
            leave(turn)


def test_an_answer_counts_a_call_with_its_tokens_and_cost() -> None:
    usage = TurnUsage()
    for _ in range(2):
        usage.count_answer({"cached": False, "tokens_in": 1, "tokens_out": 2, "cost_micro_usd": 3})

    assert usage.report() == dict(zip(ALL, (2, 0, 2, 4, 6), strict=True))


def test_an_embedding_without_tokens_out_counts() -> None:
    usage = TurnUsage()
    usage.count_answer({"tokens_in": 1, "cost_micro_usd": None})

    assert usage.report() == dict(zip(ALL, (1, 0, 1, 0, 0), strict=True))


def test_a_cached_answer_counts_nothing() -> None:
    usage = TurnUsage()
    usage.count_answer({"cached": True, "tokens_in": 9, "cost_micro_usd": 9})

    assert usage.report() is None


@pytest.mark.parametrize(("status", "calls"), [(422, 1), (500, 1), (503, 1), (429, 0), (409, 0), (400, 0)])
def test_a_422_or_5xx_counts_a_call_and_an_error(status: int, calls: int) -> None:
    usage = TurnUsage()
    usage.count_refusal(status)

    assert (usage.calls, usage.errors) == (calls, calls)


def test_calls_from_many_threads_are_all_counted() -> None:
    usage = TurnUsage()

    def count() -> None:
        for _ in range(2_000):
            usage.count_answer({"tokens_in": 1})

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (usage.calls, usage.tokens_in) == (8_000, 8_000)


def test_the_effect_id_names_the_turn_before_anything_else() -> None:
    with running("p1", "p2") as (first, second):
        current_turn.set(first)

        assert turn_of_call("p2/define") is second


def test_without_a_known_effect_id_the_call_is_the_current_tasks() -> None:
    with running("p1", "p2") as (_, second):
        current_turn.set(second)

        assert turn_of_call(None) is second
        assert turn_of_call("other/define") is second


def test_else_it_belongs_to_the_only_turn_or_to_none() -> None:
    current_turn.set(None)
    with running("p1") as (only,):
        assert turn_of_call("other") is only
    with running("p1", "p2"):
        assert turn_of_call("other") is None
    assert turn_of_call(None) is None


def test_a_turn_that_left_does_not_take_a_newer_attempt_with_it() -> None:
    older, newer = running_turn("p"), running_turn("p")
    enter(older)
    enter(newer)
    leave(older)

    assert turn_of_call("p/a") is newer
    leave(newer)
    assert running_turns() == []


@pytest.mark.parametrize(
    ("effect_id", "step"),
    [
        ("p/define", "define"),
        ("p/define.2", "define"),
        ("p/define:texts", "define"),
        ("p/definex", None),
        ("p/page.2.1", "page.2"),
        ("p/page.3", "page"),
        ("p/never", None),
        ("q/define", None),
        (None, None),
    ],
)
def test_the_step_of_a_call_is_its_effect_id_or_the_longest_that_starts_it(
    effect_id: str | None, step: str | None
) -> None:
    turn = running_turn("p")
    turn.step_keys += ["define", "page", "page.2"]

    assert turn.step_of(effect_id) == step


def test_a_call_carries_identity_turn_run_step_and_instance() -> None:
    turn = running_turn("p")
    turn.step_keys.append("define")

    assert turn.call_mark("p/define", "e/1") == {
        "identity": "a-1",
        "turn": 3,
        "run_id": "run-1",
        "step": "define",
        "instance": "e/1",
    }
    assert running_turn("p", turn={"run": None}).call_mark() == {"identity": "a-1", "turn": 3}
    assert len(turn.call_mark(instance="e" * 513)["instance"]) == 512


async def test_a_turn_is_current_in_its_steps_threads_and_child_tasks() -> None:
    seen = []

    def look() -> None:
        turn = current_turn.get()
        seen.append(None if turn is None else (turn.task.name, turn_of_call("pre/x") is turn, list(turn.step_keys)))

    async def look_later() -> None:
        look()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("in-thread", look)
        await asyncio.create_task(look_later())
        return WorkflowResult(state=None)

    await run_turn(handler)

    assert seen == [("a-1/3", True, ["in-thread"]), ("a-1/3", True, ["in-thread"])]
    assert current_turn.get() is None
    assert running_turns() == []


async def test_only_steps_whose_function_ran_in_this_attempt_are_named() -> None:
    seen = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("old", lambda: 1)
        turn = current_turn.get()
        assert turn is not None
        seen.append(turn.step_of("pre/old"))
        return WorkflowResult(state=None)

    await run_turn(handler, make_task([{"key": "old", "kind": "step", "output": 1, "at_ms": 1}]))

    assert seen == [None]
