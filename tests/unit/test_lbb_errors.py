"""Refusals: both envelope forms, their fallbacks, and what an LbbError tells (lbb-engine 2.6)."""

import pickle
from typing import Any

import httpx
import pytest

from lbb import LbbCapabilityError, LbbClient, LbbError
from tests.unit.lbb_scripted import MovedTime, Script, call, client_of

FIELDS = {
    "type": "conflict_error",
    "code": "turn_lease_lost",
    "message": "Another worker holds this turn.",
    "param": "token",
    "doc_url": "https://docs.test/lease",
    "request_id": "req_1",
    "retryable": False,
    "retry_after_seconds": 2,
    "retry_at_ms": 1_800_000_000_000,
    "details": {"position": 3},
}


def refusal(status: int = 409, **response: Any) -> LbbError:
    client = client_of(LbbClient, Script(httpx.Response(status, **response)))
    with pytest.raises(LbbError) as refused:
        call(client, MovedTime(), "POST", "/v1/x")
    return refused.value


def test_an_error_has_the_fields_of_its_envelope() -> None:
    error = refusal(json={"error": FIELDS})

    assert (error.status_code, error.error, str(error)) == (409, FIELDS, FIELDS["message"])
    assert {name: getattr(error, name) for name in FIELDS if name != "message"} | {"message": str(error)} == FIELDS
    assert isinstance(error, RuntimeError)


def test_fields_that_are_missing_are_none() -> None:
    error = refusal(json={"error": {"message": "no"}})

    names = (
        "type",
        "code",
        "param",
        "request_id",
        "doc_url",
        "retryable",
        "retry_after_seconds",
        "retry_at_ms",
        "details",
    )
    assert [getattr(error, name) for name in names] == [None] * len(names)


def test_an_error_can_be_made_from_status_and_body_alone() -> None:
    error = LbbError(502, "bad gateway")

    assert (error.status_code, error.body, error.error, error.code) == (502, "bad gateway", {}, None)
    assert "502" in str(error)
    assert "bad gateway" in str(error)


def test_the_second_envelope_form_is_read_too() -> None:
    error = refusal(400, json={"ok": False, "error": "bad page", "code": "invalid_param", "details": {"page": -1}})

    assert (str(error), error.code, error.details, error.type) == (
        "bad page",
        "invalid_param",
        {"page": -1},
        "api_error",
    )


@pytest.mark.parametrize(
    "body", [b"<html>gateway</html>", b'"text"', b"[]", b'{"error": 3}', b"", b"\xff", b"[" * 100_000]
)
def test_a_body_that_is_no_envelope_is_unstructured(body: bytes) -> None:
    error = refusal(404, content=body)

    assert (error.type, error.code) == ("api_error", "unstructured_error")
    assert error.error["message"] == error.body == body.decode(errors="replace")
    assert str(error) != ""


@pytest.mark.parametrize("status", [300, 301, 304, 307])
def test_a_redirect_is_a_refusal_and_is_not_followed(status: int) -> None:
    assert refusal(status, headers={"location": "http://elsewhere.test/"}).status_code == status


def test_request_id_and_wait_fall_back_to_the_headers() -> None:
    error = refusal(json={"error": {"message": "no"}}, headers={"x-request-id": "req_h", "retry-after": "90"})

    assert (error.request_id, error.retry_after_seconds) == ("req_h", 90)
    assert (error.error["request_id"], error.error["retry_after_seconds"]) == ("req_h", 90)


def test_the_bodys_own_values_win_over_the_headers() -> None:
    error = refusal(json={"error": FIELDS}, headers={"x-request-id": "req_h", "retry-after": "90"})

    assert (error.request_id, error.retry_after_seconds) == ("req_1", 2)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3600", 3600),  # uncapped
        ("1.5", 1.5),
        ("-5", 0),
        ("Fri, 15 Jan 2027 09:00:00 GMT", 3600),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("soon", None),
    ],
)
def test_a_retry_after_header_is_seconds_from_now(header: str, seconds: float | None) -> None:
    error = refusal(json={"error": {"message": "no"}}, headers={"retry-after": header})

    assert error.retry_after_seconds == seconds
    assert isinstance(error.retry_after_seconds, type(seconds))


@pytest.mark.parametrize("code", ["stack_endpoint_required", "stack_endpoint_mismatch"])
def test_an_endpoint_refusal_tells_where_to_go(code: str) -> None:
    error = LbbError(421, "", {"code": code, "message": "no", "details": {"endpoint_url": "https://s1.test"}})

    assert error.endpoint_hint is not None
    assert "endpoint_url" in error.endpoint_hint
    assert "https://s1.test" in error.endpoint_hint
    assert "endpoint_url" in (LbbError(421, "", {"code": code}).endpoint_hint or "")


def test_other_refusals_have_no_endpoint_hint() -> None:
    assert LbbError(403, "", {"code": "forbidden"}).endpoint_hint is None


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(LbbError(409, "{}", FIELDS)))
    missing = pickle.loads(pickle.dumps(LbbCapabilityError("durable_import_jobs_v1")))

    assert (error.status_code, error.code, str(error)) == (409, "turn_lease_lost", FIELDS["message"])
    assert missing.capability == "durable_import_jobs_v1"
