"""What the clients need of an HTTP library: one request sent once, one answer or an httpx exception.

`httpx_sender` and `aiohttp_sender` implement it; retries, headers and decoding are not their business.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from lbb.request import PreparedRequest


@dataclass(frozen=True, slots=True)
class SenderReply:
    """A whole HTTP answer. `headers` ignores case."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class Sender(Protocol):
    """Raises `httpx.RequestError` when no whole answer came; RuntimeError once closed."""

    def send(self, request: PreparedRequest) -> SenderReply: ...

    def close(self) -> None: ...


class AsyncSender(Protocol):
    """As `Sender`, awaited; usable from one event loop after another."""

    async def send(self, request: PreparedRequest) -> SenderReply: ...

    async def aclose(self) -> None: ...
