"""The claim loop and how it stops (lbb-engine 5.1, 5.2, 5.10)."""

import asyncio
import threading
import time
from typing import Any

import httpx
import pytest

from lbb import LbbError
from lbb.workflows import WorkflowError, WorkflowResult, WorkflowWorker, turn_run
from lbb.workflows.attempt import End
from lbb.workflows.claim import ClaimBackoff
from lbb.workflows.running import current_turn
from tests.unit.workflow_server import Engine, job, make_task, make_worker, refused, run_turn, until


async def one(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    return WorkflowResult(state=1)


class Gate:
    """A handler that tells that it runs and ends when the test says so."""

    def __init__(self) -> None:
        self.running = 0
        self.most_at_once = 0
        self.may_end = asyncio.Event()

    async def __call__(self, ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        await self.may_end.wait()
        self.running -= 1
        return WorkflowResult(state=1)

    async def until_running(self, count: int) -> None:
        await until(lambda: self.running >= count)


def tasks(count: int, **fields: Any) -> list[Any]:
    return [make_task(token=f"T{number}", **fields) for number in range(count)]


async def served(engine: Engine, worker: WorkflowWorker) -> "asyncio.Task[None]":
    running = asyncio.create_task(worker.run_async())
    await engine.until_sent("claim")
    return running


async def test_a_claim_names_the_worker_and_every_registered_pair() -> None:
    engine = Engine(make_task())
    worker = make_worker(engine, one, job(one, version="v2"))

    assert await worker.run_once(wait_ms=7)

    assert engine.body("claim") == {
        "worker": "w",
        "wait_ms": 7,
        "workflows": [{"workflow_type": "job", "version": "v1"}, {"workflow_type": "job", "version": "v2"}],
    }


async def test_the_loop_waits_ten_seconds_at_the_server_and_run_once_does_not() -> None:
    engine = Engine()
    worker = make_worker(engine, one)
    running = await served(engine, worker)
    worker.stop()
    engine.idle()
    await running
    assert not await worker.run_once()

    assert [body["wait_ms"] for body in engine.bodies("claim")] == [10_000, 0]


async def test_run_once_tells_whether_there_was_a_turn() -> None:
    engine = Engine(make_task())
    engine.idle()
    worker = make_worker(engine, one)

    assert [await worker.run_once(), await worker.run_once()] == [True, False]


async def test_at_most_concurrency_turns_run_at_once() -> None:
    engine, gate = Engine(*tasks(10)), Gate()
    worker = make_worker(engine, gate, concurrency=4)
    running = await served(engine, worker)
    await gate.until_running(4)
    await asyncio.sleep(0.005)
    claims = len(engine.bodies("claim"))
    gate.may_end.set()
    await engine.until_sent("complete", 10)
    worker.stop()
    engine.idle()
    await running

    assert worker.concurrency == gate.most_at_once == claims == 4


@pytest.mark.parametrize(
    ("concurrency", "waits"), [(1, [True]), (2, [True, True]), (6, [True, False, False, False, False])]
)
async def test_once_a_turn_was_there_several_are_asked_for_at_once_without_waiting(
    concurrency: int, waits: list[bool]
) -> None:
    """As many as slots are left, at most four; with one slot left the claim waits at the server again."""
    engine, gate, asked = Engine(*tasks(6)), Gate(), []

    async def one_claim(body: Any) -> Any:
        asked.append(body["wait_ms"] > 0)
        return await engine._claimed(body["wait_ms"])

    engine.answer("claim", one_claim)
    worker = make_worker(engine, gate, concurrency=concurrency)
    running = await served(engine, worker)
    await gate.until_running(min(concurrency, 5))
    first = asked[: len(waits)]
    gate.may_end.set()
    worker.stop()
    engine.idle()
    await running

    assert first == waits


@pytest.mark.parametrize("answer", [refused(500), httpx.ConnectError("gone")])
async def test_a_further_claim_that_fails_is_left_to_the_next_one(answer: Any) -> None:
    """Its failure ends nothing and waits for nothing; the claim after it waits, if the server still says no."""
    engine, claims = Engine(*tasks(2)), 0

    async def one_claim(body: Any) -> Any:
        nonlocal claims
        claims += 1
        return answer if claims == 2 else await engine._claimed(body["wait_ms"])

    engine.answer("claim", one_claim)
    worker = make_worker(engine, one, concurrency=3)
    running = await served(engine, worker)
    await engine.until_sent("complete", 2)
    worker.stop()
    engine.idle()
    await running

    assert len(engine.bodies("complete")) == 2


async def test_a_further_claim_that_is_refused_ends_the_run() -> None:
    engine, claims = Engine(*tasks(3)), 0

    async def one_claim(body: Any) -> Any:
        nonlocal claims
        claims += 1
        return refused(403) if claims == 3 else await engine._claimed(body["wait_ms"])

    engine.answer("claim", one_claim)

    with pytest.raises(LbbError):
        await make_worker(engine, one, concurrency=4).run_async()

    assert len(engine.bodies("complete")) == 3  # a turn that came together with the refusal is run


async def test_each_turn_runs_in_an_asyncio_task_of_its_own() -> None:
    engine, seen = Engine(*tasks(2)), set()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        seen.add(asyncio.current_task())
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await engine.until_sent("complete", 2)
    worker.stop()
    engine.idle()
    await running

    assert len(seen) == 2


async def test_a_workflow_registered_while_serving_is_in_the_next_claim() -> None:
    engine = Engine()
    worker = make_worker(engine, one)
    running = await served(engine, worker)
    worker.register(job(one, name="other"))
    engine.give(make_task())
    await engine.until_sent("claim", 2)
    worker.stop()
    engine.idle()
    await running

    assert engine.bodies("claim")[1]["workflows"][1] == {"workflow_type": "other", "version": "v1"}


@pytest.mark.parametrize("answer", [refused(429), refused(500), refused(503, retryable=False), httpx.ConnectError("x")])
async def test_a_claim_that_may_pass_is_not_repeated_but_claimed_again_after_a_wait(
    answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClaimBackoff, "seconds", lambda self: 0.001)
    engine = Engine()
    engine.answer("claim", answer, answer, {"task": make_task()}, lambda body: engine._claimed())
    worker = make_worker(engine, one)
    running = await served(engine, worker)
    await engine.until_sent("complete")
    worker.stop()
    engine.idle()
    await running

    assert engine.routes()[:4] == ["claim", "claim", "claim", "complete"]


def test_the_wait_after_failed_claims_is_1_s_doubling_to_30_and_starts_again() -> None:
    backoff = ClaimBackoff()

    assert [backoff.seconds() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    backoff.reset()
    assert backoff.seconds() == 1


async def test_the_stop_ends_the_wait_after_a_failed_claim() -> None:
    engine = Engine()
    engine.answer("claim", refused(503))
    worker = make_worker(engine, one)
    running = await served(engine, worker)
    await asyncio.sleep(0.001)
    worker.stop()

    await asyncio.wait_for(running, 0.5)


@pytest.mark.parametrize(
    "answer",
    [refused(400), refused(401), refused(403), refused(404), refused(409), httpx.Response(200, text="{broken")],
)
async def test_any_other_failure_of_a_claim_ends_the_loop_with_it_once_the_held_turns_are_drained(answer: Any) -> None:
    engine, gate = Engine(), Gate()
    engine.answer("claim", {"task": make_task()}, answer)
    worker = make_worker(engine, gate, concurrency=2)
    running = await served(engine, worker)
    await engine.until_sent("claim", 2)
    await asyncio.sleep(0.005)
    assert not running.done()
    gate.may_end.set()

    with pytest.raises((LbbError, ValueError)):
        await running
    assert engine.routes() == ["claim", "claim", "complete"]


async def test_a_claim_answered_with_something_else_ends_the_loop() -> None:
    engine = Engine()
    engine.answer("claim", [1])

    with pytest.raises(ValueError, match="the answer to turns/claim is no JSON object"):
        await make_worker(engine, one).run_async()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"token": None}, "task.token is no text"),
        ({"lease_ms": "60000"}, "task.lease_ms is no whole number"),
        ({"effect_prefix": 5}, "task.effect_prefix is no text"),
        ({"turn": {"number": None}}, "task.turn.number is no whole number"),
        ({"turn": {"version": None}}, "task.turn.version is no text"),
        ({"turn": {"workflow_id": 1}}, "task.turn.workflow_id is no text"),
        ({"turn": {"message_id": 1}}, "task.turn.message_id is no text"),
        ({"turn": {"steps": {}}}, "task.turn.steps is no list"),
        ({"turn": {"steps": [{}]}}, "task.turn.steps[0].key is no text"),
        ({"workflow_type": "unknown"}, 'has no workflow "unknown"'),
    ],
)
async def test_a_task_that_cannot_be_run_is_raised_by_run_once_and_nothing_is_sent(change: Any, says: str) -> None:
    engine = Engine(make_task(**change))

    with pytest.raises(WorkflowError) as caught:
        await make_worker(engine, one).run_once()

    assert says in str(caught.value)
    assert engine.routes() == ["claim"]


@pytest.mark.parametrize("change", [{"token": None}, {"workflow_type": "unknown"}])
async def test_a_task_that_cannot_be_run_is_logged_and_the_loop_goes_on(
    change: Any, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(make_task(**change), make_task())
    worker = make_worker(engine, one)
    running = await served(engine, worker)
    await engine.until_sent("complete")
    worker.stop()
    engine.idle()
    await running

    assert "cannot be run" in caplog.text


async def test_what_a_worker_does_not_insist_on_may_be_missing() -> None:
    task = make_task(turn={"steps": None, "run": None, "message": None})
    del task["state"], task["turn"]["attempt"], task["turn"]["status"]

    engine = await run_turn(one, task)

    assert engine.routes() == ["claim", "complete"]


async def test_a_failed_fail_is_logged_and_the_loop_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(*tasks(2))
    engine.answer("fail", refused(500))

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        raise ValueError("boom")

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await engine.until_sent("fail", 2)
    worker.stop()
    engine.idle()
    await running

    assert caplog.text.count("turn a-1/3 was left unsettled") == 2


async def test_a_stop_lets_the_pending_claim_answer_and_hands_its_turn_back_unrun() -> None:
    engine, ran = Engine(), []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        ran.append(1)
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    worker.stop()
    await asyncio.sleep(0.005)
    assert not running.done()
    before_ms = int(time.time() * 1000)
    engine.give(make_task())
    await running

    assert ran == []
    assert engine.routes() == ["claim", "fail"]
    fail = engine.body("fail")
    assert "released" in fail["error"]
    assert fail["non_retryable"] is False
    assert before_ms + 1_000 <= fail["retry_at_ms"] <= before_ms + 2_000


async def test_held_turns_finish_within_the_drain() -> None:
    engine, gate = Engine(*tasks(2)), Gate()
    worker = make_worker(engine, gate, concurrency=2)
    running = await served(engine, worker)
    await gate.until_running(2)
    worker.stop()
    await asyncio.sleep(0.005)
    gate.may_end.set()
    await running

    assert engine.routes("claim") == ["complete", "complete"]


async def test_what_is_not_finished_after_the_drain_is_released_uncounted_with_one_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, gate = Engine(*tasks(2)), Gate()
    worker = make_worker(engine, gate, concurrency=2, drain_seconds=0.01)
    running = await served(engine, worker)
    await gate.until_running(2)
    before_ms = int(time.time() * 1000)
    worker.stop()
    await running

    fails = engine.bodies("fail")
    assert engine.routes("claim") == ["fail", "fail"]
    for fail in fails:
        assert "released" in fail["error"]
        assert fail["non_retryable"] is False
        assert before_ms + 1_000 <= fail["retry_at_ms"] <= before_ms + 2_000
    assert "stopping: draining for up to 0.01 s, holding 2 turns: a-1/3, a-1/3" in caplog.text


async def test_a_second_stop_releases_at_once() -> None:
    engine, gate = Engine(*tasks(1)), Gate()
    worker = make_worker(engine, gate)
    running = await served(engine, worker)
    await gate.until_running(1)
    worker.stop()
    worker.stop()

    await asyncio.wait_for(running, 0.5)
    assert engine.routes("claim") == ["fail"]


@pytest.mark.parametrize("drain_seconds", [0, -1, 0.01])
async def test_stop_with_drain_seconds_lowers_the_drain(drain_seconds: float) -> None:
    engine, gate = Engine(*tasks(1)), Gate()
    worker = make_worker(engine, gate)
    running = await served(engine, worker)
    await gate.until_running(1)
    worker.stop()
    worker.stop(drain_seconds=drain_seconds)

    await asyncio.wait_for(running, 0.5)
    assert engine.routes("claim") == ["fail"]


async def test_stop_with_drain_seconds_never_makes_the_drain_longer() -> None:
    engine, gate = Engine(*tasks(1)), Gate()
    worker = make_worker(engine, gate, drain_seconds=0.01)
    running = await served(engine, worker)
    await gate.until_running(1)
    worker.stop(drain_seconds=60)
    worker.stop(drain_seconds=60)

    await asyncio.wait_for(running, 0.5)


async def test_stop_has_no_effect_before_the_worker_serves_and_works_from_another_thread() -> None:
    engine = Engine()
    worker = make_worker(engine, one)
    worker.stop()
    running = await served(engine, worker)
    assert not running.done()

    threading.Thread(target=worker.stop).start()
    await asyncio.sleep(0.005)
    engine.idle()
    await asyncio.wait_for(running, 0.5)


async def test_a_stopped_worker_can_serve_again() -> None:
    engine = Engine()
    worker = make_worker(engine, one)
    for number in range(2):
        running = asyncio.create_task(worker.run_async())
        engine.give(make_task())
        await engine.until_sent("claim", 2 * number + 2)
        worker.stop()
        engine.give(make_task())
        await running
    assert engine.routes() == ["claim", "complete", "claim", "fail"] * 2


async def test_a_worker_serves_once_at_a_time() -> None:
    engine = Engine()
    worker = make_worker(engine, one)
    running = await served(engine, worker)

    with pytest.raises(WorkflowError, match="serves already"):
        await worker.run_async()
    worker.stop()
    engine.idle()
    await running


async def test_a_turn_that_is_sending_its_completion_is_not_released() -> None:
    engine, may_answer = Engine(make_task()), asyncio.Event()

    async def slow(body: Any) -> Any:
        await may_answer.wait()
        return {}

    engine.answer("complete", slow)
    worker = make_worker(engine, one)
    running = await served(engine, worker)
    await engine.until_sent("complete")
    worker.stop(drain_seconds=0)
    await asyncio.sleep(0.005)
    may_answer.set()
    await running

    assert engine.routes("claim") == ["complete"]


async def test_a_release_after_the_handlers_last_await_still_releases() -> None:
    engine = Engine(make_task())

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        active = worker._serving
        assert active is not None
        active._release()
        return WorkflowResult(state="too late")

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await engine.until_sent("fail")
    worker.stop()
    engine.idle()
    await running

    assert engine.routes("claim") == ["fail"]


async def test_a_released_turn_reports_its_usage() -> None:
    engine, held = Engine(make_task()), asyncio.Event()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        turn = current_turn.get()
        assert turn is not None
        turn.usage.count_answer({"tokens_in": 1})
        held.set()
        await asyncio.Event().wait()
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await held.wait()
    worker.stop(drain_seconds=0)
    await running

    assert engine.body("fail")["usage"]["calls"] == 1


async def test_a_stuck_sync_step_does_not_hold_up_a_release(caplog: pytest.LogCaptureFixture) -> None:
    engine, go_on, started = Engine(make_task()), threading.Event(), threading.Event()

    def stuck() -> None:
        started.set()
        go_on.wait()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("stuck", stuck)
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await until(started.is_set)
    worker.stop(drain_seconds=0)
    await asyncio.wait_for(running, 0.5)
    go_on.set()

    assert engine.routes("claim") == ["operation", "fail"]
    assert 'step "stuck" of turn a-1/3 was ended, but its thread cannot be' in caplog.text


async def test_a_handler_that_catches_its_cancellation_is_released_all_the_same(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(turn_run._GRACE_SECONDS, End.RELEASED, 0.01)
    engine, held, may_end = Engine(make_task()), asyncio.Event(), asyncio.Event()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        held.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await held.wait()
    worker.stop(drain_seconds=0)
    await running
    may_end.set()
    await asyncio.sleep(0)

    assert engine.routes("claim") == ["fail"]
    assert "it catches CancelledError" in caplog.text


async def test_a_cancelled_run_async_cancels_its_turns_and_sends_nothing() -> None:
    engine, held, ended = Engine(make_task()), asyncio.Event(), []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        held.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    running = await served(engine, worker)
    await held.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.sleep(0)

    assert ended == ["cancelled"]
    assert engine.routes("claim") == []


async def test_twenty_turns_that_are_completing_at_the_stop_are_all_settled() -> None:
    engine, gate = Engine(*tasks(20)), Gate()
    worker = make_worker(engine, gate, concurrency=20)
    running = await served(engine, worker)
    await gate.until_running(20)
    gate.may_end.set()
    worker.stop()
    await running

    assert sorted(body["token"] for body in engine.bodies("complete")) == sorted(f"T{n}" for n in range(20))


async def test_a_long_list_of_held_turns_is_cut_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    engine, gate = Engine(*tasks(23)), Gate()
    worker = make_worker(engine, gate, concurrency=23)
    running = await served(engine, worker)
    await gate.until_running(23)
    worker.stop()
    gate.may_end.set()
    await running

    assert "holding 23 turns: a-1/3," in caplog.text
    assert "a-1/3 and 3 more" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"worker": ""}, "worker is a name"),
        ({"worker": None}, "worker is a name"),
        ({"concurrency": 0}, "concurrency is a whole number"),
        ({"concurrency": 1.5}, "concurrency is a whole number"),
        ({"concurrency": True}, "concurrency is a whole number"),
        ({"progress_every_ms": 0}, "progress_every_ms is a whole number"),
        ({"claim_wait_ms": -1}, "claim_wait_ms is a whole number"),
    ],
)
def test_bad_worker_options_are_refused(arguments: Any, says: str) -> None:
    with pytest.raises(WorkflowError, match=says):
        WorkflowWorker(Engine().client, [job(one)], **{"worker": "w", **arguments})


def test_a_worker_needs_definitions_with_distinct_names_and_versions() -> None:
    client = Engine().client
    with pytest.raises(WorkflowError, match="at least one"):
        WorkflowWorker(client, [], worker="w")
    with pytest.raises(WorkflowError, match="registered twice"):
        WorkflowWorker(client, [job(one), job(one)], worker="w")
    undecorated: Any = one
    with pytest.raises(WorkflowError, match="a worker serves what @workflow has made, not <function one"):
        WorkflowWorker(client, [undecorated], worker="w")
