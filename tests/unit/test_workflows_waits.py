"""Sleeps, signals, continuations and the context's other members (lbb-engine 5.7)."""

import asyncio
import logging
from typing import Any

import pytest

from lbb.workflows import WorkflowError, WorkflowResult
from tests.unit.workflow_server import Engine, ended, failure, make_task, refused, run_turn, saved

YEAR_MS = 365 * 86_400_000


async def one() -> int:
    return 1


async def sleeper(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    await ctx.sleep("z", 1_000)
    return WorkflowResult(state="woke")


async def waiter(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    answer = await ctx.wait_for_signal("r", name="approval", timeout_ms=5_000)
    return WorkflowResult(state=[answer.received, answer.value])


async def test_a_sleep_saves_a_timer_and_releases_the_worker() -> None:
    engine = await run_turn(sleeper)

    assert engine.routes() == ["claim", "checkpoint"]
    assert engine.body("checkpoint") == {
        "workflow_id": "a-1",
        "turn": 3,
        "token": "T",
        "key": "z",
        "kind": "sleep",
        "position": 0,
        "delay_ms": 1_000,
    }


async def test_a_saved_sleep_returns_at_once() -> None:
    engine = await run_turn(sleeper, make_task([saved("z", None, "sleep", delay_ms=1_000)]))

    assert engine.routes() == ["claim", "complete"]
    assert ended(engine)["state"] == "woke"


@pytest.mark.parametrize("milliseconds", [-1, YEAR_MS + 1, 1.5, True, "1000"])
async def test_a_sleep_out_of_range_fails_for_good(milliseconds: Any) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        with pytest.raises(WorkflowError):
            await ctx.sleep("z", milliseconds)
        return WorkflowResult(state="went on")

    assert 'sleep "z" is a whole number of ms' in failure(await run_turn(handler), is_permanent=True)


@pytest.mark.parametrize("milliseconds", [0, YEAR_MS])
async def test_a_sleep_at_its_bounds_is_sent(milliseconds: int) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.sleep("z", milliseconds)
        return WorkflowResult(state=None)

    assert (await run_turn(handler)).body("checkpoint")["delay_ms"] == milliseconds


@pytest.mark.parametrize("error", [refused(503), refused(400)])
async def test_a_refused_sleep_fails_the_attempt(error: Any) -> None:
    engine = Engine()
    engine.answer("checkpoint", error)

    await run_turn(sleeper, engine=engine)

    assert "LbbError" in failure(engine, is_permanent=False)


async def test_a_handler_that_catches_its_suspension_sends_nothing_more() -> None:
    caught = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for call, argument in ((ctx.sleep, 1_000), (ctx.step, one)):
            try:
                await call("z", argument)
            except BaseException as exc:
                caught.append(str(exc))
        return WorkflowResult(state="went on")

    engine = await run_turn(handler)

    assert engine.routes() == ["claim", "checkpoint"]
    assert len(caught) == 2
    assert all("is suspended by step" in text and "`except:`" in text for text in caught)


async def test_except_exception_does_not_catch_a_suspension() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        try:
            await ctx.sleep("z", 1_000)
        except Exception:
            return WorkflowResult(state="went on")
        return WorkflowResult(state=None)

    assert (await run_turn(handler)).routes() == ["claim", "checkpoint"]


async def test_a_suspension_inside_a_task_group_wins_over_the_group() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.sleep("z", 1_000))
        return WorkflowResult(state=None)

    assert (await run_turn(handler)).routes() == ["claim", "checkpoint"]


async def test_a_signal_that_is_there_already_is_taken_and_the_turn_goes_on() -> None:
    engine = Engine()
    step = saved("r", {"received": True, "value": {"ok": 1}}, "signal")
    engine.answer("wait-signal", {"status": "running", "steps": [step]})

    await run_turn(waiter, engine=engine)

    assert engine.body("wait-signal") == {
        "workflow_id": "a-1",
        "turn": 3,
        "token": "T",
        "key": "r",
        "name": "approval",
        "position": 0,
        "timeout_ms": 5_000,
    }
    assert ended(engine)["state"] == [True, {"ok": 1}]


async def test_a_minimal_answer_with_the_waited_step_alone_is_read_too() -> None:
    engine = Engine()
    step = saved("r", {"received": True, "value": 1}, "signal")
    engine.answer("wait-signal", {"status": "running", "steps": [step]})

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", one)
        return await waiter(ctx, state, message)

    await run_turn(handler, engine=engine)

    assert engine.body("wait-signal")["position"] == 1
    assert ended(engine)["state"] == [True, 1]


async def test_a_step_after_a_signal_that_was_there_has_the_next_position() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await waiter(ctx, state, message)
        return WorkflowResult(state=await ctx.step("a", one))

    engine = Engine()
    engine.answer("wait-signal", {"status": "running", "steps": [saved("r", {"received": True, "value": 1}, "signal")]})
    await run_turn(handler, engine=engine)

    assert engine.body("operation")["position"] == 1
    assert ended(engine)["state"] == 1


async def test_a_wait_without_its_signal_releases_the_worker() -> None:
    engine = Engine()
    engine.answer("wait-signal", {"status": "waiting", "steps": [saved("r", None, "signal")]})

    await run_turn(waiter, engine=engine)

    assert engine.routes() == ["claim", "wait-signal"]


@pytest.mark.parametrize("answer", [{}, {"status": "waiting"}, {"status": "running", "steps": []}, [1]])
async def test_a_wait_answered_without_its_step_fails_for_good(answer: Any) -> None:
    engine = Engine()
    engine.answer("wait-signal", answer)

    await run_turn(waiter, engine=engine)

    assert 'answered the signal wait "r" without its step' in failure(engine, is_permanent=True)


@pytest.mark.parametrize(
    ("output", "state"),
    [
        ({"received": True, "value": {"ok": 1}}, [True, {"ok": 1}]),
        ({"received": True}, [True, None]),
        ({"received": False, "value": None}, [False, None]),
        ({"received": 1, "value": "x"}, [False, None]),
        (None, [False, None]),
    ],
)
async def test_a_saved_wait_is_received_only_when_it_says_exactly_true(output: Any, state: Any) -> None:
    step = saved("r", output, "signal", delay_ms=5_000, signal_name="approval")

    engine = await run_turn(waiter, make_task([step]))

    assert engine.routes() == ["claim", "complete"]
    assert ended(engine)["state"] == state


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "a b", "timeout_ms": 1}, "a signal name is"),
        ({"name": "", "timeout_ms": 1}, "a signal name is"),
        ({"name": "a", "timeout_ms": 0}, "timeout_ms of signal wait"),
        ({"name": "a", "timeout_ms": YEAR_MS + 1}, "timeout_ms of signal wait"),
    ],
)
async def test_bad_arguments_of_a_signal_wait_fail_for_good(arguments: Any, says: str) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.wait_for_signal("r", **arguments)
        return WorkflowResult(state=None)

    assert says in failure(await run_turn(handler), is_permanent=True)


@pytest.mark.parametrize("handler", [sleeper, waiter])
@pytest.mark.parametrize("answer", [refused(409), refused(404)])
async def test_a_sleep_or_wait_of_a_lost_turn_sends_nothing_more(handler: Any, answer: Any) -> None:
    engine = Engine()
    engine.answer("checkpoint", answer)
    engine.answer("wait-signal", answer)

    await run_turn(handler, engine=engine)

    assert len(engine.routes()) == 2


async def test_heartbeats_stop_before_a_sleep_and_a_wait_and_go_on_after_a_signal_that_was_there() -> None:
    engine = Engine()
    during: list[str] = []

    async def slow(body: Any) -> Any:
        before = len(engine.bodies("heartbeat"))
        await asyncio.sleep(0.06)
        during.extend(engine.routes()[-1:])
        assert len(engine.bodies("heartbeat")) == before
        return {"status": "running", "steps": [saved("r", {"received": True, "value": 1}, "signal")]}

    engine.answer("wait-signal", slow)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await waiter(ctx, state, message)
        await engine.until_sent("heartbeat")
        return WorkflowResult(state="kept")

    await run_turn(handler, make_task(lease_ms=60), engine=engine)

    assert during == ["wait-signal"]
    assert ended(engine)["state"] == "kept"


async def test_continue_saves_the_state_and_appends_the_message_in_one_completion() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        going_on: WorkflowResult[Any] = ctx.continue_({"read": 1}, {"pages": None}, result="half")
        return going_on

    assert ended(await run_turn(handler)) == {
        "workflow_id": "a-1",
        "turn": 3,
        "token": "T",
        "state": {"read": 1},
        "result": "half",
        "continuation": {"message": {"pages": None}},
    }


async def test_a_continuation_with_a_null_message_sends_the_null() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        going_on: WorkflowResult[Any] = ctx.continue_(None, None)
        return going_on

    end = ended(await run_turn(handler))
    assert end["continuation"] == {"message": None}
    assert end["state"] is None
    assert "result" not in end


async def test_the_context_names_the_turn() -> None:
    seen = {}

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for name in ("workflow_id", "message_id", "turn", "origin", "workflow_name"):
            seen[name] = getattr(ctx, name)
        assert not hasattr(ctx, "attempt")
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(turn={"workflow_id": "starter.notes.2", "origin": {"kind": "manual"}}))

    assert seen == {
        "workflow_id": "starter.notes.2",
        "message_id": "m-3",
        "turn": 3,
        "origin": {"kind": "manual"},
        "workflow_name": "notes",
    }


async def test_blob_json_reads_a_blob_outside_of_a_step() -> None:
    engine = Engine()
    engine.answer("/v1/workflows/blobs", [1, {"a": 2}])

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.blob_json("notes/abc"))

    await run_turn(handler, engine=engine)

    assert ended(engine)["state"] == [1, {"a": 2}]
    assert engine.sent[1].params["key"] == "notes/abc"


async def test_sparql_without_execution_reads_fails_for_good() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.sparql({"query": "select"}))

    assert "execution_reads=True" in failure(await run_turn(handler), is_permanent=True)


async def test_a_log_line_between_steps_is_logged_once_over_three_attempts(caplog: pytest.LogCaptureFixture) -> None:
    """Attempt 1 dies while step 3 runs, attempt 2 while step 5 runs, attempt 3 completes."""
    caplog.set_level(logging.INFO)

    class Died(BaseException):
        pass

    def handler_that_dies_in(dying: str | None) -> Any:
        async def die() -> None:
            raise Died

        async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
            for number in range(1, 6):
                ctx.log.info("before step %d", number)
                key = f"s{number}"
                await ctx.step(key, die if key == dying else one)
            return WorkflowResult(state=None)

        return handler

    logs = [
        make_task(),
        make_task([saved("s1"), saved("s2")], turn={"operation": {"key": "s3"}}),
        make_task([saved("s1"), saved("s2"), saved("s3"), saved("s4")], turn={"operation": {"key": "s5"}}),
    ]
    for task, dying in zip(logs, ("s3", "s5", None), strict=True):
        await run_turn(handler_that_dies_in(dying), task)

    lines = [record.getMessage() for record in caplog.records if record.name == "lbb.workflows.turn"]
    assert lines == [f"before step {number}" for number in range(1, 6)]


async def test_a_log_line_carries_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        ctx.log.warning("seen", extra={"page": 1})
        return WorkflowResult(state=None)

    await run_turn(handler)

    (record,) = [record for record in caplog.records if record.name == "lbb.workflows.turn"]
    carried = {name: record.__dict__[name] for name in ("workflow_id", "workflow_type", "turn", "message_id", "page")}
    assert carried == {"workflow_id": "a-1", "workflow_type": "job", "turn": 3, "message_id": "m-3", "page": 1}
