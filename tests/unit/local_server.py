"""A real HTTP server on a loopback port, small enough to misbehave on purpose: one thread per connection."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

CLOSED = "closed"  # what a behaviour returns to end the connection


@dataclass(frozen=True)
class Received:
    line: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[socket.socket, Received], str | None]


class LocalServer:
    """Answers each request as `behave` does; `connections` counts those accepted, `closed` those that ended."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.received: list[Received] = []
        self.connections = 0
        self.closed = threading.Semaphore(0)
        self._open: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def hang_up(self) -> None:
        """Close all connections now, as a server does with idle ones. They are closed when this returns."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            self.closed.acquire()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listening.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                self._open.add(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while (received := _received(connection)) is not None:
                self.received.append(received)
                if self.behave(connection, received) == CLOSED:
                    break
        self._open.discard(connection)
        self.closed.release()


def _received(connection: socket.socket) -> Received | None:
    with connection.makefile("rb", buffering=0) as stream:
        lines = []
        while line := _line(stream.read):
            lines.append(line)
        if not lines:
            return None
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        return Received(lines[0], headers, _exactly(stream.read, int(headers.get("content-length", 0))))


def _line(read: Callable[[int], bytes | None]) -> str:
    line = b""
    while not line.endswith(b"\r\n") and (byte := read(1)):
        line += byte
    return line.decode().strip()


def _exactly(read: Callable[[int], bytes | None], count: int) -> bytes:
    body = b""
    while len(body) < count and (part := read(count - len(body))):
        body += part
    return body


def answer(connection: socket.socket, body: bytes, *headers: str, status: str = "200 OK") -> None:
    head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers]
    connection.sendall("\r\n".join([*head, "", ""]).encode() + body)


def echo(connection: socket.socket, received: Received) -> None:
    """The request as it came, as JSON."""
    shown = {"line": received.line, "headers": received.headers, "bytes": len(received.body)}
    answer(connection, json.dumps(shown).encode(), "X-Request-Id: req_1", "Lbb-Version: 2026-10-21")


@contextmanager
def local_server(behave: Behaviour = echo) -> Iterator[LocalServer]:
    server = LocalServer(behave)
    try:
        yield server
    finally:
        server.close()
