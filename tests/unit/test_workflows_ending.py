"""How a turn ends: completion, failure and wait (lbb-engine 5.3, 5.8, 5.9)."""

import asyncio
import time
from typing import Any

import httpx
import pytest

from lbb import LbbError, WorkflowExecutionError
from lbb.workflows import WorkflowError, WorkflowResult, WorkflowWait
from lbb.workflows.errors import TurnStopped
from lbb.workflows.failure import describe, failure_of
from lbb.workflows.running import current_turn, turn_of_call
from tests.unit.workflow_server import Engine, ended, failure, make_task, refused, run_turn

NOW_MS = 1_000_000
KIB = 1024


def raising(error: BaseException) -> Any:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        raise error

    return handler


def returning(value: Any) -> Any:
    async def handler(ctx: Any, state: Any, message: Any) -> Any:
        return value

    return handler


async def test_a_completion_sends_state_and_result() -> None:
    engine = await run_turn(returning(WorkflowResult(state={"n": 1}, result=[1])))

    assert engine.routes() == ["claim", "complete"]
    assert ended(engine) == {"workflow_id": "a-1", "turn": 3, "token": "T", "state": {"n": 1}, "result": [1]}


async def test_the_handler_gets_the_state_and_the_message() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=[state, message])

    assert ended(await run_turn(handler))["state"] == [{"n": 0}, {"by": 1}]


async def test_a_mapping_with_state_result_and_continuation_is_a_result_too() -> None:
    value = {"state": 1, "result": 2, "continuation": {"message": 3}}

    end = ended(await run_turn(returning(value)))

    assert (end["state"], end["result"], end["continuation"]) == (1, 2, {"message": 3})


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "not NoneType"),
        (5, "not int"),
        ({"count": 3}, "not a mapping with the keys ['count']"),
        ({"state": 1, "other": 2}, "not a mapping with the keys ['other', 'state']"),
        (WorkflowResult(1, None, {"msg": 1}), "a continuation is a mapping"),
        (WorkflowResult(1, None, [1]), "a continuation is a mapping"),  # type: ignore[arg-type]
    ],
)
async def test_any_other_return_value_fails_for_good(value: Any, says: str) -> None:
    assert says in failure(await run_turn(returning(value)), is_permanent=True)


async def test_a_handler_that_is_not_async_fails_for_good() -> None:
    handler: Any = lambda ctx, state, message: WorkflowResult(state=None)  # a `def` is refused earlier

    assert "must be an async function" in failure(await run_turn(handler), is_permanent=True)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (WorkflowResult({"a": float("nan")}), "state.a is NaN"),
        (WorkflowResult(None, {"a": {1}}), "result.a is of type set"),
        (WorkflowResult(None, None, {"message": [object()]}), "continuation.message[0] is of type object"),
        (WorkflowResult("x" * 256 * KIB), "state is 262,146 bytes of JSON, the limit is 262,144: use a blob"),
        (WorkflowResult(1, None, {"message": "x" * 256 * KIB}), "continuation.message is 262,146 bytes of JSON"),
        (WorkflowResult(1, "x" * 1024 * KIB), "the completion (state, result, message) is 1,048,"),
    ],
)
async def test_a_result_that_cannot_be_saved_fails_for_good_before_it_is_sent(result: Any, says: str) -> None:
    engine = await run_turn(returning(result))

    assert says in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


async def test_a_state_of_256_kib_is_sent() -> None:
    assert len(ended(await run_turn(returning(WorkflowResult("x" * (256 * KIB - 2)))))["state"]) == 256 * KIB - 2


async def test_a_completion_of_exactly_1_mib_is_sent() -> None:
    lease = len(b'{"state":null,"token":"T","turn":3,"workflow_id":"a-1"}')
    chars = 1024 * KIB - lease - len(b'"result":"",')

    engine = await run_turn(returning(WorkflowResult(None, "x" * chars)))

    (complete,) = [sent for sent in engine.sent if sent.route == "complete"]
    assert len(complete.raw) == 1024 * KIB


async def test_a_completion_whose_answer_is_lost_is_repeated_byte_for_byte() -> None:
    engine = Engine()
    engine.answer("complete", httpx.ReadError("lost"), refused(503), {})

    await run_turn(returning(WorkflowResult({"n": 1}, "reply", {"message": 2})), engine=engine)

    assert len({sent.raw for sent in engine.sent if sent.route == "complete"}) == 1
    assert engine.routes() == ["claim", "complete", "complete", "complete"]


@pytest.mark.parametrize("answer", [refused(400), refused(413), refused(500), httpx.ConnectError("gone")])
async def test_a_completion_that_is_refused_to_the_end_fails_the_attempt(answer: Any) -> None:
    engine = Engine()
    engine.answer("complete", answer)

    await run_turn(returning(WorkflowResult(1)), engine=engine)

    assert engine.body("fail")["non_retryable"] is False


async def test_an_exception_fails_the_attempt_with_its_class_and_text() -> None:
    engine = await run_turn(raising(ValueError("boom")))

    assert ended(engine) == {
        "workflow_id": "a-1",
        "turn": 3,
        "token": "T",
        "error": "ValueError: boom",
        "non_retryable": False,
    }


async def test_a_workflow_error_fails_the_turn_for_good() -> None:
    assert failure(await run_turn(raising(WorkflowError("no order"))), is_permanent=True) == "WorkflowError: no order"


async def test_an_execution_error_fails_the_turn_for_good() -> None:
    assert "no" in failure(await run_turn(raising(WorkflowExecutionError("no"))), is_permanent=True)


async def test_a_wait_fails_uncounted_until_its_time() -> None:
    at = int(time.time() * 1000) + 60_000

    end = ended(await run_turn(raising(WorkflowWait(at, "later"))))

    assert (end["retry_at_ms"], end["non_retryable"], end["error"]) == (at, False, "WorkflowWait: later")


async def test_a_wait_until_a_past_time_lies_a_second_ahead() -> None:
    before = int(time.time() * 1000)

    end = ended(await run_turn(raising(WorkflowWait(5))))

    assert end["retry_at_ms"] >= before + 1_000


def test_a_wait_takes_milliseconds_as_int_or_float() -> None:
    assert WorkflowWait(1_800_000_000_000.7).retry_at_ms == 1_800_000_000_000  # type: ignore[arg-type]
    for wrong in ("soon", None, True):
        with pytest.raises(TypeError, match="Unix milliseconds"):
            WorkflowWait(wrong)  # type: ignore[arg-type]


async def test_a_budget_refusal_with_a_time_is_a_wait() -> None:
    at = int(time.time() * 1000) + 60_000
    error = LbbError(429, "", {"code": "workflow_budget_exceeded", "message": "spent", "retry_at_ms": at})

    end = ended(await run_turn(raising(error)))

    assert (end["retry_at_ms"], end["non_retryable"]) == (at, False)


async def test_a_budget_refusal_without_a_time_counts() -> None:
    error = LbbError(429, "", {"code": "workflow_budget_exceeded", "message": "spent"})

    assert "retry_at_ms" not in ended(await run_turn(raising(error)))


async def test_a_lost_fence_sends_nothing() -> None:
    error = LbbError(409, "", {"code": "workflow_fence_lost", "message": "fence"})

    assert (await run_turn(raising(error))).routes() == ["claim"]


async def test_a_handler_that_cancels_itself_fails_the_attempt() -> None:
    assert failure(await run_turn(raising(asyncio.CancelledError())), is_permanent=False).startswith("CancelledError")


async def test_only_the_outermost_exception_is_described() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        try:
            raise WorkflowError("inner")
        except WorkflowError as exc:
            raise KeyError("outer") from exc

    assert failure(await run_turn(handler), is_permanent=False) == "KeyError: 'outer'"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            {"message": "bad page", "code": "invalid_param", "request_id": "req_42"},
            " (code invalid_param, request req_42)",
        ),
        ({"message": "bad page", "code": "invalid_param"}, " (code invalid_param)"),
        ({"message": "bad page", "request_id": "req_42"}, " (request req_42)"),
        ({"message": "bad page"}, ""),
    ],
)
def test_an_api_error_names_its_code_and_request(error: dict[str, str], text: str) -> None:
    assert describe(LbbError(400, "", error)) == "LbbError: bad page" + text


def test_an_error_text_is_cut_to_1000_characters_that_can_be_stored() -> None:
    assert len(describe(ValueError("x" * 2_000))) == 1_000
    assert describe(ValueError("a\ud800b\u0000")) == "ValueError: a?b\u0000"


def test_an_exception_whose_text_cannot_be_made_is_described_all_the_same() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    assert describe(Broken()) == "Broken: <its text cannot be made: RuntimeError>"


def test_a_failure_of_a_stopped_turn_is_nothing_to_send() -> None:
    assert failure_of(TurnStopped("a/1", "lost"), NOW_MS) is None


@pytest.mark.parametrize("answer", [refused(409), refused(404), refused(400, "turn_lease_lost")])
async def test_a_fail_of_a_turn_that_moved_on_is_no_error(answer: Any) -> None:
    engine = Engine()
    engine.answer("fail", answer)

    await run_turn(raising(ValueError("boom")), engine=engine)

    assert engine.routes() == ["claim", "fail"]


@pytest.mark.parametrize("answer", [refused(500), refused(429), refused(401), httpx.ConnectError("gone")])
async def test_a_fail_is_sent_once_and_its_refusal_is_raised_by_run_once(answer: Any) -> None:
    engine = Engine()
    engine.answer("fail", answer)

    with pytest.raises((LbbError, httpx.ConnectError)):
        await run_turn(raising(ValueError("boom")), engine=engine)

    assert engine.routes() == ["claim", "fail"]


async def test_usage_goes_with_the_completion_and_the_failure() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        turn = turn_of_call("pre/a")
        assert turn is not None
        turn.usage.count_answer({"cached": False, "tokens_in": 5, "tokens_out": 7, "cost_micro_usd": 11})
        turn.usage.count_refusal(422)
        if message == "fail":
            raise ValueError("boom")
        return WorkflowResult(state=None)

    usage = {"calls": 2, "errors": 1, "tokens_in": 5, "tokens_out": 7, "cost_micro_usd": 11}
    assert ended(await run_turn(handler))["usage"] == usage
    assert ended(await run_turn(handler, make_task(turn={"message": "fail"})))["usage"] == usage


async def test_a_turn_without_model_calls_reports_no_usage() -> None:
    assert "usage" not in ended(await run_turn(returning(WorkflowResult(1))))


def reporting(outcome: str = "written", ends: Any = None) -> Any:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        turn = current_turn.get()
        assert turn is not None
        if turn.results is not None:
            turn.results.add({"iri": "e/1", "label": "one", "outcome": outcome, "values": []})
        if ends is not None:
            raise ends
        going_on: WorkflowResult[Any] = ctx.continue_(None, {"instances": ["e/3"]})
        return going_on

    return handler


TRIGGERED = {"message": {"instances": ["e/1", "e/2", "e/3"]}}


async def test_results_go_with_the_completion_and_name_what_was_reported_nowhere() -> None:
    end = ended(await run_turn(reporting(), make_task(turn=TRIGGERED, results_max=10)))

    assert end["results"] == {
        "inputs": [
            {"iri": "e/1", "label": "one", "outcome": "written", "values": []},
            {"iri": "e/2", "label": "", "outcome": "no_value", "values": []},
        ],
        "counts": {"written": 1, "review": 0, "no_value": 1, "failed": 0, "duplicate": 0},
    }


async def test_results_of_a_failure_name_only_what_was_reported() -> None:
    end = ended(await run_turn(reporting(ends=ValueError("boom")), make_task(turn=TRIGGERED, results_max=10)))

    assert [item["iri"] for item in end["results"]["inputs"]] == ["e/1"]


async def test_without_results_max_nothing_is_collected() -> None:
    assert "results" not in ended(await run_turn(reporting(), make_task(turn=TRIGGERED)))


@pytest.mark.parametrize(("ends", "route"), [(None, "complete"), (ValueError("boom"), "fail")])
async def test_results_that_are_too_large_are_left_out_once(ends: Any, route: str) -> None:
    engine = Engine()
    engine.answer(route, refused(413, retryable=False), {})

    await run_turn(reporting(ends=ends), make_task(turn=TRIGGERED, results_max=10), engine=engine)

    with_results, without = engine.bodies(route)
    assert without == {key: value for key, value in with_results.items() if key != "results"}
    assert engine.routes() == ["claim", route, route]


async def test_results_that_cannot_be_reported_never_cost_a_completion(caplog: pytest.LogCaptureFixture) -> None:
    end = ended(await run_turn(reporting(outcome="\ud800"), make_task(turn=TRIGGERED, results_max=10)))

    assert "results" not in end
    assert "run results of turn a-1/3 are left out" in caplog.text
