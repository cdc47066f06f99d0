"""Sending through aiohttp: how the async client sends unless a transport or event hooks are given.

httpx answers ten times fewer requests per second with 32 in flight (`bench/http_clients.py`). Its exceptions stay the
client's public ones, so callers see one set of transport failures whatever is underneath.
"""

import asyncio
import ssl
from functools import lru_cache

import aiohttp
import httpx
import yarl
from aiohttp.abc import AbstractStreamWriter

from lbb.httpx_sender import KEEP_IDLE_SECONDS, MAX_CONNECTIONS
from lbb.loop_bound import LoopBound
from lbb.request import PreparedRequest
from lbb.sender import SenderReply, no_connection

_PIECE_BYTES = 1 << 15  # half of what a transport takes before it makes its writer wait
_OWN_HEADERS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class AiohttpSender:
    """One aiohttp session per running loop; connections stay open for `KEEP_IDLE_SECONDS` after their last use."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._sessions = LoopBound(self._open_session, _close, _forget)
        self._is_closed = False

    async def send(self, request: PreparedRequest) -> SenderReply:
        if self._is_closed:
            raise RuntimeError("this client has been closed")
        session = await self._sessions.current()
        if request.policy.retry is not True:
            await _notice_closed_connections()
        try:
            async with session.request(
                request.method,
                _parsed(request.url),
                data=_data(request),
                headers=request.headers,
                timeout=_timeout(request.timeout),
                allow_redirects=False,
            ) as reply:
                return SenderReply(reply.status, reply.headers, await reply.read())
        except aiohttp.ClientConnectorError as exc:
            sent = httpx.Request(request.method, request.url)
            # Without its 40 lines of cause: the text has the system's reason, and this is a newcomer's first traceback.
            raise httpx.ConnectError(no_connection(request.url, exc.os_error), request=sent) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise _transport_error(exc, request) from exc

    async def aclose(self) -> None:
        self._is_closed = True
        await self._sessions.aclose()

    def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEP_IDLE_SECONDS, ssl=self._tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_OWN_HEADERS,
            trust_env=False,  # the library reads no environment variables (lbb-engine 2.1)
        )


async def _notice_closed_connections() -> None:
    """Let the loop look at its sockets before a request that is sent only once.

    After code that blocked the loop, a connection the server has closed still looks open to aiohttp. The first turn
    of the loop polls the sockets, the second runs what that found.
    Proof: test_a_request_sent_once_survives_a_connection_closed_while_the_loop_was_blocked.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def _data(request: PreparedRequest) -> "bytes | _Pieces | None":
    content = request.content
    return _Pieces(content, request.timeout) if content is not None and len(content) > _PIECE_BYTES else content


class _Pieces(aiohttp.Payload):
    """A body written piece by piece, each within the timeout.

    aiohttp starts its timer when the whole body is written, so a server that stops reading would hold a request for
    ever. Proof: test_a_server_that_does_not_read_is_a_timeout.
    """

    def __init__(self, content: bytes, timeout: float) -> None:
        super().__init__(content)
        self._size = len(content)  # aiohttp's content-length
        self._timeout = timeout

    async def write(self, writer: AbstractStreamWriter) -> None:
        view = memoryview(self._value)
        for start in range(0, len(view), _PIECE_BYTES):
            try:
                async with asyncio.timeout(self._timeout):
                    await writer.write(view[start : start + _PIECE_BYTES])
                    await writer.drain()
            except TimeoutError as exc:
                raise _WriteTimeout(f"the server took no bytes for {self._timeout} s") from exc

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return str(self._value, encoding, errors)


class _WriteTimeout(TimeoutError):
    pass


@lru_cache(maxsize=256)
def _parsed(url: str) -> yarl.URL:
    return yarl.URL(url, encoded=True)


@lru_cache(maxsize=64)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=seconds, sock_read=seconds)


async def _close(session: aiohttp.ClientSession) -> None:
    await session.close()
    await asyncio.sleep(0)  # the transports close their sockets in the loop's next turn


def _forget(session: aiohttp.ClientSession) -> None:
    """Mark a session closed whose loop is closed: nothing can run there any more, and aiohttp would log an error."""
    if session.closed:
        return
    try:
        session.close().send(None)
    except StopIteration:
        return


def _transport_error(exc: Exception, request: PreparedRequest) -> httpx.RequestError:
    sent = httpx.Request(request.method, request.url)
    return _error_class(exc)(f"{type(exc).__name__}: {exc}", request=sent)


def _error_class(exc: Exception) -> type[httpx.TransportError]:
    match exc:
        case aiohttp.ConnectionTimeoutError():
            return httpx.ConnectTimeout
        case _WriteTimeout():
            return httpx.WriteTimeout
        case TimeoutError():
            return httpx.ReadTimeout
        case aiohttp.InvalidURL():
            return httpx.UnsupportedProtocol
        case OSError():  # reset while sending or reading
            return httpx.ReadError
        case _:  # disconnected, a cut body, no HTTP
            return httpx.RemoteProtocolError
