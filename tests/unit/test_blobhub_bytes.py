"""Bytes in and out, and the parts of a transfer plan (blobhub 2.5, 2.6, 4.3)."""

import json
import logging
from typing import Any

import httpx
import pytest

from blobhub import CommandError, PermissionDenied, ServerError
from tests.unit.blobhub_scripted import KEY, REVISION, Answer, Script, client_of, ok, refused, revision_of

OCTETS = {"content-type": "application/octet-stream"}


def octets(content: bytes, **envelope: Any) -> httpx.Response:
    header = json.dumps({"status": "success", **envelope})
    return httpx.Response(200, headers=OCTETS | {"x-response-body": header}, content=content)


def test_bytes_go_as_the_body_and_the_command_as_a_header() -> None:
    script = Script(ok(operation_id="o"))

    answer = revision_of(client_of(script)).command_bytes("upload", b"\x00\xff", path="ü", size=2, none=None)

    request = script.request
    assert answer["operation_id"] == "o"
    assert request.url.path == f"/v1/revisions/{REVISION}/data/command"
    assert request.content == b"\x00\xff"
    assert request.headers["content-type"] == "application/octet-stream"
    assert json.loads(request.headers["x-request-body"]) == {"path": "ü", "size": 2, "command": "upload"}


def test_bytes_come_as_the_body_and_the_answer_as_a_header() -> None:
    script = Script(octets(b"\x00\xff", object={"a": 1}))

    answer, content = revision_of(client_of(script)).query_bytes("download", path="p")

    assert (answer, content) == ({"status": "success", "object": {"a": 1}}, b"\x00\xff")
    assert script.request.headers["accept"] == "application/octet-stream"
    assert script.bodies == [{"path": "p", "command": "download"}]


@pytest.mark.parametrize(
    ("answer", "cls", "code"),
    [
        (ok(), ServerError, "unexpected_content_type"),
        (refused(200, "gone"), CommandError, "gone"),
        (refused(403, "access_denied"), PermissionDenied, "access_denied"),
        (refused(400, "bad"), CommandError, "bad"),
        (httpx.Response(200, content=b"<html>"), ServerError, "invalid_response"),
        (httpx.Response(200, headers=OCTETS, content=b"x"), ServerError, "invalid_response"),
        (httpx.Response(200, headers=OCTETS | {"x-response-body": "[]"}), ServerError, "invalid_response"),
        (
            httpx.Response(200, headers=OCTETS | {"x-response-body": '{"status": "failure", "error": "gone"}'}),
            CommandError,
            "gone",
        ),
    ],
)
def test_an_answer_without_bytes_is_an_error(answer: httpx.Response, cls: type[Exception], code: str) -> None:
    with pytest.raises(cls) as caught:
        revision_of(client_of(Script(answer))).query_bytes("download")

    assert getattr(caught.value, "error", None) == code


# Parts.

SECRET_URL = "http://store.test/bucket/x?signature=s3cr3t"


def part(size: Any = 2, **places: Any) -> dict[str, Any]:
    return {"size": size, "offset": 0, **places}


def uploaded(answer: Answer, **place: Any) -> tuple[str, Script]:
    script = Script(answer)
    return client_of(script).upload_part(part(upload={"url": SECRET_URL, **place}), b"ab"), script


def test_a_part_is_put_without_our_credential() -> None:
    etag, script = uploaded(httpx.Response(200, headers={"etag": '"e1"'}), headers={"x-store": "1"})

    request = script.request
    assert etag == '"e1"'
    assert (request.method, str(request.url), request.content) == ("PUT", SECRET_URL, b"ab")
    assert request.headers["x-store"] == "1"
    assert not {"x-api-key", "authorization"} & set(request.headers)


def test_a_part_is_got_and_measured() -> None:
    script = Script(httpx.Response(200, content=b"ab"))

    assert client_of(script).download_part(part(download={"url": SECRET_URL})) == b"ab"
    assert (script.request.method, "x-api-key" in script.request.headers) == ("GET", False)


@pytest.mark.parametrize("content", [b"", b"a", b"abc"])
def test_a_part_of_another_length_is_refused(content: bytes) -> None:
    script = Script(httpx.Response(200, content=content))

    with pytest.raises(ServerError) as caught:
        client_of(script).download_part(part(download={"url": SECRET_URL}))

    assert (caught.value.error, len(script.requests)) == ("unexpected_part_size", 3)


def test_a_part_that_was_taken_without_a_tag_is_refused() -> None:
    with pytest.raises(ServerError) as caught:
        uploaded(httpx.Response(200))

    assert caught.value.error == "missing_etag"


def test_data_of_another_size_is_not_sent() -> None:
    script = Script()

    with pytest.raises(ValueError, match="2 bytes"):
        client_of(script).upload_part(part(upload={"url": SECRET_URL}), b"abc")

    assert script.requests == []


@pytest.mark.parametrize(
    "broken",
    [part(), part(upload={}), part(upload={"url": 5}), part(upload={"url": "http://h:s3cr3t"}), part(size=0),
     part(size=True), part(size="2"), {"offset": 0}],
)  # fmt: skip
def test_a_part_that_is_none_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ServerError) as caught:
        client_of(Script()).upload_part(broken, b"ab")

    assert caught.value.error == "invalid_part_plan"
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "failure", [httpx.ReadError(SECRET_URL), httpx.Response(403, content=f"<Error>{SECRET_URL}</Error>".encode())]
)
def test_an_error_does_not_show_the_address_of_a_part(failure: Answer) -> None:
    with pytest.raises(Exception, match=r"network_error|forbidden") as caught:
        uploaded(failure)

    assert "s3cr3t" not in str(caught.value)
    assert "BLOBHUB_API_KEY" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_log_of_httpx_leaves_out_what_makes_the_address_a_credential(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    uploaded(httpx.Response(200, headers={"etag": "e"}))
    client_of(Script()).request("GET", "things", params={"q": "shown"})

    assert "s3cr3t" not in caplog.text
    assert KEY not in caplog.text
    assert "PUT http://store.test/bucket/x?[redacted]" in caplog.text
    assert "things?q=shown" in caplog.text
