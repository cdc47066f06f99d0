"""An ASGI request as the app reads it: headers, query, a body of bounded size, and whether the client has gone."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from turnbuckle.wire.errors import Refused

Receive = Callable[[], Awaitable[dict[str, Any]]]


class Request:
    def __init__(self, scope: dict[str, Any], receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.raw_path: bytes = scope.get("raw_path") or self.path.encode()  # with its percent signs
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self._lines: list[tuple[bytes, bytes]] = scope["headers"]
        self.query_string: bytes = scope["query_string"]
        self._receive = receive

    def header(self, name: bytes) -> str | None:
        """Without the blanks around it. Refused(invalid_request) when it is there twice: a proxy may see the other."""
        if name not in self.headers:
            return None
        if sum(line == name for line, _ in self._lines) > 1:
            shown = name.decode()
            raise Refused("invalid_request", f"{shown}: got the header twice, expected it once", param=shown)
        return self.headers[name].decode("latin-1").strip(" \t")

    def query(self) -> dict[str, str]:
        """Refused(invalid_request) when it is no UTF-8 or names a parameter twice."""
        if not self.query_string:
            return {}
        try:
            pairs = parse_qsl(self.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
        except UnicodeDecodeError as exc:
            raise Refused("invalid_request", "query: got bytes that are no UTF-8, expected UTF-8") from exc
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Refused("invalid_request", "query: got a parameter twice, expected each once")
        return found

    async def body(self, most_bytes: int) -> bytes:
        """Refused(payload_too_large) as soon as more than that is announced or has come."""
        announced = self.headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > most_bytes:
            raise _too_large(int(announced), most_bytes)
        chunks, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > most_bytes:
                raise _too_large(size, most_bytes)
            if not message.get("more_body", False):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def gone(self) -> None:
        """Returns when the client has closed the connection. Only after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class ClientGone(Exception):
    """The connection closed before the whole request was there."""


def _too_large(size: int, most_bytes: int) -> Refused:
    return Refused("payload_too_large", f"body: got {size} bytes, expected at most {most_bytes}", param="body")
