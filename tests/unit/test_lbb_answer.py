"""What a caller gets for a 2xx answer (lbb-engine 2.4)."""

from dataclasses import FrozenInstanceError
from typing import Any

import httpx
import pydantic
import pytest

from lbb import AsyncLbbClient, LbbClient, RawLbbResponse, models
from tests.unit.lbb_scripted import ClientClass, MovedTime, Script, call, client_of, finish

pytestmark = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])


def answered(cls: ClientClass, content: bytes, content_type: str | None = None, status: int = 200) -> RawLbbResponse:
    headers = {"x-request-id": "req_1"} | ({"content-type": content_type} if content_type else {})
    return call(client_of(cls, Script(httpx.Response(status, headers=headers, content=content))), None, "GET", "/v1/x")


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "text/html", None])
def test_a_body_is_json_whatever_its_type(cls: ClientClass, content_type: str | None) -> None:
    assert answered(cls, '{"name": "Größe", "big": 12345678901234567890}'.encode(), content_type).data == {
        "name": "Größe",
        "big": 12345678901234567890,
    }


@pytest.mark.parametrize("content_type", [None, "application/json", "text/turtle"])
def test_an_empty_body_is_none(cls: ClientClass, content_type: str | None) -> None:
    assert answered(cls, b"", content_type, status=204).data is None


@pytest.mark.parametrize("content_type", ["application/x-ndjson", "Application/X-NDJSON; charset=utf-8"])
def test_ndjson_is_a_list_of_its_lines(cls: ClientClass, content_type: str) -> None:
    # U+2028 is a line break for str.splitlines, and an ordinary letter in JSON.
    assert answered(cls, '{"a":1}\n\n{"b":"\u2028"}\r\n'.encode(), content_type).data == [{"a": 1}, {"b": "\u2028"}]


def test_empty_ndjson_is_an_empty_list(cls: ClientClass) -> None:
    assert answered(cls, b"", "application/x-ndjson").data == []


@pytest.mark.parametrize(
    "content_type", ["text/turtle", "application/n-triples", "application/trig", "application/n-quads; charset=utf-8"]
)
def test_rdf_is_text(cls: ClientClass, content_type: str) -> None:
    assert answered(cls, "<a> <b> 'é' .".encode(), content_type).data == "<a> <b> 'é' ."


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"<html>", None),
        (b'{"a":', "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"a":1}\nnope\n', "application/x-ndjson"),
    ],
)
def test_a_broken_body_names_status_and_request(cls: ClientClass, content: bytes, content_type: str | None) -> None:
    with pytest.raises(ValueError, match=r"HTTP 200 \(request req_1\)"):
        answered(cls, content, content_type)


def test_a_broken_body_without_a_request_id_names_the_status(cls: ClientClass) -> None:
    client = client_of(cls, Script(httpx.Response(201, content=b"<html>")))

    with pytest.raises(ValueError, match=r"^HTTP 201 has"):
        call(client, None, "GET", "/v1/x")


def test_the_answer_tells_of_its_request(cls: ClientClass) -> None:
    headers = {"X-Request-Id": "req_9", "Lbb-Version": "2026-10-21", "X-Own": "1"}
    script = Script(httpx.Response(503), httpx.Response(202, headers=headers, json=[]))

    answer = call(client_of(cls, script), MovedTime(), "GET", "/v1/x")

    assert (answer.status_code, answer.request_id, answer.version) == (202, "req_9", "2026-10-21")
    assert answer.headers["x-own"] == answer.headers["X-OWN"] == "1"
    assert (answer.attempts, answer.retry_count, answer.elapsed_ms) == (2, 1, pytest.approx(100.0))


def test_an_answer_is_frozen(cls: ClientClass) -> None:
    answer: Any = answered(cls, b"1")

    with pytest.raises(FrozenInstanceError):
        answer.data = 2


def test_an_answer_reads_itself_as_a_model(cls: ClientClass) -> None:
    answer = answered(cls, b'{"key":"k","sha256":"s","bytes":3,"created":true,"later":1}')

    assert answer.model(models.WorkflowBlob) == models.WorkflowBlob(key="k", sha256="s", bytes=3, created=True)
    with pytest.raises(pydantic.ValidationError):
        answer.model(models.WorkflowInstance)


def test_a_binary_request_gives_the_bytes(cls: ClientClass) -> None:
    script = Script(httpx.Response(200, headers={"content-type": "application/json"}, content=b"\x00{"))
    client = client_of(cls, script, graph="g")

    answer = finish(lambda: client.binary_request("GET", "/v1/workflows/blobs", params={"key": "a/b"}))

    assert answer.data == b"\x00{"
    assert str(script.request.url) == "http://server.test/v1/workflows/blobs?graph=g&key=a%2Fb"
