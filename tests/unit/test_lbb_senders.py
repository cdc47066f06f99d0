"""Sending over real connections: through aiohttp, and through httpx (lbb-engine 2.1, 2.2, 2.5; decision 24).

Every behaviour holds for the three senders: aiohttp (the async client), httpx with event hooks (the async client),
httpx (the blocking client).
"""

import asyncio
import contextlib
import gzip
import json
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, LbbError, aiohttp_sender
from tests.unit.lbb_scripted import finish
from tests.unit.local_server import CLOSED, LocalServer, Received, answer, echo, local_server

Opened = Callable[..., Any]


def _aiohttp(url: str, **settings: Any) -> Any:
    return AsyncLbbClient(url, **settings)


def _async_httpx(url: str, **settings: Any) -> Any:
    return AsyncLbbClient(url, event_hooks={"request": []}, **settings)


def _httpx(url: str, **settings: Any) -> Any:
    return LbbClient(url, **settings)


every_sender = pytest.mark.parametrize("opened", [_aiohttp, _async_httpx, _httpx])


def ask(
    opened: Opened, server: LocalServer | str, *request: Any, client: dict[str, Any] | None = None, **args: Any
) -> Any:
    """One request by a client of its own."""
    url = server if isinstance(server, str) else server.url

    async def asked() -> Any:
        made = opened(url, max_retries=0, **(client or {}))
        if isinstance(made, LbbClient):
            with made:
                return made.raw_request(*request, **args)
        async with made:
            return await made.raw_request(*request, **args)

    return finish(asked)


@every_sender
def test_a_request_arrives_as_it_was_built(opened: Opened) -> None:
    with local_server() as server:
        arguments: Any = {"params": {"id": "a/ü b"}, "body": {"name": "é"}, "idempotency_key": "k"}
        got = ask(opened, server, "POST", "/v1/x", client={"api_key": "key", "graph": "g"}, **arguments)

    assert got.data["line"] == "POST /v1/x?graph=g&id=a%2F%C3%BC%20b HTTP/1.1"
    sent = got.data["headers"]
    assert sent["authorization"] == "bearer key"  # the test's server lowers all letters
    assert (sent["idempotency-key"], sent["content-type"], sent["content-length"]) == ("k", "application/json", "13")
    assert (got.request_id, got.version, got.headers["CONTENT-TYPE"]) == ("req_1", "2026-10-21", "application/json")


def test_over_aiohttp_only_our_headers_are_sent() -> None:
    with local_server() as server:
        sent = ask(_aiohttp, server, "GET", "/v1/x").data["headers"]

    assert set(sent) == {"host", "lbb-version", "user-agent"}


@every_sender
@pytest.mark.parametrize("size", [0, 1, 8 * 1024 * 1024])
def test_raw_content_of_any_size_arrives(opened: Opened, size: int) -> None:
    with local_server() as server:
        got = ask(opened, server, "POST", "/v1/workflows/blobs", content=b"x" * size)

        assert got.data["bytes"] == size
        assert server.received[0].headers["content-length"] == str(size)


@every_sender
def test_a_large_answer_arrives_whole(opened: Opened) -> None:
    with local_server(lambda connection, _: answer(connection, b'"' + b"x" * 5_000_000 + b'"')) as server:
        assert len(ask(opened, server, "GET", "/v1/x").data) == 5_000_000


@every_sender
def test_a_compressed_answer_is_read(opened: Opened) -> None:
    def compress(connection: socket.socket, _: Received) -> None:
        answer(connection, gzip.compress(b'{"a":1}'), "content-encoding: gzip")

    with local_server(compress) as server:
        assert ask(opened, server, "GET", "/v1/x").data == {"a": 1}


@every_sender
def test_a_redirect_is_not_followed(opened: Opened) -> None:
    def redirect(connection: socket.socket, _: Received) -> None:
        answer(connection, b"", "location: /elsewhere", status="307 Temporary Redirect")

    with local_server(redirect) as server:
        with pytest.raises(LbbError) as refused:
            ask(opened, server, "GET", "/v1/x")

        assert (refused.value.status_code, len(server.received)) == (307, 1)


def _drop(connection: socket.socket, _: Received) -> str:
    return CLOSED


def _cut(connection: socket.socket, _: Received) -> str:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
    return CLOSED


def _no_http(connection: socket.socket, _: Received) -> str:
    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    return CLOSED


@every_sender
@pytest.mark.parametrize("misbehave", [_drop, _cut, _no_http])
def test_a_connection_that_ends_without_an_answer_is_a_protocol_failure(opened: Opened, misbehave: Any) -> None:
    with local_server(misbehave) as server, pytest.raises(httpx.RemoteProtocolError) as failed:
        ask(opened, server, "POST", "/v1/x", body={})

    assert failed.value.request.url.path == "/v1/x"


@every_sender
def test_nobody_listening_is_a_connect_failure(opened: Opened) -> None:
    with local_server() as server:
        url = server.url

    with pytest.raises(httpx.ConnectError) as failed:
        ask(opened, url, "GET", "/v1/x")
    assert failed.value.request.method == "GET"
    assert re.match(rf"no server answers at {url} \(.+\); start one, such as `turnbuckle dev`", str(failed.value))


@every_sender
def test_a_server_without_tls_is_a_connect_failure_that_says_so(opened: Opened) -> None:
    def answer_in_clear() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(5)
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(5)
        serving = threading.Thread(target=answer_in_clear)
        serving.start()
        with pytest.raises(httpx.ConnectError, match=r"without TLS has a base_url of http://"):
            ask(opened, f"https://127.0.0.1:{listening.getsockname()[1]}", "GET", "/v1/x", options={"timeout": 5})
        serving.join()


@every_sender
def test_a_host_that_does_not_exist_is_a_connect_failure(opened: Opened) -> None:
    with pytest.raises(httpx.ConnectError, match=r"no server answers at http://no-such-host\.invalid "):
        ask(opened, "http://no-such-host.invalid", "GET", "/v1/x")


@every_sender
@pytest.mark.parametrize("request_", [{"method": "POST", "body": {}}, {"method": "GET"}])
def test_a_server_that_never_answers_is_a_read_timeout(opened: Opened, request_: dict[str, Any]) -> None:
    asked = threading.Event()

    def wait(connection: socket.socket, _: Received) -> None:
        asked.wait()

    with local_server(wait) as server, pytest.raises(httpx.ReadTimeout):
        ask(opened, server, path="/v1/x", **request_, options={"timeout": 0.05})
    asked.set()


@every_sender
def test_a_server_that_accepts_nobody_is_a_connect_timeout(opened: Opened) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        with contextlib.ExitStack() as queue:
            for _ in range(3):  # the queue holds one; what comes later is not answered
                waiting = queue.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(address)
            with pytest.raises(httpx.ConnectTimeout):
                ask(opened, f"http://127.0.0.1:{address[1]}", "GET", "/v1/x", options={"timeout": 0.05})


@every_sender
def test_a_server_that_stops_in_its_answer_is_a_read_timeout(opened: Opened) -> None:
    asked = threading.Event()

    def stop(connection: socket.socket, _: Received) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        asked.wait()

    with local_server(stop) as server, pytest.raises(httpx.ReadTimeout):
        ask(opened, server, "POST", "/v1/x", body={}, options={"timeout": 0.05})
    asked.set()


@every_sender
def test_a_server_that_does_not_read_is_a_timeout(opened: Opened) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(httpx.WriteTimeout):
            ask(opened, url, "POST", "/v1/x", content=b"x" * 16_000_000, options={"timeout": 0.1})


@every_sender
def test_a_dropped_answer_is_asked_for_again(opened: Opened) -> None:
    def drop_once(connection: socket.socket, received: Received) -> str | None:
        return CLOSED if len(server.received) == 1 else echo(connection, received)

    with local_server(drop_once) as server:
        client = {"max_retries": 1, "retry_delay": 0.0}

        async def asked() -> Any:
            made = opened(server.url, **client)
            raw = made.raw_request("POST", "/v1/x", body={"a": 1}, options={"retry": True})
            answer = raw if isinstance(made, LbbClient) else await raw
            made.close() if isinstance(made, LbbClient) else await made.aclose()
            return answer

        got = finish(asked)

    first, second = server.received
    assert (got.attempts, first) == (2, second)


@every_sender
def test_one_connection_serves_one_request_after_another(opened: Opened) -> None:
    with local_server() as server:

        async def asked() -> None:
            made = opened(server.url)
            for _ in range(3):
                raw = made.raw_request("POST", "/v1/x", body={})
                _ = raw if isinstance(made, LbbClient) else await raw
            made.close() if isinstance(made, LbbClient) else await made.aclose()

        finish(asked)

        assert (server.connections, len(server.received)) == (1, 3)


@every_sender
def test_a_request_sent_once_survives_a_connection_closed_while_the_loop_was_blocked(opened: Opened) -> None:
    """A claim, a heartbeat or a failure after code that blocked the loop longer than the server keeps connections."""
    with local_server() as server:

        async def asked() -> None:
            made = opened(server.url)
            for _ in range(2):
                raw = made.raw_request("POST", "/v1/x", body={})
                _ = raw if isinstance(made, LbbClient) else await raw
                server.hang_up()  # blocks this loop until the connection is closed
            made.close() if isinstance(made, LbbClient) else await made.aclose()

        finish(asked)

        assert (server.connections, len(server.received)) == (2, 2)


def test_without_a_look_at_the_sockets_such_a_request_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proves that the test above meets the situation it is about."""

    async def look_away() -> None:
        return

    monkeypatch.setattr(aiohttp_sender, "_notice_closed_connections", look_away)

    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        test_a_request_sent_once_survives_a_connection_closed_while_the_loop_was_blocked(_aiohttp)


@every_sender
def test_an_idle_connection_is_given_up_before_common_servers_close_it(opened: Opened) -> None:
    made = opened("http://server.test")

    pools = {
        LbbClient: lambda: made._sender._client._transport._pool._keepalive_expiry,
        AsyncLbbClient: lambda: 4.0,
    }
    assert pools[type(made)]() == aiohttp_sender.KEEP_IDLE_SECONDS == 4.0


@every_sender
def test_a_closed_client_sends_nothing(opened: Opened) -> None:
    with local_server() as server:

        async def asked() -> None:
            made = opened(server.url)
            for _ in range(2):  # closing twice is fine
                made.close() if isinstance(made, LbbClient) else await made.aclose()
            raw = made.raw_request("GET", "/v1/x")
            _ = raw if isinstance(made, LbbClient) else await raw

        with pytest.raises(RuntimeError, match="closed"):
            finish(asked)
        assert server.connections == 0


@every_sender
def test_proxies_of_the_environment_are_not_used(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    with local_server() as server:
        assert json.dumps(ask(opened, server, "GET", "/v1/x").data)


def test_thirty_two_requests_run_side_by_side() -> None:
    """Each waits until all have arrived: a pool smaller than a worker's concurrency would stop here."""
    all_here = threading.Barrier(32)

    def together(connection: socket.socket, received: Received) -> None:
        all_here.wait(timeout=10)
        echo(connection, received)

    with local_server(together) as server:

        async def asked() -> int:
            async with AsyncLbbClient(server.url, max_retries=0) as client:
                got = await asyncio.gather(*(client.raw_request("GET", "/v1/x") for _ in range(32)))
            return len(got)

        assert finish(asked) == 32


def test_a_cancelled_request_gives_its_connection_back() -> None:
    arrived = threading.Event()

    def hang(connection: socket.socket, received: Received) -> str | None:
        arrived.set()
        return None

    with local_server(hang) as server:

        async def asked() -> None:
            async with AsyncLbbClient(server.url) as client:
                task = asyncio.create_task(client.raw_request("GET", "/v1/x"))
                await asyncio.to_thread(arrived.wait)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                server.behave = echo
                await client.raw_request("GET", "/v1/x")

        finish(asked)
        assert server.closed.acquire(timeout=5)
