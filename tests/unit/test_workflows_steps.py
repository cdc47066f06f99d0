"""Steps as a handler sees them (lbb-engine 5.5) and what the worker sends for them (5.15)."""

import asyncio
import contextvars
import functools
import threading
import time
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel

from lbb import LbbError
from lbb.workflows import WorkflowError, WorkflowResult
from lbb.workflows.step_function import Shape, shape_of
from tests.unit.workflow_server import (
    Engine,
    ended,
    failure,
    make_task,
    make_worker,
    refused,
    run_turn,
    saved,
)


class Page(BaseModel):
    title: str
    note: str | None = None
    at: datetime | None = None


async def async_one(s: Any) -> str:
    return str(s.effect_id)


def returning(*values: Any) -> Any:
    """A handler that runs one step per value and completes with their outputs."""

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        outputs = [await ctx.step(f"s{number}", lambda value=value: value) for number, value in enumerate(values)]
        return WorkflowResult(state=outputs)

    return handler


async def test_a_step_is_begun_run_and_saved_before_the_turn_goes_on() -> None:
    engine = await run_turn(returning({"x": None}))

    assert engine.routes() == ["claim", "operation", "checkpoint", "complete"]
    lease = {"workflow_id": "a-1", "turn": 3, "token": "T"}
    assert engine.body("operation") == {
        **lease,
        "key": "s0",
        "kind": "step",
        "position": 0,
        "timeout_ms": 300_000,
    }
    assert engine.body("checkpoint") == {
        **lease,
        "key": "s0",
        "kind": "step",
        "position": 0,
        "output": {"x": None},
    }


async def test_a_null_output_is_left_off() -> None:
    engine = await run_turn(returning(None))

    assert "output" not in engine.body("checkpoint")


async def test_the_fields_of_a_body_are_in_alphabetical_order() -> None:
    engine = await run_turn(returning(1))

    for sent in engine.sent:
        assert list(sent.body) == sorted(sent.body)


async def test_turn_requests_ask_for_the_least_answer() -> None:
    engine = await run_turn(returning(1))

    assert [sent.headers.get("prefer") for sent in engine.sent] == [None, *["return=minimal"] * 3]


@pytest.mark.parametrize(
    "answer", [{}, {"operation": None}, {"operation": {"checkpoint": None}}, {"status": "running"}]
)
async def test_whatever_else_the_server_answers_a_step_runs(answer: Any) -> None:
    engine = Engine()
    engine.answer("operation", answer)
    engine.answer("checkpoint", answer)

    await run_turn(returning(1), engine=engine)

    assert ended(engine)["state"] == [1]


async def test_positions_count_up_over_saved_and_new_steps() -> None:
    engine = await run_turn(returning(1, 2, 3), make_task([saved("s0", 1)]))

    assert [body["position"] for body in engine.bodies("operation")] == [1, 2]


async def test_a_saved_step_is_returned_and_its_function_does_not_run() -> None:
    ran = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        output = await ctx.step("a", lambda: ran.append("a"))
        return WorkflowResult(state=output)

    engine = await run_turn(handler, make_task([saved("a", {"old": 1})]))

    assert ran == []
    assert engine.routes() == ["claim", "complete"]
    assert ended(engine)["state"] == {"old": 1}


async def test_a_saved_step_answers_whatever_its_kind_and_timeouts_are_now() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        output = await ctx.step("a", lambda: 0, kind="model", timeout_ms=1, heartbeat_timeout_ms=-1)
        return WorkflowResult(state=output)

    engine = await run_turn(handler, make_task([saved("a", 5)]))

    assert ended(engine)["state"] == 5


async def test_the_effect_id_is_the_effect_prefix_and_the_key() -> None:
    seen = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("page.0", lambda s: seen.append((s.effect_id, s.graph, s.fence.model_dump())))
        return WorkflowResult(state=None)

    await run_turn(handler)

    assert seen == [("pre/page.0", "main", {"workflow_id": "a-1", "turn": 3, "token": "T"})]


async def test_the_output_a_handler_gets_is_a_copy_as_a_replay_reads_it() -> None:
    value = {"rows": (1, 2)}

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        output = await ctx.step("a", lambda: value)
        assert output == {"rows": [1, 2]}
        output["rows"].append(3)
        return WorkflowResult(state=len(value["rows"]))

    assert ended(await run_turn(handler))["state"] == 2


async def test_an_async_function_runs_on_the_loop_and_a_sync_one_in_a_daemon_thread() -> None:
    threads: dict[str, threading.Thread] = {}

    async def on_loop() -> None:
        threads["async"] = threading.current_thread()

    def in_thread() -> None:
        threads["sync"] = threading.current_thread()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", on_loop)
        await ctx.step("b", in_thread)
        return WorkflowResult(state=None)

    await run_turn(handler)

    assert threads["async"] is threading.current_thread()
    assert threads["sync"] is not threading.current_thread()
    assert threads["sync"].daemon


async def test_a_sync_function_that_returns_an_awaitable_is_awaited_on_the_loop() -> None:
    async def later(value: int) -> tuple[int, bool]:
        return value, threading.current_thread() is threading.main_thread()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("a", lambda s: later(4)))

    assert ended(await run_turn(handler))["state"] == [4, True]


async def test_context_variables_are_carried_into_the_thread() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        tenant.set("acme")
        return WorkflowResult(state=await ctx.step("a", lambda: tenant.get()))

    assert ended(await run_turn(handler))["state"] == "acme"


class AsyncCall:
    async def __call__(self, s: Any) -> str:
        return str(s.effect_id)


class SyncCall:
    def __call__(self) -> str:
        return "no argument"


class Methods:
    def one(self, s: Any) -> None: ...

    async def none(self) -> None: ...


def wrapped() -> Any:
    def none() -> None: ...

    @functools.wraps(none)
    def wrapper(*args: Any, **kwargs: Any) -> None: ...

    return wrapper


@pytest.mark.parametrize(
    ("fn", "shape"),
    [
        (lambda: 1, Shape(False, False)),
        (lambda s: 1, Shape(True, False)),
        (lambda page=1: page, Shape(False, False)),
        (lambda s, page=1: page, Shape(True, False)),
        (lambda *args: 1, Shape(True, False)),
        (lambda *, page=1: page, Shape(False, False)),
        (async_one, Shape(True, True)),
        (functools.partial(async_one), Shape(True, True)),
        (functools.partial(lambda page, s: 1, 5), Shape(True, False)),
        (AsyncCall(), Shape(True, True)),
        (SyncCall(), Shape(False, False)),
        (Methods().one, Shape(True, False)),
        (Methods().none, Shape(False, True)),
        (wrapped(), Shape(False, False)),
        (dict, Shape(False, False)),
        (str.upper, Shape(True, False)),
    ],
)
def test_a_function_takes_the_step_context_exactly_when_an_argument_is_required(fn: Any, shape: Shape) -> None:
    assert shape_of(fn) == shape


@pytest.mark.parametrize("fn", [lambda a, b: 1, lambda *, a: 1, functools.partial(lambda a, b, c: 1, 1)])
async def test_a_function_that_needs_more_fails_for_good_before_anything_is_sent(fn: Any) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("a", fn))

    engine = await run_turn(handler)

    assert "takes the step context or nothing" in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


@pytest.mark.parametrize(
    ("give", "says"),
    [
        (lambda: 12, "a step takes a function to run, not 12; for a value, `lambda s: value`"),
        (lambda: async_one(None), "this is a call already: pass the function itself"),
    ],
)
async def test_what_is_no_function_fails_for_good_and_says_what_to_pass(give: Any, says: str) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("a", give()))

    engine = await run_turn(handler)

    assert says in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


async def test_a_callable_object_with_an_async_call_runs_on_the_loop() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("a", AsyncCall()))

    assert ended(await run_turn(handler))["state"] == "pre/a"


async def test_a_model_is_saved_as_json_and_read_back_as_the_model() -> None:
    seen: list[Any] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        page = await ctx.step("a", lambda: Page(title="t", at=datetime(2026, 1, 2)), model=Page)
        seen.append(page)
        return WorkflowResult(state=page)

    first = await run_turn(handler)
    output = first.body("checkpoint")["output"]
    replayed = await run_turn(handler, make_task([saved("a", output)]))

    assert output == {"title": "t", "at": "2026-01-02T00:00:00"}
    assert seen == [Page(title="t", at=datetime(2026, 1, 2))] * 2
    assert ended(first)["state"] == ended(replayed)["state"] == output


async def test_a_null_that_is_not_the_default_of_a_models_field_survives() -> None:
    class Limits(BaseModel):
        pages: int | None = 5
        words: int | None = None

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        limits = await ctx.step("a", lambda: Limits(pages=None), model=Limits)
        return WorkflowResult(state=limits.pages)

    engine = await run_turn(handler)

    assert engine.body("checkpoint")["output"] == {"pages": None}
    assert ended(engine)["state"] is None


async def test_with_model_a_mapping_is_read_as_the_model_too() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        page = await ctx.step("a", lambda: {"title": "t"}, model=Page)
        return WorkflowResult(state=page.title)

    assert ended(await run_turn(handler))["state"] == "t"


async def test_an_output_that_does_not_fit_its_model_is_not_saved_and_runs_again() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", lambda: {"name": "t"}, model=Page)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert "ValidationError" in failure(engine, is_permanent=False)
    assert engine.bodies("checkpoint") == []


async def test_a_model_without_model_fails_for_good_and_names_it() -> None:
    engine = await run_turn(returning(Page(title="t")))

    assert "model=Page" in failure(engine, is_permanent=True)
    assert engine.bodies("checkpoint") == []


async def test_models_inside_lists_are_simply_dumped() -> None:
    assert ended(await run_turn(returning([Page(title="t")])))["state"] == [[{"title": "t"}]]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"rows": [1, float("nan")]}, 'step "s0".rows[1]'),
        ({"a": {1, 2}}, 'step "s0".a is of type set'),
        ({"a": {1: 2}}, 'step "s0".a has a key of type int'),
        (threading.Lock(), "lock"),
    ],
)
async def test_an_output_that_is_no_json_fails_for_good_with_its_path(value: Any, says: str) -> None:
    engine = await run_turn(returning(value))

    assert says in failure(engine, is_permanent=True)
    assert engine.bodies("checkpoint") == []


async def test_an_output_over_64_kib_fails_for_good_and_says_to_use_a_blob() -> None:
    engine = await run_turn(returning("x" * 65_535))

    text = failure(engine, is_permanent=True)
    assert 'step "s0" is 65,537 bytes of JSON, the limit is 65,536' in text
    assert "blob" in text
    assert engine.bodies("checkpoint") == []


async def test_an_output_of_64_kib_is_saved() -> None:
    engine = await run_turn(returning("x" * 65_534))

    assert len(engine.body("checkpoint")["output"]) == 65_534


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"timeout_ms": 99}, "timeout_ms of step"),
        ({"timeout_ms": 86_400_001}, "timeout_ms of step"),
        ({"timeout_ms": 1_000.0}, "timeout_ms of step"),
        ({"timeout_ms": True}, "timeout_ms of step"),
        ({"heartbeat_timeout_ms": 99}, "heartbeat_timeout_ms of step"),
        ({"timeout_ms": 1_000, "heartbeat_timeout_ms": 1_001}, "heartbeat_timeout_ms of step"),
    ],
)
async def test_a_timeout_out_of_range_fails_for_good(arguments: Any, says: str) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", lambda: 1, **arguments)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert says in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


async def test_timeouts_at_their_bounds_are_sent() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", async_one, timeout_ms=86_400_000, heartbeat_timeout_ms=100, kind="tool")
        return WorkflowResult(state=None)

    body = (await run_turn(handler)).body("operation")

    assert (body["timeout_ms"], body["heartbeat_timeout_ms"], body["kind"]) == (86_400_000, 100, "tool")


async def test_an_unknown_kind_is_an_ordinary_failure() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", lambda: 1, kind="other")
        return WorkflowResult(state=None)

    assert "ValueError: kind of step" in failure(await run_turn(handler), is_permanent=False)


@pytest.mark.parametrize(
    ("log", "keys"),
    [
        ([saved("a"), saved("b")], ["a", "c"]),
        ([saved("a"), saved("b")], ["b", "a"]),
        ([saved("a"), saved("b")], ["new", "a", "b"]),
        ([saved("a"), saved("b")], ["b"]),
        ([saved("a", None, "sleep", delay_ms=5)], ["a"]),
    ],
    ids=["rename", "swap", "insert", "remove", "change of kind"],
)
async def test_an_order_change_fails_for_good_once_and_runs_nothing(log: list[Any], keys: list[str]) -> None:
    ran = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for key in keys:
            await ctx.step(key, lambda key=key: ran.append(key))
        return WorkflowResult(state=None)

    engine = await run_turn(handler, make_task(log))

    assert "the step order changed" in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]
    assert ran == []


async def test_a_handler_that_returns_before_all_saved_steps_fails_for_good() -> None:
    engine = await run_turn(returning(1), make_task([saved("s0"), saved("s1")]))

    assert "the step order changed" in failure(engine, is_permanent=True)


async def test_a_swallowed_refusal_still_fails_the_turn_for_good() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for key in ("b", "a"):
            with pytest.raises(WorkflowError):
                await ctx.step(key, lambda: 1)
        return WorkflowResult(state="went on")

    engine = await run_turn(handler, make_task([saved("a")]))

    assert 'saved as "a" (step), the code now asks for "b" (step)' in failure(engine, is_permanent=True)


async def test_the_65th_step_fails_for_good_and_the_52nd_warns(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for number in range(65):
            await ctx.step(f"s{number}", async_one)
        return WorkflowResult(state=None)

    engine = await run_turn(handler, make_task([saved(f"s{number}") for number in range(50)]))

    assert "step 65" in failure(engine, is_permanent=True)
    assert len(engine.bodies("checkpoint")) == 14
    warnings = [record.getMessage() for record in caplog.records if "of 64" in record.getMessage()]
    assert warnings == ["turn a-1/3 uses step 52 of 64: return ctx.continue_(state, message) to go on in another turn"]


async def test_a_step_inside_another_step_fails_for_good() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        async def outer() -> None:
            await ctx.step("inner", async_one)

        await ctx.step("outer", outer)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert 'asked for step "inner" while step "outer" ran' in failure(engine, is_permanent=True)
    assert [body["key"] for body in engine.bodies("operation")] == ["outer"]


async def test_two_steps_at_once_fail_for_good() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await asyncio.gather(ctx.step("a", lambda s: asyncio.sleep(0.001)), ctx.step("b", async_one))
        return WorkflowResult(state=None)

    assert "one after the other" in failure(await run_turn(handler), is_permanent=True)


@pytest.mark.parametrize(
    ("forget", "call"),
    [
        (lambda ctx: ctx.step("charge", async_one), 'ctx.step("charge")'),
        (lambda ctx: ctx.step(key="charge", fn=async_one), 'ctx.step("charge")'),
        (lambda ctx: ctx.sleep("pause", 1_000), 'ctx.sleep("pause")'),
        (lambda ctx: ctx.wait_for_signal("ok", name="approval", timeout_ms=1_000), 'ctx.wait_for_signal("ok")'),
    ],
)
async def test_a_call_that_was_never_awaited_fails_for_good_and_is_named(forget: Any, call: str) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        forget(ctx)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert f"{call} was never awaited" in failure(engine, is_permanent=True)
    assert engine.bodies("operation") == engine.bodies("complete") == []


async def test_a_step_that_was_started_and_not_awaited_fails_for_good_and_sends_nothing_later() -> None:
    engine, begun = Engine(), asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        kept.append(asyncio.create_task(ctx.step("a", forever)))
        await begun.wait()
        return WorkflowResult(state=None)

    kept: list[asyncio.Task[Any]] = []
    await run_turn(handler, engine=engine)

    assert 'returned while step "a" ran' in failure(engine, is_permanent=True)
    with pytest.raises(asyncio.CancelledError):
        await kept[0]
    assert engine.routes() == ["claim", "operation", "fail"]


async def test_a_task_the_handler_left_behind_can_do_nothing_more_for_the_turn() -> None:
    may_go_on = asyncio.Event()
    kept: list[asyncio.Task[Any]] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        async def later() -> None:
            await may_go_on.wait()
            await ctx.step("late", async_one)

        kept.append(asyncio.create_task(later()))
        return WorkflowResult(state=None)

    engine = await run_turn(handler)
    may_go_on.set()
    await asyncio.wait(kept)

    assert "its handler has returned" in str(kept[0].exception())
    assert engine.routes() == ["claim", "complete"]


async def test_going_on_after_a_steps_exception_fails_for_good_and_runs_no_further_step() -> None:
    ran = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        with pytest.raises(ZeroDivisionError):
            await ctx.step("a", lambda: 1 / 0)
        with pytest.raises(WorkflowError):
            await ctx.step("refund", lambda: ran.append("refund"))
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert 'step "a" failed, and the handler went on' in failure(engine, is_permanent=True)
    assert ran == []
    assert engine.routes() == ["claim", "operation", "fail"]


async def test_catching_a_steps_exception_and_returning_fails_for_good() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        with pytest.raises(ZeroDivisionError):
            await ctx.step("a", lambda: 1 / 0)
        return WorkflowResult(state=None)

    assert 'step "a" failed, and the handler went on and returned' in failure(
        await run_turn(handler), is_permanent=True
    )


async def test_an_exception_of_a_step_that_leaves_the_handler_fails_the_attempt() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("a", lambda: 1 / 0))

    assert failure(await run_turn(handler), is_permanent=False) == "ZeroDivisionError: division by zero"


async def test_a_lost_lease_while_the_operation_is_answered_does_not_allow_the_effect() -> None:
    ran = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("a", lambda: ran.append("a"))
        return WorkflowResult(state=None)

    engine = Engine()
    lost = asyncio.Event()

    async def slow(body: Any) -> Any:
        await lost.wait()
        return {}

    def refuse(body: Any) -> Any:
        lost.set()
        return refused(409)

    engine.answer("operation", slow)
    engine.answer("heartbeat", refuse)
    await run_turn(handler, make_task(lease_ms=60), engine=engine)

    assert ran == []
    assert engine.routes() == ["claim", "operation", "heartbeat"]


@pytest.mark.parametrize("route", ["operation", "checkpoint", "complete"])
@pytest.mark.parametrize(
    "answer", [refused(409, "turn_lease_lost"), refused(409, "conflict"), refused(404), refused(400, "turn_lease_lost")]
)
async def test_a_409_or_404_on_a_turn_route_ends_the_attempt_and_sends_nothing_more(route: str, answer: Any) -> None:
    engine = Engine()
    engine.answer(route, answer)

    await run_turn(returning(1), engine=engine)

    assert engine.routes()[-1] == route
    assert len(engine.bodies(route)) == 1


async def test_a_handler_that_catches_the_lost_turn_and_calls_on_is_stopped_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ran, caught = [], []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        for key in ("a", "b", "c"):
            try:
                await ctx.step(key, lambda key=key: ran.append(key))
            except BaseException as exc:
                caught.append(type(exc).__name__)
        return WorkflowResult(state="went on")

    engine = Engine()
    engine.answer("operation", refused(409))
    await run_turn(handler, engine=engine)

    assert caught == ["TurnStopped"] * 3
    assert ran == []
    assert engine.routes() == ["claim", "operation"]


async def test_the_message_of_a_stopped_turn_explains_what_a_bare_except_does() -> None:
    caught: list[str] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        try:
            await ctx.step("a", async_one)
        except BaseException as exc:
            caught.append(str(exc))
            raise
        return WorkflowResult(state=None)

    engine = Engine()
    engine.answer("operation", refused(409))
    await run_turn(handler, engine=engine)

    assert "A bare `except:` catches it: raise it again" in caught[0]


@pytest.mark.parametrize("route", ["operation", "checkpoint"])
async def test_a_refused_request_is_repeated_and_in_the_end_fails_the_attempt(route: str) -> None:
    engine = Engine()
    engine.answer(route, refused(503))

    await run_turn(returning(1), engine=engine)

    assert len({sent.raw for sent in engine.sent if sent.route == route}) == 1
    assert len(engine.bodies(route)) == 3
    assert "LbbError: no (code some_code)" in failure(engine, is_permanent=False)


async def test_a_conflict_of_another_service_inside_a_step_is_an_ordinary_failure() -> None:
    def commit() -> None:
        raise LbbError(409, "", {"code": "idempotency_conflict", "message": "other body"})

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("a", commit))

    assert "idempotency_conflict" in failure(await run_turn(handler), is_permanent=False)


async def test_a_step_that_runs_too_long_ends_the_attempt_and_sends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("slow", asyncio.Event().wait, timeout_ms=100)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)

    assert engine.routes() == ["claim", "operation"]
    assert 'step "slow" of turn a-1/3 ran longer than its timeout_ms 100' in caplog.text


async def test_a_sync_step_that_runs_too_long_is_abandoned_and_its_result_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go_on = threading.Event()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("slow", go_on.wait, timeout_ms=100)
        return WorkflowResult(state=None)

    engine = await run_turn(handler)
    go_on.set()
    await asyncio.sleep(0.01)

    assert engine.routes() == ["claim", "operation"]
    assert "its thread cannot be: 1 such threads run on" in caplog.text


async def test_a_step_that_catches_its_cancellation_is_not_saved() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "went on"
        return "never"

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("slow", stubborn, timeout_ms=100))

    engine = await run_turn(handler)

    assert engine.routes() == ["claim", "operation"]


async def test_a_step_that_blocked_the_loop_past_its_timeout_is_not_saved() -> None:
    async def block() -> None:
        time.sleep(0.11)  # noqa: ASYNC251  (the mistake this is about)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=await ctx.step("slow", block, timeout_ms=100))

    engine = await run_turn(handler)

    assert engine.routes() == ["claim", "operation"]


async def test_a_step_knows_in_its_thread_that_it_was_cancelled() -> None:
    seen = []
    done = threading.Event()

    def loop_until_cancelled(s: Any) -> None:
        while not s.cancelled:
            pass
        seen.append("cancelled")
        done.set()

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("slow", loop_until_cancelled, timeout_ms=100)
        return WorkflowResult(state=None)

    await run_turn(handler)

    assert done.wait(5)
    assert seen == ["cancelled"]


async def test_a_user_timeout_around_a_step_is_an_ordinary_failure() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        async with asyncio.timeout(0.01):
            await ctx.step("slow", asyncio.Event().wait)
        return WorkflowResult(state=None)

    assert failure(await run_turn(handler), is_permanent=False).startswith("TimeoutError")


async def test_a_heartbeat_timeout_on_a_step_that_never_reports_is_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await ctx.step("quiet", async_one, heartbeat_timeout_ms=1_000)
        return WorkflowResult(state=None)

    engine = Engine(make_task(), make_task())
    worker = make_worker(engine, handler)
    serving = asyncio.create_task(worker.run_async())
    await engine.until_sent("complete", 2)
    worker.stop()
    engine.idle()
    await serving

    assert caplog.text.count("call s.progress or s.heartbeat in it") == 1
