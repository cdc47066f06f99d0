"""The database as the event loop sees it: await an operation; a whole group of commits wakes the loop once."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from turnbuckle.store.database import Database, Job, Lane, Sink
from turnbuckle.store.transaction import Transaction

T = TypeVar("T")


class AsyncStore:
    """Made on its loop."""

    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop) -> None:
        self.database = database
        self._loop = loop
        self._thread = threading.get_ident()
        self._sink: Sink = self._wake  # one object: finished jobs are grouped by their sink

    async def write(self, operation: Callable[[Transaction], T], lane: Lane = Lane.TURNS) -> T:
        """The operation's answer, when what it wrote is durable."""
        future: asyncio.Future[T] = self._loop.create_future()
        self.database.submit(Job(operation, self._sink, future, lane))
        return await future

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        future: asyncio.Future[T] = self._loop.create_future()
        self.database.submit_read(Job(operation, self._sink, future))
        return await future

    async def glance(self, operation: Callable[[Transaction], T]) -> T:
        """A read of a few rows by key, which may run on the loop: nothing large, nothing a user's values make large."""
        future: asyncio.Future[T] = self._loop.create_future()
        self.database.submit_glance(Job(operation, self._sink, future))
        return await future

    def _wake(self, jobs: list[Job]) -> None:
        if threading.get_ident() == self._thread:
            _settle(jobs)
        else:
            self._loop.call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.handle.done():  # the request was cancelled; what it wrote stays written
            continue
        if job.error is None:
            job.handle.set_result(job.result)
        else:
            job.handle.set_exception(job.error)
