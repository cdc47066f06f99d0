"""Which requests are tried again, and after how long (blobhub 4.12)."""

import logging
from collections.abc import Callable

import httpx
import pytest

from blobhub import BlobHubError, Client
from tests.unit.blobhub_scripted import KEY, Answer, MovedTime, Script, ok, refused, revision_of

PART = {"size": 2, "offset": 0, "upload": {"url": "http://store.test/u"}, "download": {"url": "http://store.test/d"}}

SAFE: dict[str, Callable[[Client], object]] = {
    "GET": lambda client: client.request("GET", "blobs/o/b"),
    "get": lambda client: client.request("get", "blobs/o/b"),
    "query": lambda client: revision_of(client).query("get_session", session_id="s"),
    "query by hand": lambda client: client.request("POST", "revisions/r/data/query", json={"command": "c"}),
}
UNSAFE: dict[str, Callable[[Client], object]] = {
    "command": lambda client: revision_of(client).command("create_session"),
    "bytes": lambda client: revision_of(client).command_bytes("upload", b"x"),
    "POST": lambda client: client.request("POST", "revisions/r/commit", json={}),
    "DELETE": lambda client: client.request("DELETE", "blobs/o/b"),
}
NOT_RUN: dict[str, Answer] = {
    "429": refused(429),
    "refused connection": httpx.ConnectError("x"),
    "connect timeout": httpx.ConnectTimeout("x"),
}
UNKNOWN: dict[str, Answer] = {
    "500": refused(500),
    "503": refused(503),
    "unreadable success": httpx.Response(200, content=b"<html>"),
    "unreadable refusal": httpx.Response(400, content=b"<html>"),
    "undecodable": httpx.DecodingError("x"),
    "read timeout": httpx.ReadTimeout("x"),
    "lost connection": httpx.RemoteProtocolError("x"),
}
FINAL: dict[str, Answer] = {
    **{str(status): refused(status) for status in (400, 401, 403, 404, 405, 409, 422)},
    "failure under 200": refused(200),
}


def attempts(send: Callable[[Client], object], failure: Answer) -> tuple[int, BlobHubError]:
    script = Script(failure)
    with pytest.raises(BlobHubError) as caught:
        send(MovedTime().client(script))
    return len(script.requests), caught.value


@pytest.mark.parametrize("request_kind", SAFE)
@pytest.mark.parametrize("failure", NOT_RUN | UNKNOWN)
def test_a_safe_request_is_tried_three_times(request_kind: str, failure: str) -> None:
    assert attempts(SAFE[request_kind], (NOT_RUN | UNKNOWN)[failure])[0] == 3


@pytest.mark.parametrize("request_kind", UNSAFE)
@pytest.mark.parametrize("failure", NOT_RUN)
def test_another_request_is_tried_three_times_when_it_cannot_have_run(request_kind: str, failure: str) -> None:
    assert attempts(UNSAFE[request_kind], NOT_RUN[failure])[0] == 3


@pytest.mark.parametrize("request_kind", UNSAFE)
@pytest.mark.parametrize("failure", UNKNOWN)
def test_another_request_is_never_repeated_when_it_may_have_run(request_kind: str, failure: str) -> None:
    assert attempts(UNSAFE[request_kind], UNKNOWN[failure])[0] == 1


@pytest.mark.parametrize("request_kind", SAFE | UNSAFE)
@pytest.mark.parametrize("failure", FINAL)
def test_a_refusal_is_final(request_kind: str, failure: str) -> None:
    assert attempts((SAFE | UNSAFE)[request_kind], FINAL[failure])[0] == 1


@pytest.mark.parametrize("failure", NOT_RUN | UNKNOWN)
def test_parts_are_tried_again_like_reads(failure: str) -> None:
    # The store's own refusals are no JSON; a 400 is final whatever its body.
    expected = 1 if failure == "unreadable refusal" else 3

    assert attempts(lambda client: client.upload_part(PART, b"ab"), (NOT_RUN | UNKNOWN)[failure])[0] == expected
    assert attempts(lambda client: client.download_part(PART), (NOT_RUN | UNKNOWN)[failure])[0] == expected


def test_a_request_that_goes_through_ends_the_tries() -> None:
    script = Script(refused(500), httpx.ReadError("x"), ok(a=1))

    assert MovedTime().client(script).request("GET", "x")["a"] == 1
    assert len(script.requests) == 3


def test_the_last_failure_is_raised() -> None:
    script = Script(refused(500, "first"), refused(500, "second"), refused(500, "third"))

    with pytest.raises(BlobHubError) as caught:
        MovedTime().client(script).request("GET", "x")

    assert caught.value.error == "third"
    assert caught.value.__context__ is None


def test_a_command_may_change_from_one_safe_failure_to_an_unsafe_one() -> None:
    """The second try may have run, so there is no third."""
    script = Script(refused(429), refused(503, "down"), ok())

    with pytest.raises(BlobHubError) as caught:
        revision_of(MovedTime().client(script)).command("create_session")

    assert (caught.value.error, len(script.requests)) == ("down", 2)


def slept(*failures: Answer) -> list[float]:
    time = MovedTime()
    with time.client(Script(*failures, ok())) as client:
        client.request("GET", "x")
    return time.slept


def test_the_delay_is_a_random_part_of_half_a_second_then_one() -> None:
    """The dice give a half here."""
    assert slept(refused(500), refused(500)) == [0.25, 0.5]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("600", 60.0),
        ("-1", 0.0),
        ("Fri, 15 Jan 2027 08:00:09 GMT", 9.0),
        ("Fri, 15 Jan 2027 09:00:00 GMT", 60.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", 0.0),
        ("whenever", 0.25),
    ],
)
def test_the_server_says_how_long_to_wait(status: int, header: str, seconds: float) -> None:
    """Seconds or a date, between 0 and 60 s."""
    assert slept(httpx.Response(status, headers={"retry-after": header}, json={})) == [seconds]


def test_a_date_is_counted_from_the_moment_it_came() -> None:
    limited = httpx.Response(429, headers={"retry-after": "Fri, 15 Jan 2027 08:00:20 GMT"}, json={})

    assert slept(httpx.Response(429, headers={"retry-after": "15"}, json={}), limited) == [15.0, 5.0]


def test_repeated_requests_are_equal() -> None:
    script = Script(httpx.ConnectError("x"), refused(429), ok())

    revision_of(MovedTime().client(script)).command("c", a=[1])

    assert script.bodies == [{"a": [1], "command": "c"}] * 3


def test_tries_are_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    MovedTime().client(Script(refused(503, "down"), ok())).request("GET", "blobs/o/b?token=t0ken", params={"q": "v"})

    ours = [record.getMessage() for record in caplog.records if record.name == "blobhub"]
    assert ours == ["GET blobs/o/b: down, again in 0.25 s"]
    assert KEY not in caplog.text
