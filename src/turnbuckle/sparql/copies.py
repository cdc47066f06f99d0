"""Stores at old commits: a few copies of graphs' stores, each moved back and forth to where it is needed.

A copy costs a millisecond to make and little memory, as the files of a store that never change are shared. Moving it
costs what changed on the way. One that is being read stays where it is.
"""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from turnbuckle.graph.projection import seq_of
from turnbuckle.sparql import frames as f
from turnbuckle.sparql.index import Index, TooBusy
from turnbuckle.sparql.process import CannotStart, ProcessEnded

log = logging.getLogger("turnbuckle.sparql")
COPIES_MAX = 4  # of all graphs together
# (graph, the copy's number, from point, to point): moves the copy, or leaves it to be thrown away.
Move = Callable[[str, int, str, str], Awaitable[None]]


@dataclass(eq=False)
class _Copy:
    number: int
    graph: str
    point: str
    generation: int  # of the process that has it
    moving_to: str | None = None
    users: int = 0
    used: int = 0  # the higher, the later

    @property
    def is_idle(self) -> bool:
        return self.users == 0 and self.moving_to is None


class Copies:
    def __init__(self, index: Index, move: Move) -> None:
        self._index = index
        self._move = move
        self._copies: list[_Copy] = []
        self._numbers = itertools.count(1)
        self._uses = itertools.count(1)
        self._changed = asyncio.Condition()
        self._moves: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def at(self, graph: str, point: str, head: str) -> AsyncIterator[int]:
        """The number of a copy that is at `point` and stays there. The graph's own store is at `head`.

        TooBusy when that takes too long; a copy that is on its way goes on. What moving and copying raise.
        """
        try:
            async with asyncio.timeout(self._index.limits.wait_s):
                copy = await self._take(graph, point, head)
        except TimeoutError:
            raise TooBusy from None
        try:
            yield copy.number
        finally:
            async with self._changed:
                copy.users -= 1
                self._changed.notify_all()

    async def _take(self, graph: str, point: str, head: str) -> _Copy:
        async with self._changed:
            while True:
                copy = await self._pick(graph, point, head)
                if copy is not None and copy.point == point:
                    copy.users += 1
                    copy.used = next(self._uses)
                    return copy
                if copy is not None:
                    self._send(copy, point)
                await self._changed.wait()

    async def _pick(self, graph: str, point: str, head: str) -> _Copy | None:
        """One that is there, the idle one that is nearest, or a new one; None when there is none to have yet."""
        self._copies = [copy for copy in self._copies if copy.generation == self._index.generation]
        ours = [copy for copy in self._copies if copy.graph == graph]
        if (there := next((copy for copy in ours if copy.point == point), None)) is not None:
            return there
        if any(copy.moving_to == point for copy in ours):
            return None
        is_full = len(self._copies) >= COPIES_MAX
        nearest = min((copy for copy in ours if copy.is_idle), key=lambda copy: _way(copy.point, point), default=None)
        if nearest is not None and (is_full or _way(nearest.point, point) <= _way(head, point)):
            return nearest
        if is_full:
            unused = [copy for copy in self._copies if copy.is_idle]
            if not unused:
                return None
            await self._drop(min(unused, key=lambda copy: copy.used))
        return await self._new(graph)

    def _send(self, copy: _Copy, point: str) -> None:
        """Move it in a task of its own: what it has done so far is not lost with a client that goes."""
        from_point, copy.point, copy.moving_to = copy.point, "", point
        task = asyncio.create_task(self._bring(copy, from_point, point))
        self._moves.add(task)
        task.add_done_callback(self._moves.discard)

    async def _bring(self, copy: _Copy, from_point: str, point: str) -> None:
        try:
            await self._move(copy.graph, copy.number, from_point, point)
            copy.point = point
        except (ProcessEnded, CannotStart):
            pass  # it went with its process
        except Exception:  # it stopped half way: another one may fare better
            log.exception("a copy of the index could not be moved")
            await self._index.call(f.Drop(copy.number))
        finally:
            copy.moving_to = None
            if copy.point != point and copy in self._copies:
                self._copies.remove(copy)
            async with self._changed:
                self._changed.notify_all()

    async def _new(self, graph: str) -> _Copy:
        number, generation = next(self._numbers), self._index.generation
        answer = await self._index.call(f.Copy(graph, number))
        if not isinstance(answer, f.Done):
            raise f.Unexpected(answer)
        copy = _Copy(number, graph, answer.point, generation)
        self._copies.append(copy)
        return copy

    async def _drop(self, copy: _Copy) -> None:
        self._copies.remove(copy)
        await self._index.call(f.Drop(copy.number))


def _way(from_point: str, to_point: str) -> int:
    return abs(seq_of(from_point) - seq_of(to_point)) if from_point else 0
