"""Lease heartbeats that blocked code cannot stop (lbb-engine 5.4, decisions 3 and 4)."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lbb.workflows import WorkflowResult
from lbb.workflows.attempt import Attempt, End
from lbb.workflows.heartbeat import Heartbeats
from lbb.workflows.loop_watch import LoopWatch
from lbb.workflows.task import Task, read_task
from tests.unit.workflow_server import Engine, ended, make_task, make_worker, refused, run_turn, until

SHORT_LEASE_MS = 60  # a heartbeat each 20 ms


def own_thread(engine: Engine) -> Engine:
    """Let the worker think that its client has its own connections, so that heartbeats come from their thread.

    The scripted transport works on any loop.
    """
    engine.client._transport_given = False
    return engine


def held_task(**fields: Any) -> Task:
    task = read_task({"task": make_task(**fields)})
    assert task is not None
    return task


def blocking(seconds: float) -> Any:
    async def block() -> str:
        time.sleep(seconds)  # noqa: ASYNC251  (the mistake this is about)
        return "done"

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("block", block))

    return handler


async def test_an_async_step_that_blocks_the_loop_keeps_its_lease_and_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, threads = own_thread(Engine()), set()

    def beat(body: Any) -> Any:
        threads.add(threading.current_thread().name)
        return {}

    engine.answer("heartbeat", beat)

    async def block() -> str:
        time.sleep(0.1)  # noqa: ASYNC251
        beats.append(len(engine.bodies("heartbeat")))
        return "done"

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for key in ("block", "block.2"):
            await ctx.step(key, block)
            await until(lambda: "blocked the event loop" in caplog.text)
        return WorkflowResult(state="kept")

    beats: list[int] = []
    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert beats[0] >= 2
    assert threads == {"lbb-heartbeats"}
    assert ended(engine)["state"] == "kept"
    assert 'Step "block" of turn a-1/3 (job) blocked the event loop for 0.' in caplog.text
    assert caplog.text.count('Step "block" of') == 1


async def test_a_heartbeat_is_sent_each_third_of_the_lease_with_the_lease_alone() -> None:
    engine = Engine()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        started_at = time.monotonic()
        await engine.until_sent("heartbeat", 3)
        return WorkflowResult(state=time.monotonic() - started_at)

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert engine.bodies("heartbeat")[0] == {"workflow_id": "a-1", "turn": 3, "token": "T"}
    assert ended(engine)["state"] >= 0.05


async def test_with_a_transport_of_its_own_heartbeats_go_through_it_on_the_workers_loop() -> None:
    engine, threads = Engine(), []

    def beat(body: Any) -> Any:
        threads.append(threading.current_thread())
        return {}

    engine.answer("heartbeat", beat)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await engine.until_sent("heartbeat")
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert threads[0] is threading.current_thread()


@pytest.mark.parametrize("is_threaded", [False, True])
@pytest.mark.parametrize(
    "answer",
    [refused(409), refused(404), refused(500), refused(429), refused(413), httpx.ConnectError("gone")],
    ids=str,
)
async def test_a_failed_heartbeat_ends_the_attempt_is_not_repeated_and_nothing_more_is_sent(
    answer: Any, is_threaded: bool
) -> None:
    engine = own_thread(Engine()) if is_threaded else Engine()
    engine.answer("heartbeat", answer)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await asyncio.Event().wait()
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert engine.routes() == ["claim", "heartbeat"]


async def test_a_heartbeat_that_is_not_answered_in_time_ends_the_attempt() -> None:
    engine = Engine()
    engine.answer("heartbeat", lambda body: asyncio.Event().wait())

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await asyncio.Event().wait()
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert engine.routes() == ["claim", "heartbeat"]


async def test_a_lease_lost_while_the_loop_was_blocked_refuses_the_next_durable_call() -> None:
    engine, ran = own_thread(Engine()), []
    engine.answer("heartbeat", refused(409))

    async def block(s: Any) -> str:
        while not s.cancelled:
            time.sleep(0.001)  # noqa: ASYNC251
        return "done"

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("block", block)
        await ctx.step("next", lambda: ran.append("next"))
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert ran == []
    assert engine.routes("heartbeat") == ["claim", "operation"]


async def test_one_failed_heartbeat_ends_one_of_ten_turns() -> None:
    engine = Engine(*(make_task(token=f"T{number}", lease_ms=SHORT_LEASE_MS) for number in range(10)))
    engine.answer("heartbeat", lambda body: refused(409) if body["token"] == "T4" else {})
    may_end = asyncio.Event()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await may_end.wait()
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler, concurrency=10)
    serving = asyncio.create_task(worker.run_async())
    await engine.until_sent("heartbeat", 20)
    may_end.set()
    await engine.until_sent("complete", 9)
    worker.stop()
    engine.idle()
    await serving

    assert {body["token"] for body in engine.bodies("complete")} == {f"T{n}" for n in range(10)} - {"T4"}
    assert engine.bodies("fail") == []


async def test_a_server_that_hangs_for_one_turn_delays_no_other_turns_renewal() -> None:
    engine = own_thread(Engine())
    engine.answer("heartbeat", lambda body: asyncio.Event().wait() if body["token"] == "slow" else {})
    heartbeats = Heartbeats(engine.client)
    slow = [Attempt(held_task(token="slow", lease_ms=300)) for _ in range(32)]
    good = Attempt(held_task(token="good", lease_ms=SHORT_LEASE_MS))
    for attempt in (*slow, good):
        heartbeats.hold(attempt)

    await until(lambda: all(attempt.stopped for attempt in slow))
    beats = [body["token"] for body in engine.bodies("heartbeat")]
    await heartbeats.stop()

    assert beats.count("slow") == 32
    assert beats.count("good") >= 5
    assert good.stopped is None


async def test_no_heartbeat_is_sent_while_a_turn_completes() -> None:
    engine = Engine()

    async def slow(body: Any) -> Any:
        before = len(engine.bodies("heartbeat"))
        await asyncio.sleep(0.05)
        assert len(engine.bodies("heartbeat")) == before
        return {}

    engine.answer("complete", slow)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert engine.routes() == ["claim", "complete"]


async def test_no_heartbeat_is_sent_for_an_attempt_that_is_over_while_its_handler_takes_its_time_to_end() -> None:
    engine = Engine()

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended_with.append(len(engine.bodies("heartbeat")))
            await asyncio.sleep(0.05)
            ended_with.append(len(engine.bodies("heartbeat")))

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("slow", slow_to_end, timeout_ms=100))

    ended_with: list[int] = []
    await run_turn(handler, make_task(lease_ms=SHORT_LEASE_MS), engine=engine)

    assert ended_with[0] == ended_with[1] > 0


async def test_an_answer_that_comes_after_the_turn_was_dropped_does_not_count() -> None:
    engine = Engine()
    attempt = Attempt(held_task(lease_ms=SHORT_LEASE_MS))
    heartbeats = Heartbeats(engine.client)

    def refuse_late(body: Any) -> Any:
        heartbeats.drop(attempt)
        return refused(409)

    engine.answer("heartbeat", refuse_late)
    heartbeats.hold(attempt)
    await engine.until_sent("heartbeat")
    await asyncio.sleep(0.001)
    await heartbeats.stop()

    assert attempt.stopped is None


async def test_heartbeats_that_cannot_go_on_give_the_held_turns_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = own_thread(Engine())
    attempt = Attempt(held_task(lease_ms=SHORT_LEASE_MS))
    heartbeats = Heartbeats(engine.client)

    def broken(*_: object) -> bool:
        raise RuntimeError("broken")

    monkeypatch.setattr(LoopWatch, "look", broken)
    heartbeats.hold(attempt)
    await until(lambda: attempt.stopped)
    await heartbeats.stop()

    assert attempt.stopped is not None
    assert "the heartbeats failed: RuntimeError: broken" in attempt.stopped.reason


async def test_a_frozen_process_does_not_act_on_a_lease_that_ran_out_meanwhile() -> None:
    now = 100.0
    attempt = Attempt(held_task(lease_ms=2_000), monotonic=lambda: now)
    now += 2.9
    attempt.check()

    now += 0.2

    with pytest.raises(BaseException, match="its lease ran out without a heartbeat"):
        attempt.check()
    assert attempt.stopped is not None
    assert attempt.stopped.end is End.LOST


class FakeLoop:
    """A loop that answers when told to."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], None]] = []
        self.task: Any = None

    def call_soon_threadsafe(self, callback: Callable[[], None]) -> None:
        self.asked.append(callback)


class Watched:
    """A LoopWatch over a fake loop and a clock that is moved."""

    def __init__(self) -> None:
        self.now = 0.0
        self.loop = FakeLoop()
        self.watch = LoopWatch(
            self.loop,  # type: ignore[arg-type]
            300.0,
            running_task=lambda: self.loop.task,
            monotonic=lambda: self.now,
        )

    def look_at(self, now: float, *held: Attempt) -> bool:
        self.now = now
        return self.watch.look(held, now)

    def answer_at(self, now: float) -> None:
        self.now = now
        self.loop.asked.pop()()


async def test_leases_are_given_up_when_the_loop_stands_still_for_five_minutes_outside_of_a_step() -> None:
    watched, attempt = Watched(), Attempt(held_task())
    attempt.handler = watched.loop.task = asyncio.current_task()

    kept = [watched.look_at(now, attempt) for now in (0.0, 1.5, 100.0, 299.0, 300.0)]

    assert kept == [True, True, True, True, False]


async def test_leases_are_kept_for_as_long_as_a_step_blocks_the_loop() -> None:
    watched, attempt = Watched(), Attempt(held_task())
    attempt.step_task = watched.loop.task = asyncio.current_task()
    attempt.step_key = "slow"

    assert all(watched.look_at(now, attempt) for now in (0.0, 1.5, 300.0, 4_000.0))


async def test_a_block_that_does_not_end_is_told_after_a_minute_and_only_once(caplog: pytest.LogCaptureFixture) -> None:
    watched, attempt = Watched(), Attempt(held_task())
    attempt.step_task = watched.loop.task = asyncio.current_task()
    attempt.step_key = "slow"

    for now in (0.0, 1.5, 59.0, 60.0, 61.0):
        watched.look_at(now, attempt)
    watched.answer_at(70.0)
    watched.look_at(70.5, attempt)

    assert [record.getMessage().partition(". Its")[0] for record in caplog.records] == [
        'Step "slow" of turn a-1/3 (job) blocked the event loop for 60 s'
    ]


async def test_a_block_in_a_task_that_the_step_made_is_the_steps(caplog: pytest.LogCaptureFixture) -> None:
    watched, attempt = Watched(), Attempt(held_task())
    attempt.step_key, watched.loop.task = "slow", object()

    watched.look_at(0.0, attempt)
    watched.look_at(1.5, attempt)
    watched.answer_at(2.0)
    watched.look_at(2.5, attempt)

    assert 'Step "slow" of turn a-1/3 (job) blocked the event loop for 2 s' in caplog.text


async def test_a_handler_that_blocks_between_its_steps_is_named_too(caplog: pytest.LogCaptureFixture) -> None:
    watched, attempt = Watched(), Attempt(held_task())
    attempt.handler = watched.loop.task = asyncio.current_task()

    watched.look_at(0.0, attempt)
    watched.look_at(1.5, attempt)
    watched.answer_at(3.0)
    watched.look_at(3.5, attempt)

    assert "The handler of turn a-1/3 (job) blocked the event loop for 3 s" in caplog.text


async def test_a_loop_that_answers_within_a_second_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    watched, attempt = Watched(), Attempt(held_task())
    watched.loop.task = asyncio.current_task()

    for now in (0.0, 1.0, 2.0):
        watched.look_at(now, attempt)
        watched.answer_at(now + 0.9) if watched.loop.asked else None

    assert caplog.text == ""
