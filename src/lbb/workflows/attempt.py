"""One attempt of a held turn: whether this worker may still act for it.

The heartbeat thread may end an attempt while the loop is blocked, and step threads ask whether it was ended. So the
reason is one attribute, written once; everything else happens on the worker's loop.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from lbb.workflows.errors import TurnStopped
from lbb.workflows.task import Task

logger = logging.getLogger("lbb.workflows")

# A frozen process may find its lease over before the heartbeats tell. Past this it does not begin another effect.
_OVERDUE_SECONDS = 1.0


class End(Enum):
    """Why an attempt is over in this worker, and what is sent then."""

    LOST = "lost"  # nothing: another attempt may hold the turn
    TIMED_OUT = "timed out"  # nothing: the server's own deadline ends the attempt
    RELEASED = "released"  # one fail that hands the turn back
    OVER = "over"  # nothing more: the handler has ended


@dataclass(frozen=True, slots=True)
class Stop:
    end: End
    reason: str


class Attempt:
    """`check()` before each durable call; `stop()` ends it, from the loop or, `from_thread`, from anywhere."""

    def __init__(self, task: Task, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.task = task
        self.loop = asyncio.get_running_loop()
        self.handler: asyncio.Task[object] | None = None
        self.step_key: str | None = None  # the step whose function runs
        self.step_task: asyncio.Task[object] | None = None  # where it was called: the handler's or a child of it
        self.on_stop: Callable[[End], None] | None = None  # called on the loop
        self.renewed_at = monotonic()  # when the last accepted heartbeat, at first the claim, is known to have left
        self._monotonic = monotonic
        self._stop: Stop | None = None

    @property
    def stopped(self) -> Stop | None:
        return self._stop

    def check(self) -> None:
        """TurnStopped when the attempt is over. Every call of ctx asks this first, so a caught one is raised again."""
        if self._stop is None and self._is_overdue():
            self.stop(End.LOST, "its lease ran out without a heartbeat")
        if self._stop is not None:
            raise TurnStopped(self.task.name, self._stop.reason)

    def stop(self, end: End, reason: str) -> None:
        """End the attempt and cancel its handler at its next await. The first reason is kept."""
        if self._stop is None:
            self._set(Stop(end, reason))
            self._unwind()

    def stop_from_thread(self, end: End, reason: str) -> None:
        """As `stop`: the next durable call is refused even while the loop is blocked."""
        if self._stop is None:
            self._set(Stop(end, reason))
            self.loop.call_soon_threadsafe(self._unwind)

    def _set(self, stop: Stop) -> None:
        self._stop = stop
        if stop.end is End.LOST:  # nothing else tells: a lost turn sends nothing, and its next holder completes it
            logger.warning("turn %s is given up: %s", self.task.name, stop.reason)

    def _unwind(self) -> None:
        assert self._stop is not None
        for task in {self.handler, self.step_task}:
            if task is not None and not task.done():
                task.cancel(self._stop.reason)
        if self.on_stop is not None:
            self.on_stop(self._stop.end)

    def _is_overdue(self) -> bool:
        return self._monotonic() > self.renewed_at + self.task.lease_ms / 1000 + _OVERDUE_SECONDS
