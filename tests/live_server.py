"""A server on a free loopback port, in a thread of the test's process: for what needs real connections."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import uvicorn

from turnbuckle.config import Config
from turnbuckle.http.app import App
from turnbuckle.operations import key as keys
from turnbuckle.store.database import Database, write
from turnbuckle.store.key import Grant

KEY = "lbb_sk_test_of_the_live_server"
HEADERS = {"authorization": f"Bearer {KEY}"}


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # they belong to the process of the tests


@contextlib.contextmanager
def live_server(database: Database) -> Iterator[str]:
    """The URL where it listens."""
    write(database, lambda tx: keys.add(tx, KEY, "live server", Grant("test", "user", "admin")))
    app = App(database, Config(mode="dev"))
    server = _Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False))
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        # asyncio does so only for sockets it made itself; without it each answer waits 40 ms for its second part.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=lambda: asyncio.run(_serve(server, app, listening)))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


async def _serve(server: uvicorn.Server, app: App, listening: socket.socket) -> None:
    app.bind(asyncio.get_running_loop())
    with contextlib.closing(app):
        await server.serve(sockets=[listening])
