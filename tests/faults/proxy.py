"""A TCP proxy before a server, which can lose one chosen request or the reply to it, and remembers what went through.

It reads HTTP/1.1 with content-length, which is all that our clients and our server write. One thread per connection.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Self

TURNS = "/v1/workflows/turns/"


@dataclass
class Exchange:
    """One request as it came, and what the server answered: nothing when it never got there."""

    method: str
    path: str  # without the query
    body: bytes
    status: int | None = None
    answer: bytes = b""
    was_lost: bool = False  # the client was not told
    at: int = 0  # order of arrival, over all connections

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Meant = Callable[[Exchange], bool]


@dataclass
class _Loss:
    path: str
    meant: Meant
    reaches_server: bool
    is_silent: bool
    left: int


@dataclass(eq=False)
class _Connection:
    client: socket.socket
    server: socket.socket | None = None
    lines: list[BinaryIO] = field(default_factory=list)

    def close(self) -> None:
        for end in (self.client, self.server):
            if end is not None:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


class Proxy:
    """`address` instead of the server's. `seen` holds the finished exchanges, `pending` those without an answer yet."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.seen: list[Exchange] = []
        self.pending: list[Exchange] = []
        self._lock = threading.Lock()  # guards the lists and the losses
        self._losses: list[_Loss] = []
        self._connections: set[_Connection] = set()
        self._arrived = 0
        self._accepting = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._accepting.start()

    # -- the levers ----------------------------------------------------------------------------------------------

    def lose_reply(self, path: str, *, times: int = 1, meant: Meant = lambda _: True, is_silent: bool = False) -> None:
        """The server does what it was asked, the client is not told: its connection ends, or it hears nothing."""
        self._lose(_Loss(path, meant, True, is_silent, times))

    def lose_request(
        self, path: str, *, times: int = 1, meant: Meant = lambda _: True, is_silent: bool = False
    ) -> None:
        """The server never hears of it."""
        self._lose(_Loss(path, meant, False, is_silent, times))

    # -- looking -------------------------------------------------------------------------------------------------

    def of(self, path: str) -> list[Exchange]:
        """The finished exchanges of a route, in order of arrival."""
        with self._lock:
            return sorted((e for e in self.seen if e.path == path), key=lambda exchange: exchange.at)

    def waiting(self, path: str) -> int:
        """How many requests of a route are at the server now."""
        with self._lock:
            return sum(exchange.path == path for exchange in self.pending)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._connections):
            connection.close()
        self._accepting.join(5)

    # -- inside --------------------------------------------------------------------------------------------------

    def _lose(self, loss: _Loss) -> None:
        with self._lock:
            self._losses.append(loss)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # closed
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = _Connection(client)
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: _Connection) -> None:
        try:
            requests = connection.client.makefile("rb")
            while (request := _read(requests)) is not None and self._pass_on(connection, *request):
                pass
        except OSError:
            pass  # either side has gone: the other is told by the close below
        finally:
            connection.close()
            self._connections.discard(connection)

    def _pass_on(self, connection: _Connection, head: bytes, body: bytes) -> bool:
        """One exchange. Whether the connection goes on."""
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        exchange = Exchange(method, target.partition("?")[0], body)
        loss = self._begin(exchange)
        try:
            reply = None if loss is not None and not loss.reaches_server else _ask(connection, self._port, head + body)
        finally:
            self._end(exchange)
        if reply is not None:
            exchange.status, exchange.answer = int(reply[0].split(b" ", 2)[1]), reply[1]
        with self._lock:
            self.seen.append(exchange)
        if loss is not None:
            exchange.was_lost = True
            if loss.is_silent:
                connection.client.recv(1)  # until the client gives up
            return False
        if reply is None:
            return False
        connection.client.sendall(reply[0] + reply[1])
        return True

    def _begin(self, exchange: Exchange) -> _Loss | None:
        with self._lock:
            self._arrived += 1
            exchange.at = self._arrived
            self.pending.append(exchange)
            for loss in self._losses:
                if loss.left and loss.path == exchange.path and loss.meant(exchange):
                    loss.left -= 1
                    return loss
        return None

    def _end(self, exchange: Exchange) -> None:
        with self._lock:
            self.pending.remove(exchange)


def _ask(connection: _Connection, port: int, request: bytes) -> tuple[bytes, bytes] | None:
    """Head and body of the server's answer; None when it ended the connection instead."""
    if connection.server is None:
        connection.server = socket.create_connection(("127.0.0.1", port), timeout=5)
        connection.server.settimeout(None)
        connection.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.lines.append(connection.server.makefile("rb"))
    connection.server.sendall(request)
    return _read(connection.lines[0])


def _read(lines: BinaryIO) -> tuple[bytes, bytes] | None:
    """Head and body of the next message; None at the end of the connection."""
    head, length = b"", 0
    while (line := lines.readline()) not in (b"\r\n", b""):
        head += line
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if line == b"":
        return None
    body = lines.read(length)
    return (head + line, body) if len(body) == length else None
