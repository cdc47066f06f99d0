"""The loop that ends what is to end in the second API: runs that were stopped, sessions that close, old sessions.

Woken when an execution ends or is told to stop, else it looks five times a second: a component that runs on after a
stop has 5 s, which no commit announces. Each piece is one operation, so a server that is killed loses nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import anonymous, hub_definition, hub_ending, hub_fire, hub_turn
from turnbuckle.store.database import Lane
from turnbuckle.store.transaction import Announcement, Transaction
from turnbuckle.wire.errors import Refused

log = logging.getLogger("turnbuckle.hub_keeper")
EVERY_S = 0.2
FIRE_EVERY_S = 0.5
CLEAN_EVERY_S = 60.0
_PIECES = (
    (hub_ending.settle_stopping, Lane.TURNS),
    (hub_ending.tell_of_ends, Lane.TURNS),
    (hub_ending.settle_sessions, Lane.BULK),
)
_CLEANING = (
    (hub_ending.expire_sessions, Lane.BULK),
    (anonymous.remove_expired, Lane.BULK),
    (hub_definition.remove_unused_documents, Lane.BULK),
    (hub_fire.forget_old, Lane.BULK),
)
Piece = Callable[[Transaction], bool]


class HubKeeper:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._called = asyncio.Event()

    def hear(self, announcements: list[Announcement]) -> None:
        """Work at once when something was left to do."""
        if any(topic == hub_turn.TOPIC for topic, _ in announcements):
            self._called.set()

    async def run(self) -> None:
        """For ever, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_for_ever(self._settle_when_called))
            tasks.create_task(_for_ever(self._fire_when_due))
            tasks.create_task(_for_ever(self._clean_now_and_then))

    async def _settle_when_called(self) -> None:
        try:
            async with asyncio.timeout(EVERY_S):
                await self._called.wait()
        except TimeoutError:
            pass  # it is time to look
        self._called.clear()
        await self.settle()

    async def _fire_when_due(self) -> None:
        await asyncio.sleep(FIRE_EVERY_S)
        await self.fire()

    async def _clean_now_and_then(self) -> None:
        await asyncio.sleep(CLEAN_EVERY_S)
        await self.clean()

    async def settle(self) -> None:
        """Everything that can be done now."""
        if await self._store.read(hub_ending.has_work):
            for piece, lane in _PIECES:
                await self._until_done(piece, lane)

    async def fire(self) -> None:
        """Start the executions of schedules that are due. What one of them meets does not keep the others."""
        for graph_id, schedule_id in await self._store.read(hub_fire.due):
            try:
                await self._store.write(partial(hub_fire.fire, graph_id=graph_id, schedule_id=schedule_id), Lane.TURNS)
            except Refused:  # the store is in trouble
                raise
            except Exception:
                log.exception("hub: the schedule %s cannot fire", schedule_id)

    async def clean(self) -> None:
        for piece, lane in _CLEANING:
            await self._until_done(piece, lane)

    async def _until_done(self, piece: Piece, lane: Lane) -> None:
        while await self._store.write(piece, lane):
            pass


async def _for_ever(work: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await work()
        except Refused as refused:  # the store is in trouble: say so and try again
            log.warning("hub: %s", refused)
            await asyncio.sleep(EVERY_S)
        except Exception:  # a row that cannot be read must not end all of it until the next start
            log.exception("hub: an error of its own")
            await asyncio.sleep(EVERY_S)
