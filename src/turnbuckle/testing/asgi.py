"""One request handed to an ASGI app as a function call.

httpx has such a transport too; it looks for another async library on every request, which takes longer than the app.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

Message = dict[str, Any]
AsgiApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


async def call(app: AsgiApp, request: httpx.Request) -> httpx.Response:
    """The app's answer. The client never hangs up, unless this is cancelled."""
    asked: list[Message] = [{"type": "http.request", "body": await request.aread()}]
    answered: list[Message] = []

    async def receive() -> Message:
        if not asked:
            await asyncio.get_running_loop().create_future()
        return asked.pop()

    async def send(message: Message) -> None:
        answered.append(message)

    await app(_scope(request), receive, send)
    start, *parts = answered
    content = b"".join(part.get("body", b"") for part in parts)
    return httpx.Response(start["status"], headers=start["headers"], content=content, request=request)


def _scope(request: httpx.Request) -> Message:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("127.0.0.1", 1),
        "server": (request.url.host, request.url.port or 80),
    }
