"""Which HTTP client may carry a worker's turns: requests per second against a trivial echo, 1 and 32 in flight.

Run it as `python bench/http_clients.py`; it takes about half a minute. The server is raw ASGI on uvicorn in its own
process, the body 1 KB of JSON, posted and echoed. CPU is the client's process time per request.

Two shared cores, Python 3.11, aiohttp 3.14, httpx 0.28, uvicorn 0.54, other work running (read as ratios):

                                        1 in flight             32 in flight
    aiohttp                           3,656/s  0.16 ms CPU        7,292/s  0.11 ms CPU
    aiohttp, lean                     5,134/s  0.16 ms CPU        8,916/s  0.11 ms CPU
    httpx                               913/s  1.08 ms CPU          447/s  2.24 ms CPU
    lbb (aiohttp, lean)               4,783/s  0.18 ms CPU        7,653/s  0.13 ms CPU
    lbb with event_hooks (httpx)        925/s  1.06 ms CPU          467/s  2.12 ms CPU

So httpx costs 20 times the CPU at 32 in flight, and the SDK itself 0.02 ms, half of it JSON. Which of aiohttp's
features are on makes no difference beyond the noise (10 % over four rounds of cookies, decompression, own headers,
URL parsing and timeouts, each alone); the lean set is used for what it does, not for speed.
"""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import aiohttp
import httpx
import yarl

from lbb import AsyncLbbClient

BODY = json.dumps({"workflow_id": "a-1", "turn": 1, "token": "T" * 43, "output": "x" * 900}).encode()
HEADERS = {"content-type": "application/json", "authorization": "Bearer lbb_sk_test_local", "user-agent": "bench"}
PATH = "/v1/workflows/turns/checkpoint"
SECONDS = 2.0

Post = Callable[[], Awaitable[Any]]


async def echo(scope: dict[str, Any], receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
    """The server: answers the body it got."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        event = await receive()
        body, more = body + event.get("body", b""), event.get("more_body", False)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def aiohttp_plain(base: str) -> AsyncIterator[Post]:
    async with aiohttp.ClientSession() as session:

        async def post() -> None:
            async with session.post(base + PATH + "?graph=main", data=BODY, headers=HEADERS) as reply:
                json.loads(await reply.read())

        yield post


@asynccontextmanager
async def aiohttp_lean(base: str) -> AsyncIterator[Post]:
    """No cookies, no decompression, no headers of its own, the URL parsed once."""
    url = yarl.URL(base + PATH + "?graph=main", encoded=True)
    timeout = aiohttp.ClientTimeout(total=None, connect=120, sock_read=120)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=256),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        auto_decompress=False,
    ) as session:

        async def post() -> None:
            reading = session.request("POST", url, data=BODY, headers=HEADERS, timeout=timeout, allow_redirects=False)
            async with reading as reply:
                json.loads(await reply.read())

        yield post


@asynccontextmanager
async def httpx_plain(base: str) -> AsyncIterator[Post]:
    async with httpx.AsyncClient() as client:

        async def post() -> None:
            reply = await client.post(base + PATH, params={"graph": "main"}, content=BODY, headers=HEADERS)
            json.loads(reply.content)

        yield post


@asynccontextmanager
async def lbb_client(base: str) -> AsyncIterator[Post]:
    """The whole way through `AsyncLbbClient.raw_request`, body dumped and answer parsed."""
    body = json.loads(BODY)
    async with AsyncLbbClient(base, api_key="lbb_sk_test_local", graph="main") as client:
        yield lambda: client.raw_request("POST", PATH, body=body, options={"retry": True})


@asynccontextmanager
async def lbb_client_over_httpx(base: str) -> AsyncIterator[Post]:
    body = json.loads(BODY)
    async with AsyncLbbClient(base, api_key="k", graph="main", event_hooks={"request": []}) as client:
        yield lambda: client.raw_request("POST", PATH, body=body, options={"retry": True})


CLIENTS: dict[str, Callable[[str], AbstractAsyncContextManager[Post]]] = {
    "aiohttp": aiohttp_plain,
    "aiohttp, lean": aiohttp_lean,
    "httpx": httpx_plain,
    "lbb (aiohttp, lean)": lbb_client,
    "lbb with event_hooks (httpx)": lbb_client_over_httpx,
}


async def measure(post: Post, in_flight: int) -> tuple[float, float]:
    """Requests per second, and milliseconds of this process's CPU per request."""
    done = 0

    async def keep_posting(until: float) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await post()
            done += 1

    await asyncio.gather(*(post() for _ in range(in_flight)))
    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(keep_posting(started + SECONDS) for _ in range(in_flight)))
    return done / (time.perf_counter() - started), (time.process_time() - cpu) / done * 1000


async def run(base: str) -> None:
    print(f"{'':30} {'1 in flight':>20} {'32 in flight':>24}")
    for name, opened in CLIENTS.items():
        async with opened(base) as post:
            (one, one_cpu), (many, many_cpu) = await measure(post, 1), await measure(post, 32)
        print(f"{name:30} {one:8,.0f}/s {one_cpu:5.2f} ms CPU {many:12,.0f}/s {many_cpu:5.2f} ms CPU")


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "http_clients:echo", "--port", str(port), "--log-level", "error"]
    server = subprocess.Popen([*command, "--app-dir", "bench", "--no-access-log"])
    try:
        _wait_until_open(port)
        asyncio.run(run(f"http://127.0.0.1:{port}"))
    finally:
        server.terminate()
        server.wait()


def _wait_until_open(port: int) -> None:
    until = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main()
