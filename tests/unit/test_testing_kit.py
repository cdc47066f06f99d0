"""The test kit, tried the way a user's test would: on failures that users of other systems met in public."""

import asyncio
import dataclasses
import logging
import os
import re
import threading
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import turnbuckle.testing
from lbb import LbbError, models
from lbb.workflows import (
    WorkflowContext,
    WorkflowHandle,
    WorkflowResult,
    WorkflowStepContext,
    WorkflowTurnFailed,
    WorkflowWait,
    WorkflowWorker,
    triggered_workflow,
    workflow,
)
from tests.unit.test_imports import imports_of, modules
from turnbuckle.operations import key
from turnbuckle.store.database import open_database, read
from turnbuckle.testing import Clock, EndlessRun, Engine, FaultUnused, NothingRuns, Ran, WorkerCrashed

DAY_MS = 86_400_000
JAN_2020_MS = 1_577_836_800_000
Json = Any


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with Engine() as engine:
        yield engine


async def sent(engine: Engine, definition: Any, message: Json = None, **options: Any) -> WorkflowHandle:
    """The instance `i-1` with one message."""
    handle: WorkflowHandle = await definition.start(engine.client(), "i-1", **options)
    await handle.send(message, id="m-1")
    return handle


async def waiting_claims(engine: Engine) -> int:
    served = (await engine.client().raw_request("GET", "/v1/workflows/served")).data
    return sum(pair["waiting"] for pair in served["pairs"])


@workflow(name="review", version="v1", initial_state=None)
async def review(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
    draft = await ctx.step("draft", lambda s: f"draft of {message}")
    answer = await ctx.wait_for_signal("approve", name="approval", timeout_ms=3 * DAY_MS)
    await ctx.step("file", lambda s: None)
    return WorkflowResult(state=None, result=[draft, answer.value if answer.received else "approval timed out"])


class Charges:
    """A payment service, and a workflow that uses it in its only step."""

    def __init__(self) -> None:
        self.received: list[str] = []
        self.workflow = workflow(name="charges", version="v1", initial_state=None, on_message=self._charge_once)

    def charge(self, step: WorkflowStepContext) -> str:
        self.received.append(step.effect_id)
        return f"receipt {len(self.received)}"

    async def _charge_once(self, ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        return WorkflowResult(state=None, result=await ctx.step("charge", self.charge))


@pytest.fixture
def charges() -> Charges:
    return Charges()


# -- time ----------------------------------------------------------------------------------------------------------


async def test_an_approval_times_out_after_three_days(engine: Engine) -> None:
    handle = await sent(engine, review, "x")
    before = await engine.run(review)

    engine.clock.pass_time(days=3)
    after = await engine.run(review)

    assert (before.turns, before.steps_run, before.steps_replayed) == (1, ["draft"], [])
    assert (after.turns, after.steps_run, after.steps_replayed) == (1, ["file"], ["draft"])
    assert await handle.result(1, timeout=0) == ["draft of x", "approval timed out"]


async def test_a_wait_is_not_over_a_millisecond_too_early(engine: Engine) -> None:
    handle = await sent(engine, review)
    await engine.run(review)

    engine.clock.pass_ms(3 * DAY_MS - 1)

    assert await engine.run(review) == Ran()
    assert (await handle.status()).status == "waiting"


def test_a_test_without_an_event_loop_uses_asyncio_run() -> None:
    async def main() -> Json:
        async with Engine() as engine:
            handle = await sent(engine, review, "x")
            await engine.run_to_end(review)
            return await handle.result(1, timeout=0)

    assert asyncio.run(main()) == ["draft of x", "approval timed out"]


async def test_the_clock_stands_still_and_starts_where_it_is_told() -> None:
    async with Engine(clock_start_ms=JAN_2020_MS) as engine:
        handle = await sent(engine, review)
        engine.clock.pass_time(days=1, hours=2, minutes=3, seconds=4.5)

        turn = (await handle.inbox()).messages[0]

        assert turn.received_at_ms == JAN_2020_MS
        assert engine.clock() == JAN_2020_MS + DAY_MS + 2 * 3_600_000 + 3 * 60_000 + 4_500


def test_the_clock_never_goes_back() -> None:
    clock = Engine().clock

    for move in (clock.pass_ms, clock.jump_ms):
        with pytest.raises(ValueError, match="never goes back"):
            move(-1)


async def test_advance_goes_to_the_next_turn_that_can_be_claimed(engine: Engine) -> None:
    @workflow(name="naps", version="v1", initial_state=None)
    async def naps(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.sleep("nap", message)
        return WorkflowResult(state=None)

    for name, ms in (("long", 90_000), ("short", 7_000)):
        handle = await naps.start(engine.client(), name)
        await handle.send(ms, id="m")
    assert engine.advance(naps) == 0  # they can be claimed now
    await engine.run(naps)

    moves = []
    while ms := engine.advance():
        moves.append((ms, (await engine.run(naps)).turns))

    assert moves == [(7_000, 1), (83_000, 1)]


async def test_advance_does_nothing_while_a_run_is_under_way(engine: Engine, charges: Charges) -> None:
    """What could be claimed next is what the run holds: its lease would be renewed for ever."""
    moves: list[int] = []

    @workflow(name="hasty", version="v1", initial_state=None)
    async def hasty(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("step", lambda s: moves.append(engine.advance()))
        return WorkflowResult(state=None)

    await sent(engine, hasty)
    await engine.run(hasty)

    assert moves == [0]


async def test_an_uncounted_wait_goes_by_the_clock_of_the_test() -> None:
    """A wait's end is a time, which the code under test has to read from somewhere: from `engine.clock`."""
    async with Engine(clock_start_ms=JAN_2020_MS) as engine:
        asked_at: list[int] = []

        @workflow(name="quota", version="v1", initial_state=None)
        async def quota(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
            asked_at.append(engine.clock())
            if len(asked_at) < 3:
                raise WorkflowWait(engine.clock() + (0, 3_600_000)[len(asked_at) - 1])
            return WorkflowResult(state=None)

        handle = await sent(engine, quota)
        ran = await engine.run_to_end(quota)

        assert asked_at == [JAN_2020_MS, JAN_2020_MS + 1_000, JAN_2020_MS + 3_601_000]
        assert ran.errors == []
        assert (await handle.history()).turns[0].attempt == 1


async def test_a_failing_step_is_tried_again_after_its_delays_and_then_fails_for_good(engine: Engine) -> None:
    @workflow(name="flaky", version="v1", initial_state=None)
    async def flaky(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("first", lambda s: None)
        await ctx.step("second", lambda s: 1 / 0)
        return WorkflowResult(state=None)

    handle = await sent(engine, flaky)
    started_at_ms = engine.clock()
    ran = await engine.run_to_end(flaky)

    assert ran.steps_run == ["first", "second", "second", "second"]
    assert ran.steps_replayed == ["first", "first"]
    assert ran.errors == ["ZeroDivisionError: division by zero"] * 3
    assert engine.clock() == started_at_ms + 1_000 + 2_000
    with pytest.raises(WorkflowTurnFailed, match="division by zero"):
        await handle.result(1, timeout=0)


async def test_upkeep_goes_on_while_time_passes(engine: Engine) -> None:
    """A blob that nobody mentions goes as it would from a server; one that waits in a message stays."""
    blobs = engine.client().workflows.blobs
    kept, lost = await blobs.put("kept", workflow_id="i-1"), await blobs.put("lost", workflow_id="i-1")
    await sent(engine, review, {"read": kept.key})
    for _ in range(2):  # found unused twice, at least an hour apart
        engine.clock.pass_time(days=1, hours=1)
        await engine.run(review)

    assert await blobs.get_text(kept.key) == "kept"
    with pytest.raises(LbbError, match="blob"):
        await blobs.get_text(lost.key)


@pytest.mark.parametrize("ms", [1_000, 65_000, 2 * 3_600_000, 365 * DAY_MS])
async def test_a_sleep_ends_on_time_over_a_restart_of_the_server(engine: Engine, ms: int) -> None:
    @workflow(name="sleeper", version="v1", initial_state=None)
    async def sleeper(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.sleep("pause", message)
        return WorkflowResult(state=None, result="awake")

    handle = await sent(engine, sleeper, ms)
    await engine.run(sleeper)
    engine.clock.pass_ms(ms - 1)
    engine.restart()
    early = await engine.run(sleeper)
    engine.clock.pass_ms(1)
    await engine.run(sleeper)

    assert early == Ran()
    assert await handle.result(1, timeout=0) == "awake"


async def test_a_sleep_of_400_days_is_refused_at_once(engine: Engine) -> None:
    @workflow(name="sleeper", version="v1", initial_state=None)
    async def sleeper(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.sleep("pause", 400 * DAY_MS)
        return WorkflowResult(state=None)

    handle = await sent(engine, sleeper)
    ran = await engine.run_to_end(sleeper)

    assert ran.turns == 1
    with pytest.raises(WorkflowTurnFailed, match=f"from 0 to {365 * DAY_MS}, not {400 * DAY_MS}"):
        await handle.result(1, timeout=0)


async def test_a_run_that_has_no_end_is_told(engine: Engine) -> None:
    @workflow(name="daily", version="v1", initial_state=None)
    async def daily(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.sleep("night", DAY_MS)
        return ctx.continue_(None, message)

    await sent(engine, daily)

    with pytest.raises(EndlessRun, match="20 turns ran"):
        await engine.run_to_end(daily, turns_max=20)


async def test_a_worker_of_the_test_s_own_wakes_when_its_time_has_come(engine: Engine) -> None:
    """An application that starts its worker in the background is tested as it is."""
    handle = await sent(engine, review, "x")
    await engine.run(review)
    serving = asyncio.create_task(WorkflowWorker(engine.client(), [review], worker="own").run_async())
    while not await waiting_claims(engine):
        pass

    engine.clock.pass_time(days=3)

    assert await handle.result(1, timeout=5) == ["draft of x", "approval timed out"]  # a claim waits for ten
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving


@pytest.mark.parametrize("status", ["queued", "waiting", "running"])
async def test_a_result_that_nothing_can_bring_is_told_instead_of_waited_for(engine: Engine, status: str) -> None:
    await sent(engine, review)
    if status == "running":
        engine.crash_before_save("draft")
    if status != "queued":
        await engine.run(review)

    with pytest.raises(NothingRuns, match=f"turn 1 of i-1 is {status} and nothing runs it"):
        await engine.client().raw_request(
            "GET", "/v1/workflows/instances/turn", params={"id": "i-1", "turn": 1, "wait_ms": 20}
        )


async def test_a_worker_of_the_test_s_own_may_take_its_time(engine: Engine) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def work(step: WorkflowStepContext) -> None:
        has_begun.set()
        await may_end.wait()

    @workflow(name="slow", version="v1", initial_state=None)
    async def slow(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("work", work)
        return WorkflowResult(state=None)

    await sent(engine, slow)
    running = asyncio.create_task(WorkflowWorker(engine.client(), [slow], worker="own").run_once())
    await has_begun.wait()
    turn = await engine.client().raw_request(
        "GET", "/v1/workflows/instances/turn", params={"id": "i-1", "turn": 1, "wait_ms": 20}
    )
    may_end.set()

    assert turn.data["status"] == "running"
    assert await running


async def test_a_result_may_be_waited_for_beside_a_run(engine: Engine, charges: Charges) -> None:
    handle = await sent(engine, charges.workflow)

    result, _ = await asyncio.gather(handle.result(1), engine.run(charges.workflow))

    assert result == "receipt 1"


# -- leases --------------------------------------------------------------------------------------------------------


async def test_a_sleep_of_three_hours_runs_once_though_five_workers_poll(engine: Engine) -> None:
    runs: list[str] = []

    @workflow(name="later", version="v1", initial_state=None)
    async def later(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("before", lambda s: runs.append("before"))
        await ctx.sleep("pause", 3 * 3_600_000)
        await ctx.step("after", lambda s: runs.append("after"))
        return WorkflowResult(state=None)

    handle = await sent(engine, later, lease_ms=30_000)
    turns = 0
    for _ in range(15):  # every fifteen minutes, and on after the end
        ran = await asyncio.gather(*(engine.run(later, worker=f"w-{n}") for n in range(5)))
        turns += sum(one.turns for one in ran)
        engine.clock.pass_time(minutes=15)

    assert runs == ["before", "after"]
    assert turns == 2
    assert (await handle.history()).turns[0].attempt == 1


async def test_a_step_of_two_hours_keeps_its_lease_while_five_workers_poll(engine: Engine) -> None:
    runs: list[int] = []

    async def work(step: WorkflowStepContext) -> None:
        runs.append(engine.clock())
        for _ in range(12):
            engine.clock.pass_time(minutes=10)
            for n in range(5):
                assert (await engine.run(long, worker=f"w-{n}")).turns == 0

    @workflow(name="long", version="v1", initial_state=None)
    async def long(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("work", work, timeout_ms=3 * 3_600_000)
        return WorkflowResult(state=None, result="done")

    handle = await sent(engine, long, lease_ms=30_000)
    await engine.run_to_end(long)

    assert len(runs) == 1
    assert engine.clock() == runs[0] + 2 * 3_600_000
    assert await handle.result(1, timeout=0) == "done"


async def test_a_sync_step_may_let_time_pass_too(engine: Engine) -> None:
    """In the second turn the worker has nothing to renew for the first."""

    @workflow(name="long", version="v1", initial_state=None)
    async def long(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("work", lambda s: engine.clock.pass_time(hours=1), timeout_ms=2 * 3_600_000)
        return WorkflowResult(state=None, result="done")

    handle = await sent(engine, long)
    await handle.send(None, id="m-2")
    ran = await engine.run(long)

    assert (ran.turns, ran.steps_run, ran.errors) == (2, ["work", "work"], [])
    assert await handle.result(2, timeout=0) == "done"


async def test_a_worker_that_stood_still_past_its_lease_may_not_save(engine: Engine) -> None:
    """The attempt of a frozen worker is over, and its late output is not the turn's."""
    outputs = iter(["late", "fresh"])

    def work(step: WorkflowStepContext) -> str:
        output = next(outputs)
        if output == "late":
            engine.clock.jump_ms(60_000)
        return output

    @workflow(name="frozen", version="v1", initial_state=None)
    async def frozen(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        return WorkflowResult(state=None, result=await ctx.step("work", work))

    handle = await sent(engine, frozen)
    ran = await engine.run_to_end(frozen)

    assert ran.steps_run == ["work", "work"]
    assert await handle.result(1, timeout=0) == "fresh"
    assert (await handle.history()).turns[0].attempt == 2


@pytest.mark.parametrize(("pause_ms", "attempts"), [(4_000, 1), (5_000, 2)])
async def test_the_server_ends_a_step_that_reports_nothing_for_too_long(
    engine: Engine, pause_ms: int, attempts: int
) -> None:
    pauses = iter([pause_ms, 4_000, 0])

    async def work(step: WorkflowStepContext) -> None:
        for _ in range(2):
            engine.clock.pass_ms(next(pauses))
            await step.heartbeat(None)

    @workflow(name="silent", version="v1", initial_state=None)
    async def silent(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("work", work, heartbeat_timeout_ms=5_000)
        return WorkflowResult(state=None)

    handle = await sent(engine, silent)
    ran = await engine.run_to_end(silent)

    assert ran.errors == []  # the worker has nothing to tell: the server ended the attempt
    assert (await handle.history()).turns[0].attempt == attempts


# -- crashes -------------------------------------------------------------------------------------------------------


async def test_a_crash_between_effect_and_save_keeps_the_effect_id(engine: Engine, charges: Charges) -> None:
    handle = await sent(engine, charges.workflow)
    engine.crash_before_save("charge")
    crashed = await engine.run(charges.workflow)
    too_early = await engine.run(charges.workflow)
    passed_ms = engine.advance()
    again = await engine.run(charges.workflow)

    assert (crashed.turns, crashed.crashes) == (1, 1)
    assert too_early == Ran()
    assert passed_ms == 60_000 + 1_000  # the lease, then the delay before a second attempt
    assert (again.steps_run, again.steps_replayed) == (["charge"], [])
    assert len(charges.received) == 2
    assert len(set(charges.received)) == 1
    assert await handle.result(1, timeout=0) == "receipt 2"


async def test_a_crash_after_the_save_does_not_run_the_step_again(engine: Engine, charges: Charges) -> None:
    handle = await sent(engine, charges.workflow)
    engine.crash_after_save("charge")
    ran = await engine.run_to_end(charges.workflow)

    assert (ran.turns, ran.crashes) == (2, 1)
    assert (ran.steps_run, ran.steps_replayed) == (["charge"], ["charge"])
    assert len(charges.received) == 1
    assert await handle.result(1, timeout=0) == "receipt 1"


@pytest.mark.parametrize("route", ["turns/claim", "turns/operation", "turns/checkpoint", "turns/complete"])
@pytest.mark.parametrize("point", ["crash_before", "crash_after"])
async def test_wherever_the_worker_dies_the_turn_ends_with_one_output(
    engine: Engine, charges: Charges, route: str, point: str
) -> None:
    handle = await sent(engine, charges.workflow)
    getattr(engine, point)(route)
    ran = await engine.run_to_end(charges.workflow)

    assert ran.crashes == 1
    assert len(set(charges.received)) == 1
    assert await handle.result(1, timeout=0) == f"receipt {len(charges.received)}"


async def test_the_last_attempt_s_crash_fails_the_turn_for_good(engine: Engine, charges: Charges) -> None:
    handle = await sent(engine, charges.workflow, max_attempts=1)
    engine.crash_before_save("charge")
    await engine.run_to_end(charges.workflow)

    with pytest.raises(WorkflowTurnFailed, match="lease expired"):
        await handle.result(1, timeout=0)
    runs = await engine.client().raw_request("GET", "/v1/workflows/instances/runs", params={"id": "i-1"})
    assert [run["outcome"] for run in runs.data["runs"]] == ["failed"]  # upkeep has written it down


async def test_a_dead_worker_sends_nothing_more(engine: Engine) -> None:
    """Python unwinds the handler, as no real crash does; what it tries to do then must not count."""
    steps: list[str] = []

    @workflow(name="stubborn", version="v1", initial_state=None)
    async def stubborn(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        try:
            await ctx.step("one", lambda s: steps.append("one"))
        except WorkerCrashed:
            await ctx.step("two", lambda s: steps.append("two"))
        return WorkflowResult(state=None)

    handle = await sent(engine, stubborn)
    engine.crash_before_save("one")
    ran = await engine.run(stubborn)

    assert (ran.crashes, ran.errors, steps) == (1, [], ["one"])
    assert (await handle.status()).status == "running"


async def test_a_saved_cursor_outlives_its_worker_without_any_heartbeat_timeout(engine: Engine) -> None:
    cursors: list[Json] = []

    async def scan(step: WorkflowStepContext) -> None:
        cursors.append(step.checkpoint)
        for page in range(step.checkpoint or 0, 5):
            await step.heartbeat({"page": page}, checkpoint=page + 1)

    @workflow(name="scan", version="v1", initial_state=None)
    async def scanning(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("scan", scan)
        return WorkflowResult(state=None, result="scanned")

    handle = await sent(engine, scanning)
    engine.crash_after("turns/progress")
    ran = await engine.run_to_end(scanning)

    assert cursors == [None, 1]
    assert ran.crashes == 1
    assert await handle.result(1, timeout=0) == "scanned"


async def test_each_log_line_comes_once_over_three_restarts(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    @workflow(name="chatty", version="v1", initial_state=None)
    async def chatty(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        for n in range(5):
            ctx.log.info("before step %d", n)
            await ctx.step(f"step-{n}", lambda s: None)
        return WorkflowResult(state=None)

    await sent(engine, chatty, max_attempts=4)
    for step in ("step-0", "step-2", "step-3"):
        engine.crash_after_save(step)
    with caplog.at_level(logging.INFO, "lbb.workflows.turn"):
        ran = await engine.run_to_end(chatty)

    lines = [record.getMessage() for record in caplog.records if record.name == "lbb.workflows.turn"]
    assert ran.crashes == 3
    assert ran.steps_run == [f"step-{n}" for n in range(5)]
    assert lines == [f"before step {n}" for n in range(5)]


async def test_a_lost_reply_is_asked_for_again_and_changes_nothing(engine: Engine, charges: Charges) -> None:
    handle = await charges.workflow.start(engine.client(), "i-1")
    for route in ("instances/message", "turns/operation", "turns/checkpoint", "turns/complete"):
        engine.drop_reply(route, times=2)
    turn = await handle.send("x", id="m-1")
    ran = await engine.run(charges.workflow)

    assert turn.number == 1
    assert (ran.turns, len(charges.received)) == (1, 1)
    assert (await handle.status()).completed_turns == 1
    assert await handle.result(1, timeout=0) == "receipt 1"


async def test_a_claim_whose_reply_is_lost_costs_an_attempt_and_no_step(engine: Engine, charges: Charges) -> None:
    handle = await sent(engine, charges.workflow)
    engine.drop_reply("turns/claim")
    ran = await engine.run_to_end(charges.workflow)

    assert (ran.turns, ran.crashes, len(charges.received)) == (1, 0, 1)
    assert (await handle.history()).turns[0].attempt == 2


async def test_a_fault_that_never_comes_fails_the_test() -> None:
    with pytest.raises(FaultUnused, match=re.escape('crash before the save of step "chrage" (1 times more)')):
        async with Engine() as engine:
            engine.crash_before_save("chrage")


async def test_an_unused_fault_does_not_hide_why_a_test_failed() -> None:
    async def failing() -> None:
        async with Engine() as engine:
            engine.crash_before_save("charge")
            raise KeyError("why")

    with pytest.raises(KeyError, match="why"):
        await failing()


async def test_a_fault_of_no_route_is_refused(engine: Engine) -> None:
    with pytest.raises(ValueError, match="got the route 'turns/compleet', expected one of"):
        engine.drop_reply("turns/compleet")
    with pytest.raises(ValueError, match="got the route 'instances/message'"):
        engine.crash_after("instances/message")
    with pytest.raises(ValueError, match="got times 0"):
        engine.crash_before_save("charge", times=0)


# -- signals and steps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before the claim", "during the step", "while it waits"])
async def test_a_signal_is_heard_once_whenever_it_comes(engine: Engine, when: str) -> None:
    async def approve() -> None:
        for _ in range(2):  # a double click
            await handle.signal("approval", "yes", turn=1, id="click")

    async def draft(step: WorkflowStepContext) -> None:
        if when == "during the step":
            await approve()

    @workflow(name="asks", version="v1", initial_state=None)
    async def asks(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await ctx.step("draft", draft)
        answers = [await ctx.wait_for_signal(f"ask-{n}", name="approval", timeout_ms=DAY_MS) for n in range(2)]
        return WorkflowResult(state=None, result=[answer.value for answer in answers])

    handle = await sent(engine, asks)
    if when == "before the claim":
        await approve()
    await engine.run(asks)
    if when == "while it waits":
        await approve()
    await engine.run_to_end(asks)

    assert await handle.result(1, timeout=0) == ["yes", None]


async def test_a_wait_that_timed_out_stays_timed_out_when_it_is_replayed(engine: Engine) -> None:
    handle = await sent(engine, review, "x")
    engine.crash_before_save("file")
    await engine.run(review)
    engine.clock.pass_time(days=3)
    crashed = await engine.run(review)
    await handle.signal("approval", "too late", turn=1, id="click")
    ran = await engine.run_to_end(review)

    assert (crashed.crashes, ran.steps_run) == (1, ["file"])
    assert await handle.result(1, timeout=0) == ["draft of x", "approval timed out"]


async def _in_sequence(ctx: WorkflowContext) -> None:
    await ctx.step("twice", lambda s: None)
    await ctx.step("twice", lambda s: None)


async def _in_a_loop(ctx: WorkflowContext) -> None:
    for _ in range(3):
        await ctx.step("twice", lambda s: None)


async def _in_gather(ctx: WorkflowContext) -> None:
    await asyncio.gather(*(ctx.step("twice", lambda s: None) for _ in range(2)))


@pytest.mark.parametrize("use", [_in_sequence, _in_a_loop, _in_gather])
async def test_a_key_used_twice_fails_at_its_second_use(engine: Engine, use: Any) -> None:
    @workflow(name="twice", version="v1", initial_state=None)
    async def twice(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json]:
        await use(ctx)
        return WorkflowResult(state=None)

    handle = await sent(engine, twice)
    ran = await engine.run_to_end(twice)

    assert ran.steps_run.count("twice") <= 1
    assert ran.turns == 1  # for good: running it again cannot help
    with pytest.raises(WorkflowTurnFailed, match="twice"):
        await handle.result(1, timeout=0)


# -- the kit itself ------------------------------------------------------------------------------------------------


async def test_it_runs_on_the_store_it_is_given(store_url: str, charges: Charges) -> None:
    """Crash, lease and retry by the test's clock, and a second engine that goes on where the first one left."""
    async with Engine(clock_start_ms=JAN_2020_MS, database=store_url) as engine:
        await sent(engine, charges.workflow)
        engine.crash_before_save("charge")
        await engine.run(charges.workflow)
        engine.advance()
        later_ms = engine.clock()
    with closing(open_database(store_url)) as database:
        left = read(database, key.all_keys)

    async with Engine(clock_start_ms=later_ms, database=store_url) as engine:
        await engine.run(charges.workflow)

        assert await engine.client().workflows.handle("i-1").result(1, timeout=0) == "receipt 2"
        assert len(set(charges.received)) == 1
        assert [one.revoked_at_ms for one in left] == [later_ms]  # no door is left open in a store that stays


async def test_graphs_are_kept_apart(engine: Engine, charges: Charges) -> None:
    for graph in ("main", "other"):
        handle = await charges.workflow.start(engine.client(graph=graph), "i-1")
        await handle.send(None, id="m-1")

    ran = await engine.run_to_end(charges.workflow, graph="other")

    assert ran.turns == 1
    assert (await engine.client().workflows.handle("i-1").status()).status == "queued"


def test_nothing_is_left_behind(charges: Charges) -> None:
    threads = set(threading.enumerate())

    async def main() -> str:
        async with Engine() as engine:
            await sent(engine, charges.workflow)
            engine.crash_before_save("charge")
            await engine.run_to_end(charges.workflow)
            assert engine._folder is not None
            folder = engine._folder.name
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return folder

    folder = asyncio.run(main())

    for thread in set(threading.enumerate()) - threads:  # an idle step thread has been told to end
        thread.join(timeout=5)
        assert not thread.is_alive(), thread.name
    assert not os.path.exists(folder)


def test_nothing_imports_the_kit() -> None:
    importing = {
        module
        for module, path in modules()
        if not module.startswith("turnbuckle.testing")
        and any(imported.startswith("turnbuckle.testing") for imported in imports_of(path, module))
    }

    assert importing == set()


def test_the_reference_page_names_what_is_public() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/testing.md").read_text("utf-8")
    names = {name for kind in (Engine, Clock) for name in vars(kind) if not name.startswith("_")}
    fields = {field.name for field in dataclasses.fields(Ran)}

    assert {name for name in names if not re.search(rf"\b{name}\(", page)} == set()
    assert {name for name in fields | set(turnbuckle.testing.__all__) if not re.search(rf"\b{name}\b", page)} == set()


# -- triggers ------------------------------------------------------------------------------------------------------


async def test_a_schedule_runs_when_the_clock_is_moved_to_its_slot(engine: Engine) -> None:
    slots: list[int] = []

    async def note_slot(ctx: WorkflowContext, message: models.WorkflowScheduleMessage, state: dict[str, Any]) -> None:
        slots.append(message.missed)

    report = triggered_workflow(name="report", version="v1", on_schedule=note_slot)
    body = {
        "name": "report",
        "workflow": {"workflow_type": "report", "version": "v1"},
        "triggers": [{"schedule": {"every": "1h"}}],
    }
    await engine.client().workflows.named.put(body)

    await engine.run(report)
    engine.clock.pass_time(hours=1)
    await engine.run(report)
    engine.clock.pass_time(hours=3)
    await engine.run(report)

    assert slots == [0, 2]


async def test_a_commit_of_one_workflow_sets_off_another_in_the_same_run(engine: Engine) -> None:
    client, seen = engine.client(), list[str]()
    await client.create_graph()
    ops = [{"op": "add_entity_type", "name": "Note"}, {"op": "add_property", "name": "text"}]
    await client.ontology.evolve({"ops": ops})

    @workflow(name="writer", version="v1", initial_state={})
    async def writer(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        row = {"type": "Note", "name": "a", "properties": {"text": message["text"]}}
        await ctx.step("write", lambda s: client.commit({"entity_properties": [row]}, idempotency_key=s.effect_id))
        return WorkflowResult(state={})

    @triggered_workflow(name="reader", version="v1")
    async def reader(ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: Any) -> None:
        seen.extend(message.instances)

    await client.use_workflow_starter(
        "workflow", name="notes", class_="Note", workflow={"workflow_type": "reader", "version": "v1"}
    )
    handle = await writer.start(client, "writer-1")
    await handle.send({"text": "hello"}, id="m-1")

    ran = await engine.run(writer, reader)

    assert ran.errors == []
    assert len(seen) == 1
