"""Which requests are tried again, when, and for how long (lbb-engine 2.5, 5.14)."""

from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, LbbError, RetryEvent
from tests.unit.lbb_scripted import Answer, ClientClass, MovedTime, Script, call, client_of

pytestmark = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])

OK = httpx.Response(200, json={"ok": 1})
DOWN = httpx.Response(503, json={"error": {"code": "storage_degraded", "message": "later"}})
BUSY = httpx.Response(429, json={"error": {"code": "ingest_busy", "message": "later"}})
LOST = httpx.ConnectError("no answer")


def refused(status: int, headers: dict[str, str] | None = None, **error: Any) -> httpx.Response:
    return httpx.Response(status, headers=headers, json={"error": {"message": "no", **error}})


class Outcome:
    """A request against a script: what came of it, how often it was sent, and the waits."""

    def __init__(self, cls: ClientClass, *answers: Answer, method: str = "GET", **arguments: Any) -> None:
        self.events: list[RetryEvent] = []
        self.time = MovedTime()
        self.script = Script(*answers)
        settings = arguments.pop("client", {})
        client = client_of(cls, self.script, on_retry=self.events.append, **settings)
        self.result: Any
        try:
            self.result = call(client, self.time, method, "/v1/x", **arguments)
        except (LbbError, httpx.RequestError) as exc:
            self.result = exc

    @property
    def sent(self) -> int:
        return len(self.script.requests)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "get"])
def test_reads_are_repeated_by_default(cls: ClientClass, method: str) -> None:
    outcome = Outcome(cls, DOWN, LOST, OK, method=method)

    assert outcome.sent == 3
    assert (outcome.result.attempts, outcome.result.retry_count) == (3, 2)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_writes_are_sent_once_by_default(cls: ClientClass, method: str) -> None:
    assert Outcome(cls, DOWN, OK, method=method).sent == 1
    assert Outcome(cls, BUSY, OK, method=method).sent == 1
    assert Outcome(cls, LOST, OK, method=method).sent == 1


def test_a_write_with_an_idempotency_key_is_repeated(cls: ClientClass) -> None:
    assert Outcome(cls, LOST, DOWN, OK, method="POST", idempotency_key="k").sent == 3


@pytest.mark.parametrize(
    ("retry", "after_429", "after_503", "after_no_answer"),
    [(True, 2, 2, 2), ("rate_limited", 2, 1, 1), (False, 1, 1, 1)],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_option_retry_decides_whatever_the_method(
    cls: ClientClass, method: str, retry: Any, after_429: int, after_503: int, after_no_answer: int
) -> None:
    sent = [Outcome(cls, first, OK, method=method, options={"retry": retry}).sent for first in (BUSY, DOWN, LOST)]

    assert sent == [after_429, after_503, after_no_answer]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 421, 422])
def test_a_refusal_of_the_request_is_final(cls: ClientClass, status: int) -> None:
    assert Outcome(cls, httpx.Response(status, json={}), OK).sent == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 599])
def test_a_refusal_that_may_pass_is_repeated_even_without_json(cls: ClientClass, status: int) -> None:
    assert Outcome(cls, httpx.Response(status, text="<html>gateway</html>"), OK).sent == 2


@pytest.mark.parametrize("status", [429, 503])
def test_an_error_that_says_not_retryable_is_final(cls: ClientClass, status: int) -> None:
    outcome = Outcome(cls, refused(status, code="workflow_budget_exceeded", retryable=False), OK)

    assert outcome.sent == 1
    assert outcome.result.code == "workflow_budget_exceeded"


def test_only_false_itself_makes_an_error_final(cls: ClientClass) -> None:
    assert Outcome(cls, refused(503, retryable=None), OK).sent == 2


@pytest.mark.parametrize(("max_retries", "sent"), [(0, 1), (1, 2), (6, 7)])
def test_the_tries_end_after_max_retries(cls: ClientClass, max_retries: int, sent: int) -> None:
    assert Outcome(cls, DOWN, client={"max_retries": max_retries}).sent == sent
    assert Outcome(cls, DOWN, options={"max_retries": max_retries}).sent == sent


def test_a_client_repeats_six_times_by_default_with_full_jitter(cls: ClientClass) -> None:
    outcome = Outcome(cls, DOWN)

    assert outcome.time.rolled == [(0, high) for high in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)]
    assert outcome.time.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]


def test_the_last_answer_becomes_the_error_and_the_last_failure_is_raised_as_it_is(cls: ClientClass) -> None:
    refusal = Outcome(cls, LOST, DOWN, options={"max_retries": 1}).result
    failure = Outcome(cls, DOWN, LOST, options={"max_retries": 1}).result

    assert isinstance(refusal, LbbError)
    assert refusal.code == "storage_degraded"
    assert type(failure) is httpx.ConnectError


def test_no_wait_grows_beyond_a_minute(cls: ClientClass) -> None:
    outcome = Outcome(cls, DOWN, client={"retry_delay": 7.0, "retry_budget_ms": 1e9, "max_retries": 1100})

    assert outcome.time.slept[:5] == [7.0, 14.0, 28.0, 56.0, 60.0]
    assert set(outcome.time.slept[5:]) == {60.0}
    assert outcome.sent == 1101


def test_the_tries_end_when_the_next_wait_would_pass_the_budget(cls: ClientClass) -> None:
    slow = refused(503, headers={"retry-after": "20"})

    assert Outcome(cls, slow).time.slept == [20, 20, 20]  # 60 s is the default budget
    assert Outcome(cls, slow, client={"retry_budget_ms": 40_000}).time.slept == [20, 20]
    assert Outcome(cls, slow, options={"retry_budget_ms": 39_999}).time.slept == [20]


@pytest.mark.parametrize(
    ("header", "waited"),
    [
        ("2", 2.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("61", 60.0),
        ("Fri, 15 Jan 2027 08:00:07 GMT", 7.0),
        ("Fri, 15 Jan 2027 08:00:07", 7.0),  # no zone: UTC
        ("Fri, 15 Jan 2027 09:00:07 +0100", 7.0),
        ("Fri, 15 Jan 2027 10:00:00 GMT", 60.0),
    ],
)
def test_a_retry_after_header_sets_the_wait(cls: ClientClass, header: str, waited: float) -> None:
    outcome = Outcome(cls, refused(429, headers={"retry-after": header}, retry_after_seconds=9), OK)

    assert outcome.time.slept == [waited]


@pytest.mark.parametrize("header", [None, "soon", "-1", "nan", "inf", "Fri, 15 Jan 2027 07:00:00 GMT"])
def test_without_a_usable_header_the_body_sets_the_wait(cls: ClientClass, header: str | None) -> None:
    headers = {} if header is None else {"retry-after": header}

    assert Outcome(cls, refused(429, headers, retry_after_seconds=9), OK).time.slept == [9]
    assert Outcome(cls, refused(429, headers, retry_after_seconds=99), OK).time.slept == [60]


@pytest.mark.parametrize("told", [None, -1, "9", True])
def test_without_either_the_dice_set_the_wait(cls: ClientClass, told: Any) -> None:
    assert Outcome(cls, refused(429, retry_after_seconds=told), OK).time.slept == [0.1]


def test_every_try_sends_the_same_bytes(cls: ClientClass) -> None:
    body = {"rows": [1, {"a": None}], "id": "é"}
    outcome = Outcome(cls, DOWN, LOST, OK, method="POST", body=body, idempotency_key="k", params={"id": 1})

    first, *others = [(r.method, str(r.url), r.headers.raw, r.content) for r in outcome.script.requests]
    assert others == [first, first]


def test_on_retry_is_told_of_each_failed_try_that_is_followed_by_another(cls: ClientClass) -> None:
    outcome = Outcome(cls, refused(503, code="storage_degraded", retry_after_seconds=2), LOST, OK, method="get")

    assert outcome.events == [
        RetryEvent("GET", "/v1/x", 1, 503, "storage_degraded", 2.0, 0.0),
        RetryEvent("GET", "/v1/x", 2, None, None, 0.2, 2000.0),
    ]


def test_on_retry_hears_nothing_of_the_last_try(cls: ClientClass) -> None:
    assert len(Outcome(cls, DOWN, options={"max_retries": 2}).events) == 2


def test_the_elapsed_time_spans_tries_and_waits(cls: ClientClass) -> None:
    assert Outcome(cls, refused(429, retry_after_seconds=3), OK).result.elapsed_ms == pytest.approx(3000)


def test_deleting_an_instance_is_repeated(cls: ClientClass) -> None:
    from tests.unit.lbb_scripted import finish

    script, time = Script(DOWN, httpx.Response(200, json={"deleted": True})), MovedTime()
    client = client_of(cls, script)
    client._sleep = time.sleep_async if cls is AsyncLbbClient else time.sleep

    answer = finish(lambda: client.workflow_delete_instance("a-1"))

    assert answer.deleted is True
    assert [(r.method, r.url.path, r.content) for r in script.requests] == [
        ("POST", "/v1/workflows/instances/delete", b'{"workflow_id":"a-1"}')
    ] * 2
