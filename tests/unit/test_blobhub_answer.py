"""From an HTTP answer to the envelope or the error (blobhub 2.2, 4.11)."""

from typing import Any

import httpx
import pytest

from blobhub import (
    AuthError,
    BlobHubError,
    CommandError,
    Conflict,
    NetworkError,
    NotFound,
    PermissionDenied,
    RateLimited,
    RequestNotSent,
    ServerError,
)
from tests.unit.blobhub_scripted import Answer, Script, client_of, ok, refused


def error_of(answer: Answer, method: str = "POST") -> BlobHubError:
    with pytest.raises(BlobHubError) as caught:
        client_of(Script(answer)).request(method, "revisions/r/commit", json={})
    return caught.value


def test_a_success_is_the_whole_envelope() -> None:
    assert client_of(Script(ok(a=1))).request("GET", "x") == {"status": "success", "a": 1}
    assert client_of(Script(httpx.Response(201, json={"status": "success"}))).request("GET", "x") == {
        "status": "success"
    }


@pytest.mark.parametrize(
    ("status", "cls", "default_code"),
    [
        (401, AuthError, "unauthorized"),
        (403, PermissionDenied, "forbidden"),
        (404, NotFound, "not_found"),
        (409, Conflict, "conflict"),
        (429, RateLimited, "too_many_requests"),
        (500, ServerError, "internal_server_error"),
        (502, ServerError, "bad_gateway"),
        (503, ServerError, "service_unavailable"),
        (599, ServerError, "http_599"),
        (200, CommandError, "command_failed"),
        (202, CommandError, "command_failed"),
        (400, CommandError, "bad_request"),
        (405, CommandError, "method_not_allowed"),
        (413, CommandError, "request_entity_too_large"),
        (418, CommandError, "i_m_a_teapot"),
        (499, CommandError, "http_499"),
    ],
)
def test_each_status_has_its_class(status: int, cls: type[BlobHubError], default_code: str) -> None:
    told = error_of(refused(status, "some_code", "Some text"))
    silent = error_of(httpx.Response(status, json={"status": "failure"}))

    assert (type(told), told.error, told.message, told.status) == (cls, "some_code", "Some text", status)
    assert (type(silent), silent.error, silent.message, silent.status) == (cls, default_code, default_code, status)


@pytest.mark.parametrize("status", [401, 403, 404, 409, 429, 500, 503])
@pytest.mark.parametrize("content", [b"", b"<html>", b"[1]", b'{"error": 5, "message": []}', b"\xff"])
def test_a_status_of_its_own_class_needs_no_readable_body(status: int, content: bytes) -> None:
    error = error_of(httpx.Response(status, content=content))

    assert error.status == status
    assert error.message == error.error == httpx.codes.get_reason_phrase(status).lower().replace(" ", "_")


@pytest.mark.parametrize("status", [200, 204, 301, 400, 422])
@pytest.mark.parametrize("content", [b"", b"<html>", b"[1]", b'"success"', b"null", b"\xff", b"[" * 100_000])
def test_any_other_answer_must_be_a_json_object(status: int, content: bytes) -> None:
    error = error_of(httpx.Response(status, content=content))

    assert (type(error), error.error, error.status) == (ServerError, "invalid_response", status)
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize("body", [{}, {"status": "SUCCESS"}, {"status": True}, {"status": "failure"}])
def test_only_the_word_success_is_a_success(body: dict[str, Any]) -> None:
    assert type(error_of(httpx.Response(200, json=body))) is CommandError


@pytest.mark.parametrize(
    ("details", "kept"), [([{"content": "line 1"}], [{"content": "line 1"}]), ({"a": 1}, None), ("x", None)]
)
def test_details_are_kept_when_they_are_a_list(details: Any, kept: Any) -> None:
    assert error_of(refused(400, details=details)).details == kept


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("900", 900.0),
        ("-3", 0.0),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0),
        ("Fri, 15 Jan 2027 08:00:30 -0000", 30.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_the_wait_the_server_asks_for_is_told(header: str, seconds: float | None) -> None:
    """Both forms, as seconds from now."""
    answer = httpx.Response(409, headers={"retry-after": header}, json={})

    assert error_of(answer).retry_after == seconds


@pytest.mark.parametrize(
    ("failure", "cls", "code"),
    [
        (httpx.ConnectError("secret"), RequestNotSent, "request_not_sent"),
        (httpx.ConnectTimeout("secret"), RequestNotSent, "request_not_sent"),
        (httpx.ReadTimeout("secret"), NetworkError, "network_error"),
        (httpx.ReadError("secret"), NetworkError, "network_error"),
        (httpx.WriteError("secret"), NetworkError, "network_error"),
        (httpx.RemoteProtocolError("secret"), NetworkError, "network_error"),
        (httpx.LocalProtocolError("secret"), NetworkError, "network_error"),
        (httpx.ProxyError("secret"), NetworkError, "network_error"),
        (httpx.DecodingError("secret"), ServerError, "invalid_response"),
    ],
)
def test_a_failure_of_the_transport_is_told_without_its_text(
    failure: Exception, cls: type[BlobHubError], code: str
) -> None:
    """It can hold the request, so the key; it is not even the context."""
    error = error_of(failure)

    assert (type(error), error.error, error.status) == (cls, code, None)
    assert "secret" not in str(error)
    assert (error.__cause__, error.__context__) == (None, None)


def test_a_redirect_is_not_followed() -> None:
    script = Script(httpx.Response(307, headers={"location": "http://elsewhere.test/"}, json={}), ok())

    with pytest.raises(CommandError) as caught:
        client_of(script).request("GET", "x")

    assert (caught.value.error, len(script.requests)) == ("temporary_redirect", 1)
