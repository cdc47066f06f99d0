"""Notices code that blocks the worker's event loop. Runs on the heartbeat thread.

Its question is a callback that the loop answers as soon as it runs again.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lbb.workflows.attempt import Attempt

logger = logging.getLogger("lbb.workflows")

_NOTICE_SECONDS = 1.0
_STILL_BLOCKED_SECONDS = 60.0  # told of by now even when the block never ends
_NAMED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Blocker:
    """What ran when the loop did not answer. `step_key` is None outside of a step, `attempt` outside of any turn."""

    attempt: Attempt | None
    step_key: str | None


class LoopWatch:
    """`look` at the loop now and then; it says whether leases may be kept.

    They are kept for as long as a *step* blocks the loop, since the server ends the step by its own deadline, and for
    `stall_limit_seconds` otherwise.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stall_limit_seconds: float,
        *,
        running_task: Callable[[], asyncio.Task[object] | None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop = loop
        self._stall_limit = stall_limit_seconds
        self._running_task = running_task or (lambda: asyncio.current_task(loop))
        self._monotonic = monotonic
        self._asked_at: float | None = None
        self._answered_at: float | None = None
        self._blocker: Blocker | None = None
        self._named: set[tuple[str, ...]] = set()

    def look(self, held: Collection[Attempt], now: float) -> bool:
        """False when the loop has not run for too long outside of a step: the held turns should go elsewhere."""
        if self._answered_at is not None and self._asked_at is not None:
            self._warn(self._answered_at - self._asked_at)
            self._asked_at = self._answered_at = self._blocker = None
        if self._asked_at is None:
            if held:
                self._ask(now)
            return True
        blocked = now - self._asked_at
        if blocked >= _notice_seconds(held) and self._blocker is None:
            self._blocker = self._find(held)
        if blocked >= _STILL_BLOCKED_SECONDS:
            self._warn(blocked)
        is_in_step = self._blocker is not None and self._blocker.step_key is not None
        return is_in_step or blocked < self._stall_limit

    def _ask(self, now: float) -> None:
        self._asked_at = now
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # the loop is closed: the worker has ended without stopping us
            self._asked_at = None

    def _answer(self) -> None:
        self._answered_at = self._monotonic()

    def _find(self, held: Collection[Attempt]) -> Blocker:
        task = self._running_task()
        for attempt in held:
            if task is not None and task in (attempt.step_task, attempt.handler):
                return Blocker(attempt, attempt.step_key)
        in_step = [attempt for attempt in held if attempt.step_key is not None]
        if task is not None and len(in_step) == 1:  # a task that the step's function made
            return Blocker(in_step[0], in_step[0].step_key)
        return Blocker(None, None)

    def _warn(self, blocked: float) -> None:
        """Once per step: a loop of turns with one bad step must not fill the log."""
        blocker = self._blocker
        if blocker is None:
            return
        task = blocker.attempt.task if blocker.attempt is not None else None
        where = (task.workflow_type, task.version, blocker.step_key or "") if task is not None else ()
        if where in self._named or len(self._named) >= _NAMED_MAX:
            return
        self._named.add(where)
        logger.warning(
            "%s blocked the event loop for %.3g s. Its lease was kept, but no other turn of this worker could go on: "
            "await what blocks, or make it a sync step function, which runs in a thread",
            _named(blocker),
            blocked,
        )


def _notice_seconds(held: Collection[Attempt]) -> float:
    """A third of the shortest lease, at most a second: from then on a heartbeat on the loop would have been late."""
    return min(_NOTICE_SECONDS, *(attempt.task.lease_ms / 3000 for attempt in held), _NOTICE_SECONDS)


def _named(blocker: Blocker) -> str:
    if blocker.attempt is None:
        return "Code outside of the held turns"
    turn = f"turn {blocker.attempt.task.name} ({blocker.attempt.task.workflow_type})"
    return f"The handler of {turn}" if blocker.step_key is None else f'Step "{blocker.step_key}" of {turn}'
