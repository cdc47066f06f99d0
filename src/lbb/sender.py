"""What the clients need of an HTTP library: one request sent once, one answer or an httpx exception.

`httpx_sender` and `aiohttp_sender` implement it; retries, headers and decoding are not their business.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from lbb.request import PreparedRequest


@dataclass(frozen=True, slots=True)
class SenderReply:
    """A whole HTTP answer. `headers` ignores case."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


def no_connection(url: str, reason: object) -> str:
    """The text of a connect failure: where nobody answers, why, and what to do about it."""
    parts = urlsplit(url)
    server = f"{parts.scheme}://{parts.netloc}"
    if "SSL" in str(reason):
        return f"no TLS connection to {server} ({reason}); a server without TLS has a base_url of http://"
    return f"no server answers at {server} ({reason}); start one, such as `turnbuckle dev`, or correct base_url"


class Sender(Protocol):
    """Raises `httpx.RequestError` when no whole answer came; RuntimeError once closed."""

    def send(self, request: PreparedRequest) -> SenderReply: ...

    def close(self) -> None: ...


class AsyncSender(Protocol):
    """As `Sender`, awaited; usable from one event loop after another."""

    async def send(self, request: PreparedRequest) -> SenderReply: ...

    async def aclose(self) -> None: ...
