"""Requests that wait for what is not there yet: a claim for a turn, a reader for a turn's end.

Enter the waiting room, look, wait; look again. What comes after the first look is announced.
"""

import asyncio
from collections.abc import Awaitable, Callable

from turnbuckle.http.served import Served
from turnbuckle.http.store import AsyncStore
from turnbuckle.http.waiting import WaitingRoom
from turnbuckle.operations import turn
from turnbuckle.store.transaction import Topic, Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.turn import WorkflowTurn, WorkflowTurnClaimRequest, WorkflowTurnClaimResponse, WorkflowTurnQuery

Gone = Callable[[], Awaitable[None]]  # returns when the client has closed the connection
Look = Callable[[], Awaitable[bool]]


class LongPoll:
    def __init__(self, store: AsyncStore, room: WaitingRoom, served: Served) -> None:
        self._store = store
        self._room = room
        self._served = served

    async def claim(self, graph_id: str, request: WorkflowTurnClaimRequest, gone: Gone) -> WorkflowTurnClaimResponse:
        """The next ready turn, waited for up to wait_ms. A connection that has closed is given none.

        Refused(stopping) when the server stops: the worker's next call would not be answered.
        """
        if self._room.is_closed:
            raise Refused("stopping", "the server stops and hands out no more turns")

        def try_claim(tx: Transaction) -> tuple[WorkflowTurnClaimResponse, int]:
            return turn.claim(tx, graph_id, request), tx.now_ms

        response, now_ms = await self._store.write(try_claim)
        self._served.note(graph_id, request, now_ms)
        if response.task is not None or request.wait_ms == 0:
            return response
        topics = turn.ready_topics(graph_id, request)
        visit = _Visit(self._room, topics, request.wait_ms, gone)
        async with visit:
            while response.task is None and await visit.wait(lambda: self._is_ready(topics)):
                response, _ = await self._store.write(try_claim)
            if response.task is not None:
                visit.pass_on()  # several may have become ready at one alarm
        return response

    async def _is_ready(self, topics: list[Topic]) -> bool:
        """Whether a reader sees a ready turn; else an alarm is set for the next one."""
        now_ms, times = await self._store.glance(lambda tx: (tx.now_ms, turn.next_ready_at(tx, topics)))
        for topic, at_ms in times:
            if at_ms <= now_ms:
                return True
            self._room.expect(topic, at_ms - now_ms)
        return False

    async def finished(self, graph_id: str, query: WorkflowTurnQuery, gone: Gone) -> WorkflowTurn:
        """The turn, as soon as it has finished or after wait_ms (decision 45). A failure is told when it is settled."""

        async def look() -> WorkflowTurn:
            shown = await self._store.read(lambda tx: turn.get(tx, graph_id, query))
            if shown.status != "failed":
                return shown
            return await self._store.write(lambda tx: turn.get_settled(tx, graph_id, query))

        async def has_ended() -> bool:
            status = await self._store.glance(lambda tx: turn.status(tx, graph_id, query))
            return turn.has_ended(status if status != "failed" else (await look()).status)

        if query.wait_ms > 0:
            topic = ("finished", graph_id, query.id, str(query.turn))
            async with _Visit(self._room, [topic], query.wait_ms, gone) as visit:
                await visit.wait(has_ended)
        return await look()


class _Visit:
    """One request in the waiting room, until its time is up, its client is gone or the server stops."""

    def __init__(self, room: WaitingRoom, topics: list[Topic], wait_ms: int, gone: Gone) -> None:
        self._room = room
        self._topics = topics
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + min(wait_ms, limits.POLL_MS) / 1_000

    async def __aenter__(self) -> "_Visit":
        self._connection = asyncio.ensure_future(self._gone())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._connection.cancel()

    async def wait(self, look: Look) -> bool:
        """Whether it is worth looking again. Only the wait has an end, never a claim: its task would be lost."""
        waiter = self._room.enter(self._topics)
        goes_on = False
        try:
            if not await look():
                left = max(0.0, self._until - self._loop.time())
                await asyncio.wait({waiter.called, self._connection}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                goes_on = waiter.called.done()
            else:
                goes_on = True
            goes_on = goes_on and not self._connection.done() and not self._room.is_closed
            return goes_on
        finally:
            self._room.leave(waiter, used_call=goes_on)

    def pass_on(self) -> None:
        self._room.call_another(self._topics)
