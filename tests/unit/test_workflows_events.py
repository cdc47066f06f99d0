"""Events of an execution go with the requests of its turn (decision 36); for keys of scope `runtime`."""

from typing import Any

from lbb.workflows import WorkflowResult
from tests.unit.workflow_server import make_task, run_turn, saved

ENTERED, LEFT, ENDED = ({"key": key, "type": "processor.output"} for key in ("entered", "left", "ended"))


async def test_events_go_with_the_begin_the_output_and_the_end() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        async def step() -> None:
            ctx.post_event(LEFT)

        ctx.post_event(ENTERED)
        await ctx.step("s", step)
        ctx.post_event(ENDED)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    sent = {route: engine.body(route).get("events") for route in ("operation", "checkpoint", "complete")}
    assert sent == {"operation": [ENTERED], "checkpoint": [LEFT], "complete": [ENDED]}


async def test_a_turn_without_events_sends_none() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("s", lambda: 1)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert all("events" not in engine.body(route) for route in ("operation", "checkpoint", "complete"))


async def test_what_went_with_a_saved_step_is_not_sent_again() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        ctx.post_event(ENTERED)
        await ctx.step("s", lambda: 1)
        ctx.post_event(ENDED)
        return WorkflowResult(state=None)

    engine = await run_turn(handler, make_task([saved("s", 1)]))

    assert engine.body("complete")["events"] == [ENDED]


async def test_events_that_were_saved_in_another_way_are_forgotten() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        ctx.post_event(ENTERED)
        ctx.drop_events()
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert "events" not in engine.body("complete")
