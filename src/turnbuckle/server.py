"""One server process: the store, the app over it, upkeep, and an orderly end."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import uvicorn

from turnbuckle import upkeep
from turnbuckle.config import Config
from turnbuckle.flow.registry import load_entry_points
from turnbuckle.flow.sandbox import check_code
from turnbuckle.flow_host import FlowHost
from turnbuckle.http.app import App
from turnbuckle.http.bounded_head import BoundedHeadProtocol
from turnbuckle.hub_keeper import HubKeeper
from turnbuckle.pump import Pump
from turnbuckle.sparql.folder import own_folder
from turnbuckle.store.database import Database, open_database

_DRAIN_S = 10  # for requests in flight; long polls are answered at once
_BACKLOG = 2_048
Ready = Callable[[str], None]


def serve(
    config: Config, ready: Ready, prepare: Callable[[Database], None] | None = None, *, is_fresh: bool = False
) -> None:
    """Serve until SIGTERM or SIGINT, then answer what is in flight and close the store.

    `ready` is called with the address once requests are taken; `prepare` with the open store before that.
    `is_fresh` removes what the SQLite store had. Raises OSError when the address is taken, CannotOpen when another
    server has the store: neither removes anything.
    """
    with (
        contextlib.closing(socket.create_server((config.host, config.port), backlog=_BACKLOG)) as listening,
        _only_server(config, is_fresh),
        contextlib.closing(open_database(config.store)) as database,
        own_folder(config.index_folder) as index,
    ):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # without uvloop nobody else does that
        if prepare is not None:
            prepare(database)
        with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
            runner.run(_serve(App(database, config, index, check_code), listening, ready))


def _only_server(config: Config, is_fresh: bool) -> AbstractContextManager[None]:
    """PostgreSQL keeps several servers apart by its own locks; their long polls do not hear of each other yet."""
    if config.database is not None:
        return contextlib.nullcontext()
    from turnbuckle.store.one_server import only_server

    return only_server(config.store, empty=is_fresh)


async def _serve(app: App, listening: socket.socket, ready: Ready) -> None:
    load_entry_points()  # the check of definitions knows them too
    app.bind(asyncio.get_running_loop())
    work: list[asyncio.Task[None]] = [asyncio.create_task(upkeep.run(app.store))]
    flow = FlowHost(app.store, is_only_server=app.config.database is None)
    if app.config.workflows:
        pump = Pump(app.store)
        app.room.follow(pump.hear)
        keeper = HubKeeper(app.store)
        app.room.follow(keeper.hear)
        work += [asyncio.create_task(loop) for loop in (pump.run(), keeper.run())]

    def listens(address: str) -> None:
        ready(address)
        if app.config.workflows and app.config.flow:
            work.append(asyncio.create_task(flow.run(_local(listening))))

    try:
        await _Server(app, listening, listens, flow).serve(sockets=[listening])
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await app.activities.aclose()
        await app.outside.aclose()
        app.close()


class _Server(uvicorn.Server):
    """uvicorn that says when it listens, and whose stop signals also end the long polls."""

    def __init__(self, app: App, listening: socket.socket, ready: Ready, flow: FlowHost) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedHeadProtocol,
                lifespan="off",
                access_log=False,
                proxy_headers=False,
                log_config=None,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=_DRAIN_S,
            )
        )
        self._app = app
        self._address = "http://{}:{}".format(*listening.getsockname()[:2])
        self._ready = ready
        self._flow = flow
        self._drain: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready(self._address)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first SIGTERM or SIGINT drains, a second one gives up on what is in flight."""
        loop, numbers = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        """The flow worker is drained first: it needs the server to save what it finishes (decision 42)."""
        if self._drain is not None:
            self.should_exit = self.force_exit = True
            return
        self._flow.stop()
        self._app.room.close()
        self._drain = asyncio.create_task(self._drained())

    async def _drained(self) -> None:
        try:
            await self._flow.drain()
        finally:
            self.should_exit = True


def _local(listening: socket.socket) -> str:
    """The server's own address: one that listens everywhere is asked at the loopback."""
    host, port = listening.getsockname()[:2]
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    host = everywhere.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
