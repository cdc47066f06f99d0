"""`turnbuckle dev --worker`: a server, and a worker beside it that is restarted when it crashes or its files change.

The worker is a module with the command `start`, and perhaps `try`, which is run before it. It is ended first, so that
it can still give back the turns it holds.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchfiles import PythonFilter, awatch

from turnbuckle.cli.child import Child, say
from turnbuckle.cli.worker_module import WorkerModule
from turnbuckle.operations.key import DEV_KEY

_LISTENING = "listening on "
_USAGE = 2  # how argparse and click end for a command that is not there
_FIRST_WAIT_S, _LAST_WAIT_S = 1.0, 30.0
_IS_WELL_S = 10.0  # a worker that ran so long had no bad start
_STOP_SERVER = (signal.SIGTERM, 15.0)
# A worker gives the turns it holds back at once, and then waits for its claim, up to 10 s. A claim whose connection
# ends gets no turn, so the second Ctrl-C loses nothing.
_STOP_WORKER = ((signal.SIGINT, 1.5), (signal.SIGINT, 5.0))
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(server: list[str], worker: WorkerModule, graph: str | None) -> int:
    """Run both until Ctrl-C or SIGTERM; the exit code, which is the server's when that ended by itself.

    `server` are the arguments of `turnbuckle` that start it. Without `graph` it is the one where the module's `try`
    puts its samples, or main for a module without samples.
    """
    return asyncio.run(_run(server, worker, graph))


async def _run(server_arguments: list[str], worker: WorkerModule, graph: str | None) -> int:
    with _stop_signals() as stop:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def seen(line: str) -> None:
            if line.startswith(_LISTENING) and not address.done():
                address.set_result(line.removeprefix(_LISTENING))

        server = await Child.start("server", [*_TURNBUCKLE, *server_arguments], _clean(os.environ), seen)
        ended = asyncio.create_task(server.wait())
        stopped = asyncio.create_task(stop.wait())
        try:
            first: list[asyncio.Future[Any]] = [address, ended, stopped]
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if address.done():
                await _beside(address.result(), worker, graph, [ended, stopped])
        finally:
            stopped.cancel()
            code = await ended if ended.done() else 0
            await server.stop(_STOP_SERVER)
        return code


_TURNBUCKLE = [sys.executable, "-m", "turnbuckle.cli"]


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """For a child: lines come when they are written, and no LBB_ variable of another server."""
    return {name: value for name, value in environment.items() if not name.startswith("LBB_")} | {
        "PYTHONUNBUFFERED": "1"
    }


async def _beside(address: str, worker: WorkerModule, graph: str | None, ends: list["asyncio.Task[Any]"]) -> None:
    """Keep the worker running until one of `ends`."""
    say(f"server {address}, key {DEV_KEY}; Ctrl-C ends server and worker")
    environment = _clean(os.environ) | {"LBB_URL": address, "LBB_API_KEY": DEV_KEY}
    paths = [str(worker.project), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = asyncio.create_task(Keeper(worker, graph, environment | {"PYTHONPATH": os.pathsep.join(paths)}).keep())
    try:
        await asyncio.wait([kept, *ends], return_when=asyncio.FIRST_COMPLETED)
        if kept.done():
            kept.result()  # it never ends by itself, so this raises
    finally:
        kept.cancel()
        await asyncio.wait([kept])


@dataclass
class Keeper:
    """Keeps one worker running."""

    worker: WorkerModule
    graph: str | None
    environment: dict[str, str]
    _graph: str = ""  # where it works now
    _wait_s: float = _FIRST_WAIT_S
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep(self) -> None:
        """Until it is cancelled: `try` and `start`, again after each change, `start` again after a crash."""
        watching = asyncio.create_task(self._watch(self.worker.watched))
        try:
            is_ready = False
            while True:
                is_ready = is_ready or await self._try()
                if is_ready and await self._start():
                    is_ready = False  # its files changed: its samples may have, too
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _try(self) -> bool:
        """Whether `start` may follow: after a success, and when the module has no such command."""
        self._changed.clear()
        self._graph = self.graph or self.worker.try_graph
        code = await self._run("try")
        if code == _USAGE:
            self._graph = self.graph or "main"
            say(f"python -m {self.worker.module} try ended with 2, as for a command it does not have; start follows")
        if code in (0, _USAGE):
            say(f"worker {self.worker.module} on graph {self._graph}")
            return True
        if code is not None:
            await self._pause(f"try ended with {code}")
        return False

    async def _start(self) -> bool:
        """Run the worker to its end; whether a change of its files ended it."""
        started_s = asyncio.get_running_loop().time()
        code = await self._run("start")
        if asyncio.get_running_loop().time() - started_s > _IS_WELL_S:
            self._wait_s = _FIRST_WAIT_S
        return code is None or await self._pause(f"the worker ended with {code}")

    async def _run(self, command: str) -> int | None:
        """The exit code of `python -m MODULE command`; None when a change of the files ended it."""
        environment = self.environment | {"LBB_GRAPH": self._graph}
        child = await Child.start("worker", [sys.executable, "-m", self.worker.module, command], environment)
        ended = asyncio.create_task(child.wait())
        changed = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait([ended, changed], return_when=asyncio.FIRST_COMPLETED)
            return await ended if ended.done() else None
        finally:
            changed.cancel()
            await child.stop(*_STOP_WORKER)
            await ended

    async def _pause(self, why: str) -> bool:
        """Wait before the next start, longer each time; whether a change of the files ended the wait."""
        say(f"{why}; again in {self._wait_s:.0f} s, or when a file changes")
        try:
            await asyncio.wait_for(self._changed.wait(), self._wait_s)
        except TimeoutError:
            self._wait_s = min(2 * self._wait_s, _LAST_WAIT_S)
            return False
        self._wait_s = _FIRST_WAIT_S
        return True

    async def _watch(self, path: Path) -> None:
        async for changes in awatch(path, watch_filter=PythonFilter()):
            names = sorted({Path(changed).name for _, changed in changes})
            say(f"changed: {', '.join(names)}")
            self._changed.set()


@contextmanager
def _stop_signals() -> Iterator[asyncio.Event]:
    """An event that is set by Ctrl-C, SIGTERM and the end of the terminal."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in _STOP_SIGNALS:
            loop.remove_signal_handler(number)
