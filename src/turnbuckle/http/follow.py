"""Keep the SPARQL index at the heads of its graphs, and its copies where they are needed.

One task per graph reads what changed from the store, in pieces, and brings it to the index process. What the process
has and the graph's history has not is made anew: the store was restored from a backup, or a file is damaged.
"""

import asyncio
import logging
from functools import partial

from turnbuckle.graph.projection import seq_of
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import point as points
from turnbuckle.operations import projected
from turnbuckle.sparql import frames as f
from turnbuckle.sparql.copies import Copies
from turnbuckle.sparql.index import Index
from turnbuckle.sparql.process import ProcessEnded

log = logging.getLogger("turnbuckle.sparql")
_WAKE_S = 0.2
_LOAD_BYTES = 16 * 1024 * 1024  # of one piece of a rebuild


class Follower:
    def __init__(self, store: AsyncStore, index: Index) -> None:
        self.index = index
        self.copies = Copies(index, self._move)
        self._store = store
        self._heads: dict[str, tuple[int, str]] = {}  # graph -> generation of the process, point of its store
        self._tasks: dict[str, asyncio.Task[str]] = {}
        self._woken: set[str] = set()
        self._is_swept = False
        self._forgetting: set[asyncio.Task[f.Answer]] = set()

    async def head(self, graph_id: str, at_least: str) -> str:
        """The point that the graph's store is at, which is `at_least` or a later one.

        TimeoutError when that takes longer than a query may wait: it goes on meanwhile. ProcessEnded, CannotStart.
        """
        known = self._heads.get(graph_id)
        if known is not None and known[0] == self.index.generation and self.index.is_up and _has(known[1], at_least):
            return known[1]
        return await asyncio.wait_for(asyncio.shield(self._start(graph_id)), self.index.limits.wait_s)

    def wake(self, graph_id: str) -> None:
        """The graph has a new commit: follow soon, together with those that come until then."""
        if graph_id not in self._woken and graph_id not in self._tasks:
            self._woken.add(graph_id)
            asyncio.get_running_loop().call_later(_WAKE_S, self._start_woken, graph_id)

    def forget(self, graph_id: str) -> None:
        """The graph was deleted: nobody asks for it by its id again."""
        self._heads.pop(graph_id, None)
        if self.index.is_up:
            task = asyncio.create_task(self.index.call(f.Forget(graph_id)))
            self._forgetting.add(task)
            task.add_done_callback(self._forgotten)

    def _forgotten(self, task: asyncio.Task[f.Answer]) -> None:
        self._forgetting.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("a deleted graph's index stays until the next start: %s", task.exception())

    def _start_woken(self, graph_id: str) -> None:
        self._woken.discard(graph_id)
        if not self.index.is_closed:
            self._start(graph_id)

    def _start(self, graph_id: str) -> asyncio.Task[str]:
        if (task := self._tasks.get(graph_id)) is None:
            task = self._tasks[graph_id] = asyncio.create_task(self._follow(graph_id))
            task.add_done_callback(partial(self._done, graph_id))
        return task

    def _done(self, graph_id: str, task: asyncio.Task[str]) -> None:
        self._tasks.pop(graph_id, None)
        if task.cancelled() or self.index.is_closed:
            return
        if (error := task.exception()) is not None and not isinstance(error, ProcessEnded):
            log.error("the index of a graph cannot follow: %s", error, exc_info=error)

    # -- one graph -----------------------------------------------------------------------------------------------

    async def _follow(self, graph_id: str) -> str:
        await self._sweep()
        await self.index.process()
        generation = self.index.generation
        here = await self._opened(graph_id)
        while True:
            there = await self._store.read(partial(points.head, graph_id=graph_id))
            if here == there:
                self._heads[graph_id] = (generation, here)
                return here
            try:
                here = await self._step(graph_id, f.HEAD, here, there)
            except (LookupError, f.Unexpected) as exc:
                log.warning("the index of a graph is made anew: %s", exc)
                here = await self._rebuild(graph_id, there)

    async def _sweep(self) -> None:
        """Once: remove the stores of graphs that are gone, or of another store that had this folder."""
        if not self._is_swept:
            self._is_swept = True
            saved = self.index.graphs()
            await self.index.remove(saved - await self._store.read(points.graphs_known))

    async def _opened(self, graph_id: str) -> str:
        """The point of the graph's store; one that cannot be opened is removed, so that it is made anew."""
        known = self._heads.get(graph_id)
        if known is not None and known[0] == self.index.generation:
            return known[1]
        answer = await self._open(graph_id)
        if not isinstance(answer, f.Done):
            raise f.Unexpected(answer)
        return answer.point or await self._rebuild(
            graph_id, await self._store.read(partial(points.head, graph_id=graph_id))
        )

    async def _open(self, graph_id: str) -> f.Answer:
        """Files that end the process twice, by itself, are taken for damaged."""
        ended = 0
        while True:
            try:
                return await self.index.call(f.Open(graph_id))
            except ProcessEnded as exc:
                ended += not exc.by_us  # a query over its time may have taken it down
            if ended == 2:
                log.warning("the index of a graph cannot be opened and is made anew")
                await self.index.forget(graph_id)

    async def _rebuild(self, graph_id: str, point: str) -> str:
        await self._call(f.Rebuild(graph_id))
        place: projected.Place | None = projected.Place()
        piece: list[bytes] = []
        while place is not None:
            page = await self._store.read(partial(projected.page, graph_id=graph_id, point=point, place=place))
            piece.append(page.text)
            place = page.next
            if sum(map(len, piece)) > _LOAD_BYTES or place is None:
                await self._call(f.Load(graph_id, b"".join(piece)))
                piece = []
        await self._call(f.Finish(graph_id, point))
        return point

    async def _step(self, graph_id: str, copy: int, here: str, there: str) -> str:
        step = await self._store.read(partial(projected.step, graph_id=graph_id, from_point=here, to_point=there))
        changes = f.Changes(step.removed, step.added, step.removed_quads, step.added_quads)
        await self._call(f.Apply(graph_id, copy, here, step.point, changes))
        return step.point

    async def _move(self, graph_id: str, copy: int, here: str, there: str) -> None:
        while here != there:
            here = await self._step(graph_id, copy, here, there)

    async def _call(self, request: f.Request) -> None:
        answer = await self.index.call(request)
        if not isinstance(answer, f.Done):
            raise f.Unexpected(answer)


def _has(point: str, at_least: str) -> bool:
    return point == at_least or seq_of(point) > seq_of(at_least)
