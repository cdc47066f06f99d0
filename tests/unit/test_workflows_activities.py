"""Model calls from a turn: whose they are, what they cost, what their refusal does (lbb-graph 3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lbb import SparqlResults, models
from lbb.workflows import (
    OwnedWrite,
    WorkflowResult,
    capture_activities,
    is_activity_refused,
    lbb_activities,
    split_in_halves,
)
from tests.unit.workflow_server import Engine, Json, ended, failure, make_task, make_worker, refused, run_turn, saved

REASON = "/v1/workflows/activities/reason"
DECIDE = "/v1/workflows/activities/decide"
EMBED = "/v1/workflows/activities/embed"
SCHEMA = {"type": "object"}
COST = {"model": "mock", "tokens_in": 2, "tokens_out": 3, "cost_micro_usd": 5}
ANSWERED = {"value": {"code": "c"}, "cached": False, **COST}
QUESTIONS = {"q": {"instructions": "i", "criteria": {"a": "A", "b": "B"}}}
RUN = {"identity": "a-1", "turn": 3, "run_id": "run-1"}
RETRY_AT_MS = 4_000_000_000_000


def engine_with_models() -> Engine:
    engine = Engine()
    engine.answer(REASON, ANSWERED)
    engine.answer(DECIDE, {"answers": {"q": {"choice": "a", "confidence": 0.9}}, "cached": False, **COST})
    engine.answer(EMBED, {"vectors": [[1.0]], "dim": 1, "cached": False, **COST})
    return engine


async def run_step(engine: Engine, fn: Callable[..., Any], task: Json = None, **options: Any) -> Json:
    """Run a turn of one step `define`; the body that ended it."""

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("define", fn, **options))

    await run_turn(handler, task, engine=engine)
    return ended(engine)


async def test_a_sync_step_function_may_return_the_call() -> None:
    engine = engine_with_models()
    lbb = lbb_activities(engine.client)

    end = await run_step(
        engine,
        lambda s: lbb.reason("p", SCHEMA, effect_id=s.effect_id, label="code"),
        model=models.ReasonActivityResponse,
    )

    assert end["state"]["value"] == {"code": "c"}
    assert engine.body(REASON) == {
        "prompt": "p",
        "schema": SCHEMA,
        "effect_id": "pre/define",
        "label": "code",
        "workflow": {**RUN, "step": "define"},
    }


async def test_decide_and_embed_name_their_step_and_their_instance_too() -> None:
    engine = engine_with_models()
    lbb = lbb_activities(engine.client)

    async def both(s: Any) -> list[Any]:
        decided = await lbb.decide({"x": 1}, QUESTIONS, effect_id=f"{s.effect_id}.2", instance="e/1")
        embedded = await lbb.embed(["a"], effect_id=f"{s.effect_id}:texts")
        return [decided.answers["q"].choice, embedded.vectors]

    end = await run_step(engine, both)

    assert end["state"] == ["a", [[1.0]]]
    assert engine.body(DECIDE)["workflow"] == {**RUN, "step": "define", "instance": "e/1"}
    assert engine.body(EMBED)["workflow"] == {**RUN, "step": "define"}


async def test_a_call_without_effect_id_names_its_turn_alone() -> None:
    engine = engine_with_models()

    await run_step(engine, lambda: lbb_activities(engine.client).embed(["a"]))

    assert engine.body(EMBED) == {"texts": ["a"], "workflow": RUN}


async def test_a_call_outside_of_every_turn_names_none() -> None:
    engine = engine_with_models()

    answer = await lbb_activities(engine.client).reason("p", SCHEMA)

    assert answer.value == {"code": "c"}
    assert engine.body(REASON) == {"prompt": "p", "schema": SCHEMA}


@pytest.mark.parametrize("test", ["notes", {"workflow": "notes"}])
async def test_a_call_can_be_marked_as_a_test(test: Any) -> None:
    engine = engine_with_models()
    lbb = lbb_activities(engine.client)

    await lbb.reason("p", SCHEMA, test=test)
    await lbb.decide({}, QUESTIONS, test=test)
    await lbb.embed(["a"], test=test)

    assert [engine.body(route)["test"] for route in (REASON, DECIDE, EMBED)] == [{"workflow": "notes"}] * 3


# Usage (3.5)


async def test_the_turn_reports_what_its_calls_cost() -> None:
    engine = engine_with_models()
    lbb = lbb_activities(engine.client)

    async def twice(s: Any) -> None:
        await lbb.reason("p", SCHEMA, effect_id=s.effect_id)
        await lbb.embed(["a"], effect_id=s.effect_id)

    end = await run_step(engine, twice)

    assert end["usage"] == {"calls": 2, "errors": 0, "tokens_in": 4, "tokens_out": 6, "cost_micro_usd": 10}


async def test_a_cached_answer_costs_nothing() -> None:
    engine = Engine()
    engine.answer(REASON, ANSWERED | {"cached": True, "tokens_in": 0, "tokens_out": 0, "cost_micro_usd": 0})

    end = await run_step(
        engine,
        lambda s: lbb_activities(engine.client).reason("p", SCHEMA, effect_id=s.effect_id),
        model=models.ReasonActivityResponse,
    )

    assert "usage" not in end


@pytest.mark.parametrize(("status", "counted"), [(422, True), (503, True), (409, False), (400, False)])
async def test_a_refused_call_is_counted_as_an_error_when_it_cost_one(status: int, counted: bool) -> None:
    engine = Engine()
    engine.answer(REASON, refused(status))

    end = await run_step(engine, lambda s: lbb_activities(engine.client).reason("p", SCHEMA, effect_id=s.effect_id))

    assert end["non_retryable"] is False
    usage = {"calls": 1, "errors": 1, "tokens_in": 0, "tokens_out": 0, "cost_micro_usd": 0}
    assert end.get("usage") == (usage if counted else None)


async def test_a_call_that_was_caught_is_counted_with_the_completion() -> None:
    engine = Engine()
    engine.answer(REASON, refused(422, "activity_request_refused"))

    async def define(s: Any) -> str:
        try:
            await lbb_activities(engine.client).reason("p", SCHEMA, effect_id=s.effect_id)
        except RuntimeError as error:
            return "too big" if is_activity_refused(error) else "other"
        return "answered"

    end = await run_step(engine, define)

    assert (end["state"], end["usage"]["errors"]) == ("too big", 1)


async def test_a_spent_budget_lets_the_turn_wait_and_counts_nothing() -> None:
    engine = Engine()
    engine.answer(REASON, refused(429, "workflow_budget_exceeded", retryable=False, retry_at_ms=RETRY_AT_MS))

    end = await run_step(engine, lambda s: lbb_activities(engine.client).reason("p", SCHEMA, effect_id=s.effect_id))

    assert (end["retry_at_ms"], end["non_retryable"], "usage" in end) == (RETRY_AT_MS, False, False)
    assert len(engine.bodies(REASON)) == 1


async def test_a_replayed_step_calls_no_model() -> None:
    engine = engine_with_models()
    task = make_task([saved("define", ANSWERED)])
    lbb = lbb_activities(engine.client)

    end = await run_step(
        engine, lambda s: lbb.reason("p", SCHEMA, effect_id=s.effect_id), task, model=models.ReasonActivityResponse
    )

    assert end["state"] == ANSWERED
    assert engine.bodies(REASON) == []


async def test_two_turns_of_one_worker_pay_for_their_own_calls() -> None:
    engine = engine_with_models()
    lbb = lbb_activities(engine.client)
    both_run = asyncio.Barrier(2)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        async def define(s: Any) -> None:
            await both_run.wait()
            for number in range(message["calls"]):
                await lbb.reason("p", SCHEMA, effect_id=f"{s.effect_id}.{number}")

        await ctx.step("define", define)
        return WorkflowResult(state=None)

    def task(prefix: str, calls: int) -> Json:
        return make_task(effect_prefix=prefix, turn={"workflow_id": prefix, "message": {"calls": calls}})

    engine.give(task("one", 1), task("two", 2))
    worker = make_worker(engine, handler, concurrency=2)
    serving = asyncio.create_task(worker.run_async())
    await engine.until_sent("complete", 2)
    worker.stop()
    engine.idle()
    await serving

    assert {end["workflow_id"]: end["usage"]["calls"] for end in engine.bodies("complete")} == {"one": 1, "two": 2}
    assert {body["workflow"]["identity"] for body in engine.bodies(REASON) if "one/" in body["effect_id"]} == {"one"}


# The others (3.7)


def test_the_activities_work_in_one_loop_after_another() -> None:
    engine = engine_with_models()
    lbb = lbb_activities(engine.client)

    for _ in range(2):
        assert asyncio.run(lbb.reason("p", SCHEMA)).value == {"code": "c"}


async def test_sparql_reads_at_the_commit_that_was_asked_for() -> None:
    engine = Engine()
    document = '{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"u"}}]}}'
    engine.answer("/v1/query/sparql-text", {"results": document})

    rows = await lbb_activities(engine.client).sparql("SELECT", as_of_commit_seq=4, consistency="strong", limit=9)

    assert isinstance(rows, SparqlResults)
    assert rows.rows() == [{"s": "u"}]
    (sent,) = engine.sent
    assert sent.body == {"query": "SELECT", "as_of_commit_seq": 4, "limit": 9}
    assert sent.params == {"graph": "main", "consistency": "strong"}


async def test_the_ontology_is_read_and_evolved() -> None:
    engine = Engine()
    lbb = lbb_activities(engine.client)

    await lbb.evolve([{"op": "add_entity_type", "name": "Note"}], dry_run=True)
    await lbb.ontology()

    evolved, viewed = engine.sent
    assert (evolved.route, evolved.params["dry_run"]) == ("/v1/ontology/evolve", "true")
    assert evolved.body == {"ops": [{"op": "add_entity_type", "name": "Note"}]}
    assert viewed.route == "/v1/ontology"


async def test_embed_takes_no_plain_text() -> None:
    with pytest.raises(TypeError, match="list of texts"):
        await lbb_activities(Engine().client).embed("ab")


@pytest.mark.parametrize(
    ("items", "halves"),
    [
        ([], None),
        ([1], None),
        ([1, 2], ([1], [2])),
        ([1, 2, 3], ([1], [2, 3])),
        ("abcd", ("ab", "cd")),
    ],
)
def test_the_first_half_is_the_smaller(items: Any, halves: Any) -> None:
    assert split_in_halves(items) == halves


@pytest.mark.parametrize(
    ("error", "is_refused"),
    [
        (refused(422, "activity_request_refused"), True),
        (refused(422, "another"), False),
        (ValueError("activity_request_refused"), False),
    ],
)
async def test_a_refusal_is_told_by_its_code(error: Any, is_refused: bool) -> None:
    if isinstance(error, httpx.Response):
        engine = Engine()
        engine.answer(REASON, error)
        with pytest.raises(RuntimeError) as raised:
            await lbb_activities(engine.client).reason("p", SCHEMA)
        error = raised.value

    assert is_activity_refused(error) is is_refused


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("write_owned", lambda lbb, ctx: lbb.write_owned(ctx, "write", OwnedWrite(subjects=[]))),
        ("requeue", lambda lbb, ctx: lbb.requeue(ctx, step_key="write", failed=[])),
        ("wait_for_review", lambda lbb, ctx: lbb.wait_for_review(ctx, "write", {}, timeout_ms=1)),
    ],
)
@pytest.mark.parametrize("is_captured", [False, True])
async def test_an_activity_that_was_never_awaited_fails_the_turn_for_good(
    name: str, call: Any, is_captured: bool
) -> None:
    """Its write would be missing from a turn that says it is complete."""
    engine = Engine()
    lbb = lbb_activities(engine.client)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        call(capture_activities(lbb).activities if is_captured else lbb, ctx)
        return WorkflowResult(state=None)

    await run_turn(handler, engine=engine)

    assert f'{name}("write") was never awaited' in failure(engine, is_permanent=True)
