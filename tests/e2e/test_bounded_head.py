"""A request whose head does not end: it comes before any key, so it must not fill the memory."""

import contextlib
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.test_one_server import WAIT_S, dev
from turnbuckle.wire.limits import HEAD_BYTES, KIB

_PIECE_BYTES = 256 * KIB  # what a loop reads at once
_STARTS = [b"GET /", b"GET /health HTTP/1.1\r\nhost: x\r\nx-a: ", b"GET /health HTTP/1.1\r\nhost: x\r\n"]
_PIECES = [b"a" * _PIECE_BYTES, b"a" * _PIECE_BYTES, b"x-b: b\r\n" * (_PIECE_BYTES // 8)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with dev(tmp_path_factory.mktemp("store")) as client:
        yield client


@pytest.mark.parametrize(
    ("start", "piece"), list(zip(_STARTS, _PIECES, strict=True)), ids=["line", "header", "headers"]
)
def test_a_head_without_an_end_ends_the_connection(client: httpx.Client, start: bytes, piece: bytes) -> None:
    pieces = 0
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=WAIT_S) as connection:
        connection.sendall(start)
        with contextlib.suppress(ConnectionError):
            while pieces < 100:
                connection.sendall(piece)
                pieces += 1

    assert pieces < 100
    assert client.get("/health").status_code == 200


def test_a_head_within_its_limit_may_come_in_pieces(client: httpx.Client) -> None:
    head = (
        b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-a: " + b"a" * (HEAD_BYTES - 2 * KIB) + b"\r\n\r\n"
    )
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=WAIT_S) as connection:
        for at in range(0, len(head), 8 * KIB):
            connection.sendall(head[at : at + 8 * KIB])

        assert connection.recv(15) == b"HTTP/1.1 200 OK"
