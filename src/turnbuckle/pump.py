"""The loop that lets triggers do their work: after each commit, when a shard has room again, and every second.

Everything is done in operations, a bounded piece each, so that several servers, or a server that is killed, never
send twice: what a piece read, what waits and what was sent move in one transaction.
"""

import asyncio
import logging
from functools import partial

from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import named, sender
from turnbuckle.store.database import Lane
from turnbuckle.store.transaction import Announcement
from turnbuckle.wire.errors import Refused

log = logging.getLogger("turnbuckle.pump")
EVERY_S = 1.0  # what another server has committed is seen by looking; so is what was waiting for its time
FIRST_PIECE = 64  # what a commit usually wakes, sent among the turns
NEXT_PIECE = 1_000  # the rest, behind them (decision 17)
_LONGEST_PAUSE_S = 60.0  # before a trigger that fails is tried again
_TOPICS = frozenset({"committed", sender.TOPIC})
Place = tuple[str, str]  # graph id, name of the workflow


class Pump:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._called = asyncio.Event()
        self._failing: dict[Place, tuple[float, float]] = {}  # when to try again, and the pause before that

    def hear(self, announcements: list[Announcement]) -> None:
        """Work when something may be there to read or to send."""
        if not self._called.is_set() and any(_concerns(topic) for topic, _ in announcements):
            self._called.set()

    async def run(self) -> None:
        """For ever, until cancelled."""
        while True:
            self._called.clear()
            try:
                is_busy = await self.work()
            except Refused as refused:  # the store is in trouble: say so and try again
                log.warning("triggers: %s", refused)
                is_busy = False
            except Exception:  # a row that cannot be read must not end all triggers until the next start
                log.exception("the triggers met an error of their own")
                is_busy = False
            if not is_busy:
                await self._rest()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(EVERY_S):
                await self._called.wait()
        except TimeoutError:
            pass  # the second is over

    async def work(self) -> bool:
        """One piece for every trigger that waits, and another for those that were not done; whether any is not."""
        waiting = [place for place in await self._store.read(named.waiting) if self._may_try(place)]
        busy = [place for place in waiting if await self._advance(place, FIRST_PIECE, Lane.TURNS)]
        more = [place for place in busy if await self._advance(place, NEXT_PIECE, Lane.BULK)]
        return bool(more)

    async def _advance(self, place: Place, most: int, lane: Lane) -> bool:
        """A trigger that fails keeps no other from its work."""
        graph_id, name = place
        try:
            may_go_on = await self._store.write(partial(named.advance, graph_id=graph_id, name=name, most=most), lane)
        except Exception as exc:
            log.exception("the trigger of the workflow %s failed", name)
            await self._note(place, exc)
            return False
        self._failing.pop(place, None)
        return may_go_on

    def _may_try(self, place: Place) -> bool:
        return place not in self._failing or asyncio.get_running_loop().time() >= self._failing[place][0]

    async def _note(self, place: Place, exc: Exception) -> None:
        """For the person who looks at the workflow. The next try comes later each time."""
        graph_id, name = place
        pause_s = min(_LONGEST_PAUSE_S, 2 * self._failing.get(place, (0.0, EVERY_S / 2))[1])
        self._failing[place] = (asyncio.get_running_loop().time() + pause_s, pause_s)
        error = f"{type(exc).__name__}: {exc}"
        await self._store.write(partial(named.note_failure, graph_id=graph_id, name=name, error=error))


def _concerns(topic: tuple[str, ...]) -> bool:
    """A commit, new settings, or the end of a turn that makes room in the window of a shard."""
    return topic[0] in _TOPICS or (topic[0] == "finished" and topic[2].startswith("starter."))
