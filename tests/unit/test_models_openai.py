"""The OpenAI-compatible provider against a local stub that speaks the wire form: models/openai.py, sending.py."""

import asyncio
import contextlib
import json
import math
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Raw

from tests.unit import model_stub as stub
from tests.unit.local_server import Behaviour, LocalServer, local_server
from turnbuckle.models import schema as schemas
from turnbuckle.models.openai import OpenAiProvider
from turnbuckle.models.provider import CallFailed, Prompt, Reply
from turnbuckle.models.sending import Sender
from turnbuckle.models.settings import OpenAiSettings
from turnbuckle.wire.activity import DecideActivityRequest, DecisionQuestion, EmbedActivityRequest

SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}, "n": {"type": "integer"}}, "required": ["code"]}
PROMPT = Prompt("which code?", "be short", schemas.closed(SCHEMA), 500)


class Stubbed:
    """The provider at a stub; its waits between attempts are told, not waited."""

    def __init__(self, server: LocalServer, **options: Any) -> None:
        self.server = server
        self.waits: list[float] = []
        self.settings = OpenAiSettings(url=f"{server.url}/v1", **options)
        sender = Sender("big", self.settings, stub.SECRET, sleep=self._sleep, chance=lambda: 1.0)
        self.provider = OpenAiProvider(self.settings, sender)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def reason(self, prompt: Prompt = PROMPT) -> Reply[bytes]:
        return await self.provider.reason("large-1", prompt)

    async def failure(self) -> CallFailed:
        with pytest.raises(CallFailed) as info:
            await self.reason()
        assert stub.SECRET not in str(info.value)
        return info.value


@contextlib.asynccontextmanager
async def stubbed(behave: Behaviour, **options: Any) -> AsyncIterator[Stubbed]:
    with local_server(behave) as server:
        made = Stubbed(server, **options)
        try:
            yield made
        finally:
            await made.provider.aclose()


# -- reason ------------------------------------------------------------------------------------------------------


async def test_a_prompt_goes_out_in_the_wire_form_and_its_answer_comes_back() -> None:
    async with stubbed(stub.always(stub.chat({"code": "A", "n": 1}))) as big:
        reply = await big.reason()

        assert json.loads(reply.value) == {"code": "A", "n": 1}
        assert (reply.model, reply.tokens_in, reply.tokens_out) == ("large-1-2027", 11, 7)
        (sent,) = big.server.received
        assert sent.line == "POST /v1/chat/completions HTTP/1.1"
        assert sent.headers["authorization"] == f"bearer {stub.SECRET}"  # the stub lowers its headers
        body = stub.body_of(sent)
        assert (body["model"], body["max_tokens"]) == ("large-1", 500)
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        form = body["response_format"]["json_schema"]
        assert form["strict"] is True
        assert form["schema"]["required"] == ["code", "n"]  # all of them (decision 29)
        assert form["schema"]["additionalProperties"] is False


async def test_the_name_of_the_token_limit_is_a_setting() -> None:
    async with stubbed(stub.always(stub.chat({"code": "A", "n": 1})), max_tokens_field="max_completion_tokens") as big:
        await big.reason()

        assert stub.asked(big.server)[0]["max_completion_tokens"] == 500


UNUSABLE = [
    (stub.chat({"code": 1, "n": 1}), r"does not follow the schema: \$\.code"),
    (stub.chat({"code": "A"}), "does not follow the schema"),
    (stub.chat({"code": "A", "n": 1, "more": 1}), "does not follow the schema"),
    (stub.chat("I think it is A"), "no JSON"),
    (stub.chat('{"code": "A", "n": NaN}'), "no JSON"),
    (stub.chat('{"code": "A", "n": 1e999}'), "no JSON"),
    (stub.chat('{"code": "\\ud800", "n": 1}'), "no JSON"),
    (stub.chat('{"code": "A", "n": 1', finish="length"), "cut off at max_tokens"),
    (stub.chat({"code": "A", "n": 1}, finish="content_filter"), "content filter"),
    (stub.chat(None, refusal="I will not"), "the model declined: I will not"),
    (stub.chat(None), "wrote no answer"),
    (stub.chat(""), "wrote no answer"),
]


@pytest.mark.parametrize(("told", "says"), UNUSABLE, ids=[says for _, says in UNUSABLE])
async def test_an_answer_of_no_use_is_refused_not_repaired_and_its_tokens_count(told: Any, says: str) -> None:
    async with stubbed(stub.always(told)) as big:
        failed = await big.failure()

        assert failed.code == "activity_request_refused"
        assert says.replace("\\", "") in failed.message
        assert (failed.tokens_in, failed.tokens_out) == (11, 7)
        assert len(big.server.received) == 1


MALFORMED = [
    b"",
    b"<html>bad gateway</html>",
    b'{"choices": [',
    b"[]",
    b"{}",
    b'{"choices": []}',
    b'{"choices": {}}',
    b'{"choices": [7]}',
    b'{"choices": [{"message": "x"}]}',
    b"[" * 100_000,
    b"\xff\xfe",
]


@pytest.mark.parametrize("content", MALFORMED, ids=lambda content: repr(content[:20]))
async def test_what_is_no_completion_counts_as_no_answer(content: bytes) -> None:
    async with stubbed(stub.raw(content)) as big:
        assert (await big.failure()).code == "model_unavailable"


@pytest.mark.parametrize(
    "usage", [None, 7, {}, {"prompt_tokens": -1}, {"prompt_tokens": "11"}, {"prompt_tokens": True}]
)
async def test_usage_that_is_missing_or_wrong_is_none(usage: Any) -> None:
    async with stubbed(stub.always({**stub.chat({"code": "A", "n": 1}), "usage": usage, "model": 5})) as big:
        reply = await big.reason()

        assert (reply.tokens_in, reply.tokens_out, reply.model) == (0, 0, "large-1")


# -- statuses ----------------------------------------------------------------------------------------------------

GOOD = stub.always(stub.chat({"code": "A", "n": 1}))


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Too Large", "422 Unprocessable"])
async def test_a_request_that_the_provider_refuses_is_not_sent_again(status: str) -> None:
    async with stubbed(stub.error(status, f"maximum context length, key {stub.SECRET}")) as big:
        failed = await big.failure()

        assert failed.code == "activity_request_refused"
        assert "maximum context length, key (the key)" in failed.message
        assert len(big.server.received) == 1


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "404 Not Found", "302 Found"])
async def test_a_provider_that_refuses_the_server_is_told_without_its_words(status: str) -> None:
    async with stubbed(stub.error(status, f"Incorrect API key provided: {stub.SECRET[:8]}")) as big:
        failed = await big.failure()

        assert (failed.code, failed.kind.retryable) == ("models_not_configured", False)
        assert stub.SECRET[:8] not in failed.message


@pytest.mark.parametrize("status", ["500 Oops", "502 Bad Gateway", "503 Busy", "429 Too Many"])
async def test_a_failure_that_may_pass_is_tried_again_and_waits_longer_each_time(status: str) -> None:
    async with stubbed(stub.in_turn(stub.error(status), stub.error(status), GOOD)) as big:
        await big.reason()

        assert big.waits == [0.5, 1.0]
        assert len(big.server.received) == 3


async def test_the_tries_have_an_end() -> None:
    async with stubbed(stub.error("503 Busy"), retries=1) as big:
        failed = await big.failure()

        assert failed.code == "model_unavailable"
        assert len(big.server.received) == 2


async def test_retry_after_is_obeyed() -> None:
    async with stubbed(stub.in_turn(stub.error("429 Too Many", "slow down", "Retry-After: 7"), GOOD)) as big:
        await big.reason()

        assert big.waits == [7.0]


async def test_a_provider_that_is_busy_for_long_is_told_to_the_caller() -> None:
    async with stubbed(stub.error("429 Too Many", "slow down", "Retry-After: 90")) as big:
        failed = await big.failure()

        assert (failed.code, failed.retry_after_s) == ("rate_limited", 90)
        assert big.waits == []


async def test_a_date_in_retry_after_is_read_and_nonsense_is_not() -> None:
    past, nonsense = "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After: soon"
    async with stubbed(stub.in_turn(stub.error("503 B", "", past), stub.error("503 B", "", nonsense), GOOD)) as big:
        await big.reason()

        assert big.waits == [0.0, 1.0]


# -- connections -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("behave", [stub.hang_up, stub.cut_short])
async def test_a_connection_that_breaks_is_tried_again(behave: Behaviour) -> None:
    async with stubbed(stub.in_turn(behave, GOOD)) as big:
        await big.reason()

        assert len(big.server.received) == 2


@pytest.mark.parametrize("behave", [stub.hang_up, stub.cut_short])
async def test_connections_that_always_break_are_told(behave: Behaviour) -> None:
    async with stubbed(behave) as big:
        failed = await big.failure()

        assert (failed.code, len(big.server.received)) == ("model_unavailable", 3)


async def test_nobody_there_is_told() -> None:
    with local_server() as server:
        gone = server.url
    settings = OpenAiSettings(url=gone, retries=0)
    provider = OpenAiProvider(settings, Sender("big", settings, None))

    with pytest.raises(CallFailed, match="cannot be reached") as info:
        await provider.reason("m", PROMPT)
    assert info.value.code == "model_unavailable"
    await provider.aclose()


async def test_a_slow_answer_has_an_end_and_is_not_asked_for_again() -> None:
    """It would be as slow again, and would cost twice."""
    release = threading.Event()
    async with stubbed(stub.held(release, GOOD), timeout_s=0.1) as big:
        failed = await big.failure()
        release.set()

        assert (failed.code, len(big.server.received)) == ("model_unavailable", 1)
        assert "no answer within 0.1 s" in failed.message


async def test_an_answer_that_drips_has_the_same_end() -> None:
    release = threading.Event()
    async with stubbed(stub.dripping(release), timeout_s=0.2) as big:
        failed = await big.failure()
        release.set()

        assert "no answer within 0.2 s" in failed.message


async def test_only_so_many_requests_are_on_their_way_at_once() -> None:
    two, lock = threading.Barrier(2), threading.Lock()
    here, most = 0, 0

    def behave(connection: Any, received: Any) -> None:
        """Answers two requests at a time, so fewer would stand still."""
        nonlocal here, most
        with lock:
            here += 1
            most = max(most, here)
        two.wait(10)
        with lock:
            here -= 1
        GOOD(connection, received)

    async with stubbed(behave, concurrency=2) as big:
        await asyncio.gather(*(big.reason() for _ in range(6)))

    assert most == 2


# -- decide ------------------------------------------------------------------------------------------------------


def asked(*ids: str, options: int = 3) -> DecideActivityRequest:
    criteria = {f"o{n}": f"meaning {n}" for n in range(options)}
    questions = {id: DecisionQuestion(instructions=f"which of {id}?", criteria=criteria) for id in ids}
    return DecideActivityRequest(state=Raw(b'{"a":1}'), questions=questions)


async def test_probabilities_come_from_the_letters_that_the_model_would_write() -> None:
    first = stub.token((" A", math.log(0.5)), ("A", math.log(0.1)), ("C", math.log(0.2)), ("Hm", math.log(0.2)))
    async with stubbed(stub.always(stub.chat("A", logprobs=[first]))) as big:
        reply = await big.provider.decide("large-1", asked("q", "r"))

        assert reply.value["q"] == pytest.approx({"o0": 0.75, "o1": 0.0, "o2": 0.25})
        assert (reply.tokens_in, reply.tokens_out) == (22, 14)
        bodies = stub.asked(big.server)
        assert len(bodies) == 2  # one short call for each question
        assert (bodies[0]["logprobs"], bodies[0]["top_logprobs"]) == (True, 20)
        assert "B: o1: meaning 1" in bodies[0]["messages"][1]["content"]


async def test_words_before_the_letter_are_passed_over() -> None:
    tokens = [stub.token(("**", -0.1)), stub.token(("B", math.log(0.9)), ("A", math.log(0.1)))]
    async with stubbed(stub.always(stub.chat("**B", logprobs=tokens))) as big:
        reply = await big.provider.decide("m", asked("q"))

        assert reply.value["q"] == pytest.approx({"o0": 0.1, "o1": 0.9, "o2": 0.0})


async def test_a_question_that_gets_no_letter_is_skipped() -> None:
    tokens = [stub.token(("Neither", -0.1))]
    async with stubbed(stub.always(stub.chat("Neither", logprobs=tokens))) as big:
        assert (await big.provider.decide("m", asked("q"))).value == {}


def _shares(body: Any) -> Any:
    """Answers a request with a schema by numbers, one without by a letter that has no probabilities."""
    if "response_format" not in body:
        return stub.chat("A")
    ids = body["response_format"]["json_schema"]["schema"]["required"]
    return stub.chat({id: {"o0": 3, "o1": 1, "o2": -1} if id != "none" else {"o0": 0, "o1": 0, "o2": 0} for id in ids})


async def test_without_probabilities_of_tokens_the_model_writes_numbers() -> None:
    async with stubbed(stub.by_request(_shares)) as big:
        reply = await big.provider.decide("m", asked("q", "none"))
        await big.provider.decide("m", asked("q"))

        assert reply.value == {"q": {"o0": 0.75, "o1": 0.25, "o2": 0.0}}  # they add up; `none` was skipped
        kinds = ["response_format" in body for body in stub.asked(big.server)]
        assert kinds == [False, True, True]  # it is found out once


@pytest.mark.parametrize(("options", "decide_by"), [(3, "schema"), (21, "tokens")])
async def test_numbers_are_asked_for_where_letters_do_not_serve(options: int, decide_by: str) -> None:
    told = {"q": {f"o{n}": 1 for n in range(options)}}
    async with stubbed(stub.always(stub.chat(told)), decide_by=decide_by) as big:
        reply = await big.provider.decide("m", asked("q", options=options))

        assert len(big.server.received) == 1
        assert reply.value["q"]["o0"] == pytest.approx(1 / options)


async def test_one_question_that_fails_fails_the_call() -> None:
    told = stub.always(stub.chat("A", logprobs=[stub.token(("A", -0.1))]))
    async with stubbed(stub.in_turn(told, told, stub.error("400 Bad"))) as big:
        with pytest.raises(CallFailed) as info:
            await big.provider.decide("m", asked("q", "r", "s", "t"))

        assert info.value.code == "activity_request_refused"


@pytest.mark.parametrize(
    "logprobs",
    [
        [7],
        [{}],
        [{"token": 1, "logprob": 0}],
        [{"token": "A", "logprob": "x"}],
        [{"token": "A", "logprob": -(10**400)}],
        [{"token": "A", "logprob": float("nan")}],
    ],
)
async def test_probabilities_that_cannot_be_read_are_none(logprobs: Any) -> None:
    async with stubbed(stub.always(stub.chat("A", logprobs=logprobs))) as big:
        assert (await big.provider.decide("m", asked("q"))).value == {}


# -- embed -------------------------------------------------------------------------------------------------------


async def test_vectors_come_back_in_the_order_of_the_texts() -> None:
    async with stubbed(stub.always(stub.embeddings([1, 0.5], [2, 1]))) as big:
        reply = await big.provider.embed("embed-1", EmbedActivityRequest(texts=["a", "b"]))

        assert reply.value == [[1.0, 0.5], [2.0, 1.0]]
        assert (reply.model, reply.tokens_in) == ("embed-1", 5)
        assert stub.asked(big.server)[0]["input"] == ["a", "b"]


async def test_tokens_that_nobody_counted_are_estimated() -> None:
    told = {**stub.embeddings([1.0]), "usage": None}
    async with stubbed(stub.always(told)) as big:
        assert (await big.provider.embed("m", EmbedActivityRequest(texts=["123456789"]))).tokens_in == 3


@pytest.mark.parametrize(
    "told",
    [
        stub.embeddings([1.0]),
        stub.embeddings([1.0], [1.0, 2.0]),
        stub.embeddings([1.0], []),
        stub.embeddings([1.0], ["x"]),
        stub.embeddings([1.0], [True]),
        stub.embeddings([1.0], [10**400]),
        stub.embeddings([1.0], None),
        {"data": "x"},
        {"data": [1, 2]},
        {},
    ],
)
async def test_vectors_that_are_none_count_as_no_answer(told: Any) -> None:
    async with stubbed(stub.always(told)) as big:
        with pytest.raises(CallFailed, match="2 vectors of one length") as info:
            await big.provider.embed("m", EmbedActivityRequest(texts=["a", "b"]))

        assert info.value.code == "model_unavailable"
