"""Model calls of a client without a worker (lbb-graph 3.1, 8.2)."""

import json
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, LbbError
from tests.unit.lbb_scripted import ClientClass, Script, client_of, finish

both = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])
SCHEMA = {"type": "object"}
QUESTIONS = {"q": {"instructions": "i", "criteria": {"a": "A", "b": "B"}}}
BUSY = httpx.Response(503, json={"error": {"code": "server_busy", "message": "m", "type": "t"}})
LIMITED = httpx.Response(429, json={"error": {"code": "rate_limited", "message": "m", "type": "t"}})
SPENT = httpx.Response(
    429,
    json={"error": {"code": "workflow_budget_exceeded", "message": "m", "type": "t", "retryable": False,
                    "retry_at_ms": 5}},
)  # fmt: skip
ANSWER = httpx.Response(200, json={"value": {"code": "c"}, "cached": False})


@both
def test_the_calls_send_only_what_was_given(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(ANSWER), graph="g")

    assert finish(lambda: client.reason_activity("p", SCHEMA))["value"] == {"code": "c"}
    finish(lambda: client.reason_activity("p", SCHEMA, system="s", max_tokens=9, effect_id="e", label="l"))
    finish(lambda: client.decide_activity({"x": 1}, QUESTIONS, effect_id="e", label="l"))
    finish(lambda: client.embed_activity(("a", "b"), effect_id="e"))

    bodies = [json.loads(request.content) for request in script.requests]
    assert bodies == [
        {"prompt": "p", "schema": SCHEMA},
        {"prompt": "p", "schema": SCHEMA, "system": "s", "max_tokens": 9, "effect_id": "e", "label": "l"},
        {"state": {"x": 1}, "questions": QUESTIONS, "effect_id": "e", "label": "l"},
        {"texts": ["a", "b"], "effect_id": "e"},
    ]
    assert {request.url.path.rpartition("/")[0] for request in script.requests} == {"/v1/workflows/activities"}


def test_a_reasoning_call_may_take_five_minutes_and_the_others_the_clients_time() -> None:
    client = client_of(LbbClient, script := Script(ANSWER), timeout=7)

    client.reason_activity("p", SCHEMA)
    client.decide_activity({}, QUESTIONS)
    client.embed_activity(["a"])

    assert [request.extensions["timeout"]["read"] for request in script.requests] == [300, 7, 7]


Call = Any
CALLS = [
    lambda client, **ids: client.reason_activity("p", SCHEMA, **ids),
    lambda client, **ids: client.decide_activity({}, QUESTIONS, **ids),
    lambda client, **ids: client.embed_activity(["a"], **ids),
]


@both
@pytest.mark.parametrize("make", CALLS)
@pytest.mark.parametrize("failure", [BUSY, httpx.ConnectError("gone"), LIMITED])
def test_with_an_effect_id_every_failure_that_may_pass_is_tried_again(
    cls: ClientClass, make: Call, failure: httpx.Response | Exception
) -> None:
    client = client_of(cls, script := Script(failure, ANSWER), retry_delay=0)

    finish(lambda: make(client, effect_id="e"))

    assert len(script.requests) == 2
    assert script.requests[0].content == script.requests[1].content


@both
@pytest.mark.parametrize("make", CALLS)
def test_without_one_only_a_429_is_tried_again(cls: ClientClass, make: Call) -> None:
    limited = client_of(cls, script := Script(LIMITED, ANSWER), retry_delay=0)
    finish(lambda: make(limited))
    assert len(script.requests) == 2

    for failure, error in ((BUSY, LbbError), (httpx.ConnectError("gone"), httpx.ConnectError)):
        client = client_of(cls, script := Script(failure, ANSWER), retry_delay=0)
        with pytest.raises(error):
            finish(lambda client=client: make(client))
        assert len(script.requests) == 1


@both
def test_a_spent_budget_is_not_tried_again(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(SPENT, ANSWER), retry_delay=0)

    with pytest.raises(LbbError) as refused:
        finish(lambda: client.reason_activity("p", SCHEMA, effect_id="e"))

    assert (refused.value.retry_at_ms, len(script.requests)) == (5, 1)


@both
def test_one_plain_text_is_no_list_of_texts(cls: ClientClass) -> None:
    client = client_of(cls, script := Script())

    with pytest.raises(TypeError, match="list of texts"):
        finish(lambda: client.embed_activity("ab"))

    assert script.requests == []
