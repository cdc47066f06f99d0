"""A worker says which turn it gave up, and what blocked its loop, also when nothing happens afterwards."""

import contextlib
import logging
import time
from typing import Any

import pytest

from lbb.workflows import WorkflowResult
from lbb.workflows.attempt import Attempt
from tests.unit.test_workflows_heartbeat import SHORT_LEASE_MS, Watched, held_task, own_thread
from tests.unit.workflow_server import Engine, make_task, refused, run_turn


async def one_step(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    return WorkflowResult(state=await ctx.step("add", lambda: 1))


@pytest.mark.parametrize("route", ["operation", "checkpoint", "complete"])
async def test_a_turn_that_another_attempt_holds_is_given_up_in_words(
    route: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine()
    engine.answer(route, refused(409, "turn_lease_lost"))

    await run_turn(one_step, engine=engine)

    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 1
    assert "turn a-1/3" in told[0].getMessage()


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_turn_that_lost_its_fence_sends_nothing_even_when_its_handler_catches_that(in_thread: bool) -> None:
    engine = Engine()
    engine.answer("/v1/graph/commit", refused(409, "workflow_fence_lost"))

    async def commit() -> None:
        await engine.client.raw_request("POST", "/v1/graph/commit", body={})

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        with contextlib.suppress(Exception):
            await ctx.step("write", (lambda: commit()) if in_thread else commit)
        return WorkflowResult(state="never saved")

    await run_turn(handler, engine=engine)

    assert engine.routes() == ["claim", "operation", "/v1/graph/commit"]


async def test_a_turn_whose_lease_ran_out_in_a_frozen_process_is_given_up_in_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    attempt = Attempt(held_task(lease_ms=1_000), monotonic=lambda: now)
    now += 60.0

    with pytest.raises(BaseException, match="lease ran out"):
        attempt.check()

    assert "turn a-1/3 is given up: its lease ran out without a heartbeat" in caplog.text


async def test_a_block_that_ends_with_its_turn_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The worker is idle afterwards, so no held turn makes it look at its loop again."""

    async def block() -> None:
        time.sleep(0.15)  # noqa: ASYNC251  (the mistake this is about)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("block", block))

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=own_thread(Engine()))

    assert 'Step "block" of turn a-1/3 (job) blocked the event loop for 0.' in caplog.text


async def test_a_loop_is_not_asked_while_no_turn_is_held() -> None:
    watched = Watched()

    assert watched.look_at(0.0)
    assert watched.loop.asked == []
