"""The clocks and the dice of a client, and the fixed timings (blobhub 4.12). Tests bring their own."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

API_TIMEOUT_SECONDS = 30.0
PART_TIMEOUT_SECONDS = 300.0
POLL_SECONDS = 2.0
EXECUTION_WAIT_SECONDS = 900.0
OPERATION_WAIT_SECONDS = 600.0  # also of revisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    sleep: Callable[[float], None] = time.sleep  # seconds
    clock: Callable[[], float] = time.monotonic  # seconds
    wall_clock: Callable[[], float] = time.time  # Unix seconds
    rng: Callable[[], float] = random.random  # 0 <= x < 1
