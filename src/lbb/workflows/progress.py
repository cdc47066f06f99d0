"""What a running step reports: checked, coalesced, and written one after the other (lbb-engine 5.6)."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from lbb.workflows import limits
from lbb.workflows.attempt import Attempt
from lbb.workflows.errors import WorkflowError
from lbb.workflows.json_rules import encode_within
from lbb.workflows.turn_routes import TurnRoutes


class _Unset:
    def __repr__(self) -> str:
        return "<unset>"


UNSET: Final = _Unset()

_PHASE_CHARS = 80
_UNIT_CHARS = 32
_WAITING_MAX = 32  # reports that wait to be written; past it the newest replaces the one before it
_SETTLE_SECONDS = 1.0


def progress_details(phase: str, *, done: int, total: int | None = None, unit: str | None = None) -> dict[str, Any]:
    """`{phase, done, total?, unit?}` with texts trimmed; WorkflowError for anything else than 5.6 allows."""
    details: dict[str, Any] = {"phase": _phase(phase), "done": _count(done, "done")}
    if total is not None:
        details["total"] = _count(total, "total")
    if unit is not None:
        details["unit"] = _unit(unit)
    return details


def progress_interval(every_ms: int, heartbeat_timeout_ms: int | None) -> float:
    """Seconds between two coalesced reports."""
    if heartbeat_timeout_ms is None:
        return every_ms / 1000
    return min(every_ms, max(50, heartbeat_timeout_ms // 2)) / 1000


def _phase(phase: str) -> str:
    text = phase.strip() if isinstance(phase, str) else ""
    if not 1 <= len(text) <= _PHASE_CHARS or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text):
        raise WorkflowError(
            f"a progress phase is 1 to {_PHASE_CHARS} characters without control characters, not {phase!r:.100}"
        )
    return text


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limits.WHOLE_MAX:
        raise WorkflowError(f"progress {name} is a whole number from 0 to 2^53-1, not {value!r:.100}")
    return value


def _unit(unit: str) -> str:
    text = unit.strip() if isinstance(unit, str) else ""
    if not 1 <= len(text) <= _UNIT_CHARS or not all(c.isalnum() or c in " _-" for c in text):
        raise WorkflowError(
            f"a progress unit is 1 to {_UNIT_CHARS} letters, digits, spaces, _ and -, not {unit!r:.100}"
        )
    return text


class _Report:
    """One progress write that waits. `written` is there when somebody awaits it."""

    __slots__ = ("cursor", "details", "written")

    def __init__(self, details: bytes, cursor: bytes, written: asyncio.Future[None] | None) -> None:
        self.details = details
        self.cursor = cursor
        self.written = written


class ProgressReporter:
    """The reports of one running step.

    `progress` may be called from any thread and never waits: the first call and each new phase go out at once, others
    at most once per interval, the last value wins. `heartbeat` is for the loop and returns when it is written.
    """

    def __init__(
        self,
        attempt: Attempt,
        routes: TurnRoutes,
        key: str,
        cursor: bytes,
        interval_seconds: float,
        on_written: Callable[[], None],
    ) -> None:
        self._attempt = attempt
        self._routes = routes
        self._key = key
        self._cursor = cursor
        self._interval = interval_seconds
        self._on_written = on_written
        self._loop_thread = threading.get_ident()
        self.was_used = False
        self._is_closed = False
        self._sequence = 0
        self._phase: str | None = None
        self._sent_at = 0.0  # loop time of the last progress report that went out
        self._held: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: deque[_Report] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self._lock = threading.Lock()  # guards `_from_threads`
        self._from_threads: deque[tuple[str, bytes]] = deque()

    def progress(self, phase: str, *, done: int, total: int | None = None, unit: str | None = None) -> None:
        """WorkflowError for a value that 5.6 refuses, and once the step has ended."""
        details = progress_details(phase, done=done, total=total, unit=unit)
        encoded = encode_within(details, f'step "{self._key}" progress', limits.DETAILS_BYTES).text
        self._check_open()
        if threading.get_ident() == self._loop_thread:
            self._progress(details["phase"], encoded)
        else:
            self._hand_over(details["phase"], encoded)

    def heartbeat(self, details: Any, *, checkpoint: Any = UNSET) -> Coroutine[Any, Any, None]:
        """One progress write, awaited; with `checkpoint` it sets the resume cursor. Not for step threads."""
        if threading.get_ident() != self._loop_thread:
            raise WorkflowError(
                f'step "{self._key}" called heartbeat from a thread: it is awaited on the event loop, so it is for '
                "async steps. From a sync step report with s.progress(...)"
            )
        return self._heartbeat(details, checkpoint)

    async def finish(self) -> None:
        """Write what is held and wait for all writes. The first failed write is raised here, however it was treated."""
        if self._held is not None:
            self._send_held()
        self._is_closed = True
        if self._writer is not None:
            await self._writer
        if self._error is not None:
            raise self._error

    async def settle(self) -> None:
        """The step failed: what went out already is written, for a second at most; what is held is dropped."""
        self._close()
        if self._writer is not None:
            await asyncio.wait([self._writer], timeout=_SETTLE_SECONDS)

    def close(self) -> None:
        """The step is over: nothing more is written, and further calls are refused."""
        self._close()
        self._waiting.clear()
        if self._writer is not None:
            self._writer.cancel()

    def _close(self) -> None:
        self._is_closed = True
        self._drop_held()

    def _check_open(self) -> None:
        if self._is_closed:
            raise WorkflowError(f'step "{self._key}" has ended: it can report no progress any more')

    def _hand_over(self, phase: str, details: bytes) -> None:
        with self._lock:
            is_first = not self._from_threads
            if self._from_threads and (self._from_threads[-1][0] == phase or len(self._from_threads) >= _WAITING_MAX):
                self._from_threads.pop()
            self._from_threads.append((phase, details))
        if is_first:
            self._attempt.loop.call_soon_threadsafe(self._take_over)

    def _take_over(self) -> None:
        with self._lock:
            handed, self._from_threads = self._from_threads, deque()
        for phase, details in handed:
            if not self._is_closed:
                self._progress(phase, details)

    def _progress(self, phase: str, details: bytes) -> None:
        self.was_used = True
        now = self._attempt.loop.time()
        due_in = self._sent_at + self._interval - now
        if phase != self._phase or due_in <= 0:
            self._phase = phase
            self._send_progress(details)
            return
        self._held = details
        if self._timer is None:
            self._timer = self._attempt.loop.call_later(due_in, self._send_held)

    def _send_held(self) -> None:
        if self._held is not None:
            self._send_progress(self._held)

    def _send_progress(self, details: bytes) -> None:
        self._drop_held()
        self._sent_at = self._attempt.loop.time()
        self._write_soon(details, None)

    def _drop_held(self) -> None:
        self._held = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _heartbeat(self, details: Any, checkpoint: Any) -> None:
        self._check_open()
        self.was_used = True
        encoded = encode_within(details, f'step "{self._key}" progress', limits.DETAILS_BYTES).text
        if checkpoint is not UNSET:
            self._cursor = encode_within(checkpoint, f'step "{self._key}" checkpoint', limits.CURSOR_BYTES).text
        if self._error is not None:
            raise self._error
        self._drop_held()
        written: asyncio.Future[None] = self._attempt.loop.create_future()
        await self._write_soon(encoded, written)

    def _write_soon(self, details: bytes, written: asyncio.Future[None] | None) -> asyncio.Future[None]:
        """Queue one write. A future of the report that was replaced serves the one that replaces it."""
        if self._error is not None:
            return self._attempt.loop.create_future()
        if len(self._waiting) >= _WAITING_MAX:
            written = self._waiting.pop().written or written
        self._waiting.append(_Report(details, self._cursor, written))
        if self._writer is None:
            self._writer = self._attempt.loop.create_task(self._write_all())
        return written or self._attempt.loop.create_future()

    async def _write_all(self) -> None:
        report: _Report | None = None
        try:
            while self._waiting:
                report = self._waiting.popleft()
                self._sequence += 1
                await self._routes.report(self._key, self._sequence, report.details, report.cursor)
                self._on_written()
                if report.written is not None and not report.written.done():
                    report.written.set_result(None)
        except asyncio.CancelledError as exc:
            self._refuse(exc, report)
            raise
        except BaseException as exc:  # kept for `finish`, so that nobody needs to await this task
            self._refuse(exc, report)
        finally:
            self._writer = None

    def _refuse(self, error: BaseException, report: _Report | None) -> None:
        """The rest is not written: a cursor must not overtake one that was lost."""
        self._error = error
        for written in [waiting.written for waiting in (report, *self._waiting) if waiting is not None]:
            if written is not None and not written.done():
                written.set_exception(error)
                written.exception()  # it may be awaited by nobody; `finish` raises it as well
        self._waiting.clear()
