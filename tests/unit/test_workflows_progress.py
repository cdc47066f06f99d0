"""What a running step reports (lbb-engine 5.6)."""

import asyncio
import threading
import tracemalloc
from typing import Any

import httpx
import pytest

from lbb.models import WorkflowFence
from lbb.workflows import WorkflowError, WorkflowResult, WorkflowStepContext
from lbb.workflows.progress import progress_details, progress_interval
from tests.unit.workflow_server import Engine, ended, failure, make_task, refused, run_turn

WHOLE_MAX = 2**53 - 1


def stepping(fn: Any, **arguments: Any) -> Any:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("crawl", fn, **arguments))

    return handler


def written(engine: Engine) -> list[tuple[Any, Any]]:
    """(details, cursor) of each progress write, whose sequence must count from 1."""
    bodies = engine.bodies("progress")
    assert [body["sequence"] for body in bodies] == list(range(1, len(bodies) + 1))
    return [(body["details"], body["checkpoint"]) for body in bodies]


async def test_the_worked_example_of_the_specification() -> None:
    async def crawl(s: Any) -> None:
        s.progress("p1", done=1)
        s.progress("p1", done=2)
        s.progress("p1", done=3)
        s.progress("p2", done=0)
        await s.heartbeat({"z": 1}, checkpoint={"c": 1})
        s.progress("p2", done=9)

    engine = await run_turn(stepping(crawl))

    assert written(engine) == [
        ({"phase": "p1", "done": 1}, None),
        ({"phase": "p2", "done": 0}, None),
        ({"z": 1}, {"c": 1}),
        ({"phase": "p2", "done": 9}, {"c": 1}),
    ]
    assert engine.routes()[-2:] == ["checkpoint", "complete"]


async def test_a_progress_write_names_its_step_and_lease() -> None:
    async def crawl(s: Any) -> None:
        s.progress("reading pages", done=1, total=3, unit="pages")

    assert (await run_turn(stepping(crawl))).body("progress") == {
        "workflow_id": "a-1",
        "turn": 3,
        "token": "T",
        "key": "crawl",
        "sequence": 1,
        "details": {"phase": "reading pages", "done": 1, "total": 3, "unit": "pages"},
        "checkpoint": None,
    }


async def test_the_cursor_of_an_earlier_attempt_comes_as_checkpoint_and_is_repeated() -> None:
    engine = Engine()
    engine.answer("operation", {"operation": {"checkpoint": {"page": 7}}})

    async def crawl(s: Any) -> Any:
        await s.heartbeat("one")
        await s.heartbeat("two", checkpoint=None)
        await s.heartbeat("three")
        return s.checkpoint

    await run_turn(stepping(crawl), engine=engine)

    assert ended(engine)["state"] == {"page": 7}
    assert written(engine) == [("one", {"page": 7}), ("two", None), ("three", None)]


async def test_progress_from_a_step_thread_is_written_by_the_loop() -> None:
    def crawl(s: Any) -> str:
        s.progress("p1", done=1)
        s.progress("p1", done=2)
        s.progress("p2", done=1)
        return "done"

    engine = await run_turn(stepping(crawl))

    assert written(engine)[-1] == ({"phase": "p2", "done": 1}, None)
    assert written(engine)[0][0]["phase"] == "p1"
    assert ended(engine)["state"] == "done"


async def test_a_refused_value_is_raised_in_the_thread() -> None:
    raised = []

    def crawl(s: Any) -> None:
        try:
            s.progress("", done=1)
        except WorkflowError as exc:
            raised.append((str(exc), threading.current_thread() is not threading.main_thread()))

    await run_turn(stepping(crawl))

    assert raised[0][1]
    assert "a progress phase is 1 to 80 characters" in raised[0][0]


async def test_heartbeat_from_a_thread_says_that_it_is_for_the_loop() -> None:
    def crawl(s: Any) -> None:
        s.heartbeat({"page": 1})

    text = failure(await run_turn(stepping(crawl)), is_permanent=True)

    assert 'step "crawl" called heartbeat from a thread' in text
    assert "s.progress" in text


async def test_a_million_reports_from_a_thread_are_coalesced_and_keep_memory_flat() -> None:
    """Twenty thousand here: each report that was kept would be seen."""

    def crawl(s: Any) -> int:
        tracemalloc.start()
        for done in range(20_000):
            s.progress("p", done=done)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    engine = await run_turn(stepping(crawl), progress_every_ms=600_000)

    assert len(engine.bodies("progress")) <= 3
    assert written(engine)[-1][0]["done"] == 19_999
    assert ended(engine)["state"] < 500_000


async def test_a_new_phase_with_every_report_keeps_memory_flat_too() -> None:
    def crawl(s: Any) -> None:
        for done in range(5_000):
            s.progress(f"p{done}", done=done)

    engine = await run_turn(stepping(crawl))

    assert written(engine)[-1][0]["done"] == 4_999


async def test_a_loop_of_awaited_heartbeats_writes_each() -> None:
    async def crawl(s: Any) -> None:
        for page in range(20):
            await s.heartbeat(page, checkpoint=page)

    assert written(await run_turn(stepping(crawl))) == [(page, page) for page in range(20)]


async def test_heartbeats_that_pile_up_are_coalesced_and_each_returns() -> None:
    engine = Engine()

    async def slow(body: Any) -> Any:
        await asyncio.sleep(0)
        return {}

    engine.answer("progress", slow)

    async def crawl(s: Any) -> None:
        await asyncio.gather(*(s.heartbeat(page, checkpoint=page) for page in range(1_000)))

    await run_turn(stepping(crawl), engine=engine)

    assert len(engine.bodies("progress")) <= 40
    assert written(engine)[-1] == (999, 999)


async def test_writes_are_strictly_one_after_the_other() -> None:
    engine, at_once = Engine(), []
    running = 0

    async def slow(body: Any) -> Any:
        nonlocal running
        running += 1
        at_once.append(running)
        await asyncio.sleep(0.001)
        running -= 1
        return {}

    engine.answer("progress", slow)

    async def crawl(s: Any) -> None:
        for phase in range(5):
            s.progress(f"p{phase}", done=0)
        await s.heartbeat(1)

    await run_turn(stepping(crawl), engine=engine)

    assert at_once == [1] * 6


async def test_a_held_value_goes_out_when_the_interval_is_over() -> None:
    engine = Engine()

    async def crawl(s: Any) -> None:
        for done in range(3):
            s.progress("p", done=done)
        await engine.until_sent("progress", 2)

    await run_turn(stepping(crawl), engine=engine, progress_every_ms=10)

    assert [details["done"] for details, _ in written(engine)] == [0, 2]


@pytest.mark.parametrize(
    ("every_ms", "heartbeat_timeout_ms", "seconds"),
    [(3_000, None, 3.0), (3_000, 1_000, 0.5), (3_000, 60_000, 3.0), (3_000, 100, 0.05), (3_000, 60, 0.05)],
)
def test_the_interval_is_three_seconds_or_half_the_heartbeat_timeout(
    every_ms: int, heartbeat_timeout_ms: int | None, seconds: float
) -> None:
    assert progress_interval(every_ms, heartbeat_timeout_ms) == seconds


@pytest.mark.parametrize(
    ("arguments", "details"),
    [
        ({"phase": "  reading  ", "done": 0}, {"phase": "reading", "done": 0}),
        (
            {"phase": "x" * 80, "done": WHOLE_MAX, "total": WHOLE_MAX, "unit": " Stück_a-1 "},
            {"phase": "x" * 80, "done": WHOLE_MAX, "total": WHOLE_MAX, "unit": "Stück_a-1"},
        ),
    ],
)
def test_progress_texts_are_trimmed(arguments: Any, details: Any) -> None:
    assert progress_details(**arguments) == details


@pytest.mark.parametrize(
    "arguments",
    [
        {"phase": " ", "done": 1},
        {"phase": "x" * 81, "done": 1},
        {"phase": "a\nb", "done": 1},
        {"phase": "a\x85b", "done": 1},
        {"phase": 1, "done": 1},
        {"phase": "p", "done": -1},
        {"phase": "p", "done": 1.0},
        {"phase": "p", "done": True},
        {"phase": "p", "done": WHOLE_MAX + 1},
        {"phase": "p", "done": 1, "total": "3"},
        {"phase": "p", "done": 1, "unit": ""},
        {"phase": "p", "done": 1, "unit": "x" * 33},
        {"phase": "p", "done": 1, "unit": "a/b"},
    ],
)
def test_other_progress_values_are_refused(arguments: Any) -> None:
    with pytest.raises(WorkflowError, match=r"a progress|progress done|progress total"):
        progress_details(**arguments)


async def test_a_refused_progress_value_fails_the_turn_for_good() -> None:
    async def crawl(s: Any) -> None:
        s.progress("p", done=-1)

    assert "progress done is a whole number" in failure(await run_turn(stepping(crawl)), is_permanent=True)


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (lambda s: s.heartbeat({"a": {1}}), 'step "crawl" progress.a is of type set'),
        (lambda s: s.heartbeat("x" * 16_384), 'step "crawl" progress is 16,386 bytes of JSON, the limit is 16,384'),
        (lambda s: s.heartbeat(1, checkpoint=[float("nan")]), 'step "crawl" checkpoint[0] is NaN'),
        (lambda s: s.heartbeat(1, checkpoint="x" * 262_144), 'step "crawl" checkpoint is 262,146 bytes of JSON'),
    ],
)
async def test_details_and_cursors_that_cannot_be_saved_fail_for_good(report: Any, says: str) -> None:
    async def crawl(s: Any) -> None:
        await report(s)

    engine = await run_turn(stepping(crawl))

    assert says in failure(engine, is_permanent=True)
    assert engine.bodies("progress") == []


async def test_a_failed_write_is_raised_by_heartbeat_and_fails_the_step_even_when_caught() -> None:
    engine, caught = Engine(), []
    engine.answer("progress", refused(400))

    async def crawl(s: Any) -> str:
        for _ in range(2):
            try:
                await s.heartbeat(1)
            except Exception as exc:
                caught.append(type(exc).__name__)
        return "went on"

    await run_turn(stepping(crawl), engine=engine)

    assert caught == ["LbbError", "LbbError"]
    assert "LbbError" in failure(engine, is_permanent=False)
    assert len(engine.bodies("progress")) == 1
    assert engine.bodies("checkpoint") == []


async def test_a_failed_progress_write_surfaces_at_the_end_of_the_step() -> None:
    engine = Engine()
    engine.answer("progress", httpx.ConnectError("gone"))

    async def crawl(s: Any) -> str:
        s.progress("p", done=1)
        return "done"

    await run_turn(stepping(crawl), engine=engine)

    assert "ConnectError" in failure(engine, is_permanent=False)


@pytest.mark.parametrize("use", [lambda s: s.heartbeat(1), lambda s: s.progress("p", done=1)])
async def test_a_progress_write_of_a_lost_turn_ends_the_attempt(use: Any) -> None:
    engine = Engine()
    engine.answer("progress", refused(409))

    async def crawl(s: Any) -> None:
        written = use(s)
        if written is not None:
            await written
        await asyncio.Event().wait()

    await run_turn(stepping(crawl), engine=engine)

    assert engine.routes() == ["claim", "operation", "progress"]


async def test_reports_after_the_step_has_ended_are_refused() -> None:
    kept: list[Any] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", lambda s: kept.append(s))
        with pytest.raises(WorkflowError, match='step "a" has ended'):
            kept[0].progress("p", done=1)
        with pytest.raises(WorkflowError, match='step "a" has ended'):
            await kept[0].heartbeat(1)
        return WorkflowResult(state="fine")

    engine = await run_turn(handler)

    assert ended(engine)["state"] == "fine"
    assert engine.bodies("progress") == []


async def test_what_went_out_before_a_step_failed_is_written_before_the_failure() -> None:
    async def crawl(s: Any) -> None:
        s.progress("p", done=1)
        s.progress("p", done=2)
        raise ValueError("boom")

    engine = await run_turn(stepping(crawl))

    assert engine.routes() == ["claim", "operation", "progress", "fail"]
    assert written(engine)[0][0]["done"] == 1


async def test_a_step_that_writes_no_progress_in_its_heartbeat_timeout_ends_the_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = await run_turn(stepping(asyncio.Event().wait, heartbeat_timeout_ms=100))

    assert engine.routes() == ["claim", "operation"]
    assert "wrote no progress for its heartbeat_timeout_ms 100" in caplog.text
    assert "call s.progress or s.heartbeat in it" in caplog.text


async def test_each_written_progress_gives_the_heartbeat_timeout_again() -> None:
    async def crawl(s: Any) -> str:
        for page in range(4):
            await asyncio.sleep(0.04)
            await s.heartbeat(page)
        return "done"

    assert ended(await run_turn(stepping(crawl, heartbeat_timeout_ms=100)))["state"] == "done"


async def test_a_step_context_without_callbacks_reports_nothing() -> None:
    fence = WorkflowFence(workflow_id="a", turn=1, token="T")
    s = WorkflowStepContext(effect_id="p/k", fence=fence, graph=None, checkpoint=3)

    s.progress("p", done=1)
    await s.heartbeat({"a": 1}, checkpoint=2)

    assert (s.effect_id, s.fence, s.graph, s.checkpoint, s.cancelled) == ("p/k", fence, None, 3, False)


async def test_a_step_context_passes_its_reports_to_the_callbacks() -> None:
    calls: list[Any] = []

    async def heartbeat(details: Any, **cursor: Any) -> None:
        calls.append((details, cursor))

    s = WorkflowStepContext(
        effect_id="p/k",
        fence=WorkflowFence(workflow_id="a", turn=1, token="T"),
        graph="main",
        checkpoint=None,
        heartbeat=heartbeat,
        progress=lambda phase, **counts: calls.append((phase, counts)),
    )
    s.progress("p", done=1, unit="u")
    await s.heartbeat(1)
    await s.heartbeat(2, checkpoint=None)

    assert calls == [("p", {"done": 1, "total": None, "unit": "u"}), (1, {}), (2, {"checkpoint": None})]


async def test_a_heartbeat_that_is_given_up_by_the_step_does_not_fail_it() -> None:
    engine = Engine()

    async def slow(body: Any) -> Any:
        await asyncio.sleep(0.02)
        return {}

    engine.answer("progress", slow)

    async def crawl(s: Any) -> str:
        try:
            async with asyncio.timeout(0.001):
                await s.heartbeat(1)
        except TimeoutError:
            return "went on"
        return "waited"

    await run_turn(stepping(crawl), make_task(), engine=engine)

    assert ended(engine)["state"] == "went on"
