"""Sending through httpx: the sync client always, the async one when a transport or event hooks are given."""

from collections.abc import Callable

import httpx

from lbb.loop_bound import LoopBound
from lbb.request import PreparedRequest
from lbb.sender import SenderReply, no_connection

# Shorter than the 5 s after which common servers (uvicorn, node) close an idle connection: a claim, a heartbeat or a
# failure is sent once, so it should not meet a connection that is just being closed.
KEEP_IDLE_SECONDS = 4.0
MAX_CONNECTIONS = 256

LIMITS = httpx.Limits(
    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_IDLE_SECONDS
)


class HttpxSender:
    """Thread-safe, as httpx.Client is."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def send(self, request: PreparedRequest) -> SenderReply:
        try:
            return _reply(self._client.send(_built(self._client, request)))
        except httpx.ConnectError as exc:
            raise _told(exc, request) from exc

    def close(self) -> None:
        self._client.close()


class AsyncHttpxSender:
    """One client for all loops, over a transport of the user's."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def send(self, request: PreparedRequest) -> SenderReply:
        return _reply(await self._client.send(_built(self._client, request)))

    async def aclose(self) -> None:
        await self._client.aclose()


class LoopHttpxSender:
    """One client, so one connection pool, per running loop."""

    def __init__(self, open_client: Callable[[], httpx.AsyncClient]) -> None:
        self._clients = LoopBound(open_client, httpx.AsyncClient.aclose, forget=lambda client: None)
        self._is_closed = False

    async def send(self, request: PreparedRequest) -> SenderReply:
        if self._is_closed:
            raise RuntimeError("this client has been closed")
        client = await self._clients.current()
        try:
            return _reply(await client.send(_built(client, request)))
        except httpx.ConnectError as exc:
            raise _told(exc, request) from exc

    async def aclose(self) -> None:
        self._is_closed = True
        await self._clients.aclose()


def _built(client: httpx.Client | httpx.AsyncClient, request: PreparedRequest) -> httpx.Request:
    return client.build_request(
        request.method, request.url, headers=request.headers, content=request.content, timeout=request.timeout
    )


def _told(exc: httpx.ConnectError, request: PreparedRequest) -> httpx.ConnectError:
    return httpx.ConnectError(no_connection(request.url, exc), request=exc.request)


def _reply(response: httpx.Response) -> SenderReply:
    return SenderReply(response.status_code, response.headers, response.content)
