"""Waiting for an event with a deadline: the suite never sleeps for a time and hopes."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

_LOOK_EVERY_S = 0.01


def wait_until(is_so: Callable[[], bool], within_s: float, what: str) -> None:
    """AssertionError that names `what` when it is not so in time."""
    ends_at = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > ends_at:
            raise AssertionError(f"not within {within_s} s: {what}")
        time.sleep(_LOOK_EVERY_S)


async def until(is_so: Callable[[], Awaitable[bool]], within_s: float, what: str, every_s: float = 0.02) -> None:
    """The same in a loop, for what is asked of a server."""
    ends_at = time.monotonic() + within_s
    while not await is_so():
        if time.monotonic() > ends_at:
            raise AssertionError(f"not within {within_s} s: {what}")
        await asyncio.sleep(every_s)


def slack_s() -> float:
    """What a promised time may be late by: a second, and more while other processes want the processors too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
