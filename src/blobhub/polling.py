"""Waiting for something on the server (blobhub 4.10)."""

from collections.abc import Callable
from typing import TypeVar

from blobhub.errors import WaitTimeout
from blobhub.timing import Timing

T = TypeVar("T")


def poll(look: Callable[[], T | None], *, timeout: float, interval: float, timing: Timing, what: str) -> T:
    """What `look` gives once it is not None, asked every `interval` seconds.

    It looks at least once, and the last sleep may go past the end by up to one interval. WaitTimeout after `timeout`
    seconds.
    """
    deadline = timing.clock() + timeout
    while True:
        found = look()
        if found is not None:
            return found
        if timing.clock() >= deadline:
            raise WaitTimeout("wait_timeout", f"{what} did not end within {timeout:g} s; it goes on")
        timing.sleep(interval)
