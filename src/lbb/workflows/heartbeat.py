"""Renews the leases of all held turns, whatever the worker's event loop does (lbb-engine 5.4, decision 4).

A thread of its own runs a private event loop, on which the client opens its own connections. A loop, and not one
blocking request after another, so that a server that hangs delays no other turn's renewal: thirty-two timeouts run side
by side. With a `transport=`, which belongs to the worker's loop, the same code runs there as a task.
"""

import asyncio
import logging
import threading
import time
from typing import TYPE_CHECKING

from lbb.workflows.attempt import Attempt, End
from lbb.workflows.failure import describe
from lbb.workflows.loop_watch import LoopWatch
from lbb.workflows.turn_routes import heartbeat_options, send_heartbeat

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

logger = logging.getLogger("lbb.workflows")

_MIN_INTERVAL_SECONDS = 0.020
_MIN_TIMEOUT_MS = 50
# Renewals due within this are sent together, so that many held turns do not wake the thread one by one.
_GRAIN_SECONDS = 0.005
_LOOK_SECONDS = 0.5  # the longest pause while turns are held: the loop is looked at this often
_STOP_SECONDS = 1.0
_NEVER = float("inf")


class Heartbeats:
    """`hold` a turn to keep its lease, `drop` it before its last request. The first `hold` starts them."""

    def __init__(self, client: "AsyncLbbClient", *, stall_limit_seconds: float = 300.0) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_loop = client._transport_given
        watch = None if self._on_loop else LoopWatch(self._loop, stall_limit_seconds)
        self._renewals = Renewals(client, watch)
        self._ended: asyncio.Future[None] | None = None

    def hold(self, attempt: Attempt) -> None:
        self._renewals.hold(attempt)
        if self._ended is None:
            self._start()

    def drop(self, attempt: Attempt) -> None:
        self._renewals.drop(attempt)

    async def stop(self) -> None:
        """Send no more; returns when the thread has closed its connections, or after a second."""
        self._renewals.close()
        if self._ended is not None:
            await asyncio.wait([self._ended], timeout=_STOP_SECONDS)

    def _start(self) -> None:
        if self._on_loop:
            self._ended = self._loop.create_task(self._renewals.serve())
            return
        self._ended = self._loop.create_future()
        threading.Thread(target=self._serve_in_thread, name="lbb-heartbeats", daemon=True).start()

    def _serve_in_thread(self) -> None:
        ended = self._ended
        assert ended is not None
        try:
            asyncio.run(self._renewals.serve())  # also closes the client's connections of this loop
        finally:
            try:
                self._loop.call_soon_threadsafe(ended.set_result, None)
            except RuntimeError:
                logger.debug("the worker's loop was closed before its heartbeats ended")


class _Beat:
    """When a held turn's lease is renewed next."""

    __slots__ = ("attempt", "due_at", "interval", "timeout")

    def __init__(self, attempt: Attempt) -> None:
        lease_ms = attempt.task.lease_ms
        self.attempt = attempt
        self.interval = max(_MIN_INTERVAL_SECONDS, lease_ms / 3000)
        self.timeout = max(_MIN_TIMEOUT_MS, lease_ms // 3) / 1000
        self.due_at = attempt.renewed_at + self.interval


class Renewals:
    """The held leases and when each is renewed. `serve` runs on one loop; the rest may be called from other threads."""

    def __init__(self, client: "AsyncLbbClient", watch: LoopWatch | None) -> None:
        self._client = client
        self._watch = watch
        self._lock = threading.Lock()  # guards the four below
        self._held: dict[Attempt, _Beat] = {}
        self._wakes_at = 0.0  # monotonic; 0 until `serve` has looked for the first time
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False
        self._wake = asyncio.Event()
        self._was_idle = False
        self._sending: set[asyncio.Task[None]] = set()

    def hold(self, attempt: Attempt) -> None:
        """Renew this lease every third of it from now on."""
        beat = _Beat(attempt)
        with self._lock:
            self._held[attempt] = beat
            if beat.due_at < self._wakes_at:
                self._wake_up()

    def drop(self, attempt: Attempt) -> None:
        """Send no more for this turn. The answer of a heartbeat on its way does not count."""
        with self._lock:
            self._held.pop(attempt, None)

    def close(self) -> None:
        with self._lock:
            self._is_closing = True
            self._wake_up()

    async def serve(self) -> None:
        """Runs until `close`. Should it ever fail, the held turns are given up rather than kept by nobody."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
        try:
            while not self._is_closing:
                pause = self._beat(time.monotonic())
                await self._pause(pause)
            if self._watch is not None:
                self._watch.look((), time.monotonic())
        except Exception as exc:
            logger.exception("the heartbeats failed; the held turns are given up")
            self._give_up(f"the heartbeats failed: {describe(exc)}")
        finally:
            with self._lock:
                self._loop = None
            for sending in self._sending:
                sending.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    def _beat(self, now: float) -> float:
        """Send what is due. How long to pause, in seconds."""
        with self._lock:
            held = list(self._held.values())
            due = [beat for beat in held if beat.due_at <= now + _GRAIN_SECONDS]
            for beat in due:
                beat.due_at = _NEVER  # until it is answered
            next_at = min((beat.due_at for beat in held), default=_NEVER)
            self._wakes_at = min(next_at, self._looks_at(bool(held), now))
        # Also when nothing is held: a block may have ended together with the turn that caused it.
        if self._watch is not None and not self._watch.look([beat.attempt for beat in held], now):
            self._give_up("the worker's event loop has not run for too long")
            return self._wakes_at - now
        for beat in due:
            self._send(beat)
        return self._wakes_at - now

    def _looks_at(self, is_holding: bool, now: float) -> float:
        """When to look again though nothing is due. Idle only after two empty looks: between two short turns, the next
        `hold` should not have to wake the thread."""
        is_idle, self._was_idle = self._was_idle and not is_holding, not is_holding
        return _NEVER if is_idle else now + _LOOK_SECONDS

    def _send(self, beat: _Beat) -> None:
        sending = asyncio.get_running_loop().create_task(self._renew(beat))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _renew(self, beat: _Beat) -> None:
        left_at = time.monotonic()
        try:
            async with asyncio.timeout(beat.timeout):
                await send_heartbeat(self._client, beat.attempt, heartbeat_options(beat.timeout))
        except Exception as exc:
            self._lose(beat.attempt, f"a heartbeat failed: {describe(exc)}")
            return
        beat.attempt.renewed_at = left_at
        with self._lock:
            beat.due_at = left_at + beat.interval
            if beat.due_at < self._wakes_at:
                self._wake.set()

    def _give_up(self, reason: str) -> None:
        with self._lock:
            attempts = list(self._held)
        for attempt in attempts:
            self._lose(attempt, reason)

    def _lose(self, attempt: Attempt, reason: str) -> None:
        """End this one attempt. A turn that was dropped meanwhile has sent its last request and does not care."""
        with self._lock:
            was_held = self._held.pop(attempt, None) is not None
        if was_held:
            attempt.stop_from_thread(End.LOST, reason)

    async def _pause(self, seconds: float) -> None:
        self._wake.clear()
        if self._is_closing:
            return
        try:
            async with asyncio.timeout(None if seconds == _NEVER else seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    def _wake_up(self) -> None:
        """Called with the lock held. Before `serve` runs, and after its loop has ended, there is nobody to wake."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake.set)
