"""The store's time in milliseconds: one clock for every lease, timer and deadline (decision 15)."""

import threading
import time
from collections.abc import Callable

Clock = Callable[[], int]


class ProcessClock:
    """Wall time that never goes back and never stands still.

    When the wall clock is set back, time goes on at the pace of the monotonic clock from where it was: a frozen
    clock would keep every lease alive for ever. When it is set forward, time follows. `start_ms` is the latest time
    that the store has seen, so the same holds over a restart.
    """

    def __init__(self, start_ms: int = 0) -> None:
        self._lock = threading.Lock()
        self._last_ms = start_ms
        self._last_tick_ns = time.monotonic_ns()

    def __call__(self) -> int:
        with self._lock:
            tick_ns = time.monotonic_ns()
            passed_ms = (tick_ns - self._last_tick_ns) // 1_000_000
            self._last_ms += passed_ms
            self._last_tick_ns += passed_ms * 1_000_000  # the rest of a millisecond counts at the next look
            wall_ms = time.time_ns() // 1_000_000
            if wall_ms > self._last_ms:
                self._last_ms, self._last_tick_ns = wall_ms, tick_ns
            return self._last_ms
