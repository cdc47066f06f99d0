"""The index as the server sees it: a process that is there when it is needed, and queries with a limit.

A query over its time costs the process, as nothing else stops pyoxigraph. The others that ran are sent again to the
next process, which opens the stores as they were saved: that takes some tenths of a second.
"""

import asyncio
import logging
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from turnbuckle.sparql import frames as f
from turnbuckle.sparql.process import CannotStart, Process, ProcessEnded

log = logging.getLogger("turnbuckle.sparql")
_GRAPH = re.compile("[0-9a-f]{16}")  # a graph's id
YOUNG = 4  # queries of less than a second that run at once
RUNNING = 16  # with the slow ones
_YOUNG_S = 1.0
_ABANDONED_S = 0.3  # what nobody waits for may take to stop by itself
_TRIES = 4  # of a query whose process ended


class TimeOver(Exception):
    """The query ran over its limit."""


class TooBusy(Exception):
    """No place became free among the running queries."""


class Crashed(Exception):
    """The process ended under the query again and again. `is_guilty`: it was the only one that ran."""

    def __init__(self, is_guilty: bool) -> None:
        super().__init__("the index process ended while the query ran")
        self.is_guilty = is_guilty


@dataclass(frozen=True)
class Limits:
    query_s: float = 10.0
    wait_s: float = 10.0
    memory_bytes: int = 4 << 30


@dataclass(eq=False)
class _Running:
    call: int
    answer: "asyncio.Future[f.Answer]"
    is_young: bool = True


@dataclass
class Tries:
    """How a query has fared so far."""

    ended: int = 0  # processes under it
    suspicions: int = 0  # of them by themselves, so that it may be the reason

    def count(self, ended: ProcessEnded) -> None:
        """Crashed when another try is not worth it."""
        self.ended += 1
        if not ended.by_us:
            self.suspicions += 1
            if self.suspicions > 1 and ended.open_calls == 1:
                raise Crashed(is_guilty=True) from ended
        if self.ended >= _TRIES:
            raise Crashed(is_guilty=False) from ended


class Index:
    """Started by the first call. `generation` counts processes: what an earlier one had open is closed."""

    def __init__(self, folder: Path | None, limits: Limits) -> None:
        """Without a folder it has one that goes with it."""
        self._folder = folder
        self._end_folder: Callable[[], object] = _nothing
        self.limits = limits
        self.generation = 0
        self._process: Process | None = None
        self._starting = asyncio.Lock()
        self._young = asyncio.Semaphore(YOUNG)
        self._all = asyncio.Semaphore(RUNNING)
        self._suspects = asyncio.Lock()
        self._running: set[_Running] = set()
        self.is_closed = False

    async def process(self) -> Process:
        """The process that runs now. CannotStart."""
        async with self._starting:
            if self.is_closed:
                raise CannotStart("the index is closed")
            if self._process is None or self._process.has_ended:
                self._process = await Process.start(self._made_folder(), self.limits.memory_bytes)
                self.generation += 1
            return self._process

    @property
    def is_up(self) -> bool:
        return self._process is not None and not self._process.has_ended

    async def call(self, request: f.Request) -> f.Answer:
        """For what takes no query's place. ProcessEnded, CannotStart."""
        return _of_open_store(await (await self.process()).call(request))

    async def query(self, query: f.Query, tries: Tries) -> f.Answer:
        """Run it once. Suspects go one by one, so that the guilty one is found.

        TimeOver, TooBusy; ProcessEnded when it is worth another try with the same `tries`, else Crashed.
        """
        if not tries.suspicions:
            return await self._in_a_place(query, tries)
        async with self._suspects:
            return await self._in_a_place(query, tries)

    def close(self) -> None:
        """End the process. What it knew is on the disk, or in the store of the server."""
        self.is_closed = True
        if self._process is not None and not self._process.has_ended:
            self._process.kill()
        self._end_folder()

    def _made_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="turnbuckle-index-"))
            self._end_folder = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    async def forget(self, graph: str) -> None:
        """Remove what is saved of a graph: the process ended over it, or cannot read it."""
        if self._process is not None and not self._process.has_ended:
            self._process.kill()
        await asyncio.to_thread(shutil.rmtree, self._made_folder() / graph, ignore_errors=True)

    def graphs(self) -> set[str]:
        """Whose stores are on the disk."""
        return {path.name for path in self._made_folder().iterdir() if path.is_dir() and _GRAPH.fullmatch(path.name)}

    async def remove(self, graphs: set[str]) -> None:
        """Remove what is saved of graphs that nobody asks for any more."""
        for graph in graphs:
            await asyncio.to_thread(shutil.rmtree, self._made_folder() / graph, ignore_errors=True)

    # -- one query -----------------------------------------------------------------------------------------------

    async def _in_a_place(self, query: f.Query, tries: Tries) -> f.Answer:
        process = await self.process()
        running = await self._start(process, query)
        try:
            answer = await self._answer(process, running)
        except ProcessEnded as ended:
            tries.count(ended)
            raise
        except asyncio.CancelledError:
            self._abandon(process, running)
            raise
        finally:
            self._running.discard(running)
            self._all.release()
            self._pass_on(running)
        return _of_open_store(answer)

    async def _start(self, process: Process, query: f.Query) -> _Running:
        try:
            async with asyncio.timeout(self.limits.wait_s):
                await self._all.acquire()
                try:
                    await self._young.acquire()
                except BaseException:
                    self._all.release()
                    raise
        except TimeoutError:
            raise TooBusy from None
        try:
            running = _Running(*process.send(query))
        except ProcessEnded:
            self._all.release()
            self._young.release()
            raise
        self._running.add(running)
        return running

    def _pass_on(self, running: _Running) -> None:
        if running.is_young:
            running.is_young = False
            self._young.release()

    async def _answer(self, process: Process, running: _Running) -> f.Answer:
        young_s = min(_YOUNG_S, self.limits.query_s)
        await asyncio.wait([running.answer], timeout=young_s)
        if not running.answer.done():
            self._pass_on(running)  # it is slow: let others have its place
            await asyncio.wait([running.answer], timeout=self.limits.query_s - young_s)
        if not running.answer.done():
            log.warning("a query ran over %g s: the index process is ended and started again", self.limits.query_s)
            running.answer.cancel()
            process.kill()
            raise TimeOver
        return running.answer.result()

    def _abandon(self, process: Process, running: _Running) -> None:
        """The client has gone: let the process stop at the next row, or end it, at once when it serves nobody else."""

        def end(is_last_call: bool = False) -> None:
            if running.answer.done() or process.has_ended:
                return
            if is_last_call or not self._running:
                process.kill()
            else:
                loop.call_later(self.limits.query_s, end, True)

        if not running.answer.done() and not process.has_ended:
            loop = asyncio.get_running_loop()
            process.send(f.Cancel(running.call))
            loop.call_later(_ABANDONED_S, end)


def _of_open_store(answer: f.Answer) -> f.Answer:
    """ProcessEnded when the store was opened in a process before this one."""
    if isinstance(answer, f.Failed) and answer.kind == "closed":
        raise ProcessEnded(by_us=True)
    return answer


def _nothing() -> None:
    """The folder is somebody else's."""
