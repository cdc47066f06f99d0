"""Threads for sync step functions (lbb-engine 5.5, decision 5).

A thread runs one call at a time. A held turn awaits its steps one after the other, so there are never more threads
than held turns, but for the abandoned ones: a thread cannot be killed, so one whose caller was cancelled (the step
timed out, the turn was lost or released) runs on alone, and the next call gets another. All are daemons, which the
process does not wait for at its end; `concurrent.futures` would.
"""

import asyncio
import contextvars
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

logger = logging.getLogger("lbb.workflows")

Result = TypeVar("Result")


class StepThreads:
    """`await run(fn)` on a thread. `abandoned` counts the threads that were left to themselves and still run."""

    def __init__(self) -> None:
        self._idle: list[_StepThread] = []
        self._abandoned: set[_StepThread] = set()

    @property
    def abandoned(self) -> int:
        self._abandoned = {thread for thread in self._abandoned if thread.is_busy}
        return len(self._abandoned)

    async def run(self, fn: Callable[[], Result], name: str) -> Result:
        """`fn()` on a thread, in a copy of the context. Cancelled, it returns at once and the thread is abandoned."""
        thread = self._idle.pop() if self._idle else _StepThread()
        answer = thread.call(fn)
        try:
            result: Result = await answer
        except asyncio.CancelledError:
            self._abandon(thread, name)
            raise
        except BaseException:
            self._idle.append(thread)
            raise
        self._idle.append(thread)
        return result

    def close(self) -> None:
        """Let the idle threads end."""
        while self._idle:
            self._idle.pop().leave()

    def _abandon(self, thread: "_StepThread", name: str) -> None:
        if not thread.leave_after_call():
            self._idle.append(thread)
            return
        self._abandoned.add(thread)
        logger.warning("%s was ended, but its thread cannot be: %d such threads run on", name, self.abandoned)


class _StepThread:
    """One daemon thread. Its calls come from one loop at a time."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.is_busy = False
        threading.Thread(target=self._serve, name="lbb-step", daemon=True).start()

    def call(self, fn: Callable[[], Any]) -> asyncio.Future[Any]:
        call = _Call(fn)
        self.is_busy = True
        self._calls.put(call)
        return call.answer

    def leave(self) -> None:
        self._calls.put(None)

    def leave_after_call(self) -> bool:
        """End with the call that runs. False when it has just ended: the thread is as good as new."""
        with self._lock:
            if self.is_busy:
                self.leave()
            return self.is_busy

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            deliver = call.run()
            with self._lock:
                self.is_busy = False
            call.post(deliver)
            del call, deliver  # an idle thread must not keep a turn's values alive


class _Call:
    """A function on its way through a thread, and the future its caller awaits."""

    def __init__(self, fn: Callable[[], Any]) -> None:
        self._fn = fn
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self.answer: asyncio.Future[Any] = self._loop.create_future()

    def run(self) -> Callable[[], None]:
        """Call the function, here in the thread. What remains to be done on the loop."""
        try:
            result = self._context.run(self._fn)
        except StopIteration as exc:  # no future can hold one
            error: BaseException = RuntimeError("the step function raised StopIteration")
            error.__cause__ = exc
        except BaseException as exc:
            error = exc
        else:
            return lambda: None if self.answer.done() else self.answer.set_result(result)
        return lambda: None if self.answer.done() else self.answer.set_exception(error)

    def post(self, deliver: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(deliver)
        except RuntimeError:
            logger.debug("a step function ended after its worker's loop was closed; its result is dropped")
