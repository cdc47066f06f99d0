"""The processes in which code of components runs: Monty's workers, kept warm, each serving one run at a time.

A worker has no environment, no files but its own binary, and a memory limit of its own; the pool kills one that
overstays its time and starts another. What we add is what an operating system can hold against a worker that
breaks out of all that: no new files, no more memory, and behind the server in the queue for the processor.
"""

import atexit
import contextlib
import functools
import os
import sys
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from pydantic_monty import AsyncMonty, AsyncMontySession, OSPolicy, ResourceLimits

from turnbuckle.flow.sandbox.limits import SandboxLimits
from turnbuckle.flow.sandbox.pieces import pieces

# Address space of an idle worker, measured: 115 MB, 180 MB at its peak.
_IDLE_BYTES = 512 * 2**20
_NICENESS = 5
# A worker serves this many runs, then a fresh one takes over.
_RUNS_PER_WORKER = 10_000
# The clock, sleeping and chance are questions to the host, so that they can be recorded.
_ASK_THE_HOST: OSPolicy = {"datetime": "call_host", "sleep": "call_host", "random_start": "call_host"}
# Monty 1.4's own threads let go of Python objects a moment after the last answer. A process that ended within that
# moment was aborted (19 of 40 did); with a pause, none of 130. test_sandbox_run.py would see it come back.
_LET_GO_S = 0.1


@functools.cache
def _end_after_montys_threads() -> None:
    """Once per process, when the first pool is made."""
    atexit.register(time.sleep, _LET_GO_S)


class SandboxPool:
    """Workers for `run_code`. Enter it in the event loop that runs the code; leaving it ends the workers."""

    def __init__(self, processes: int | None = None, warm: int = 1) -> None:
        """`processes` at most at a time, `warm` from the start; a run beyond them waits for a free one.

        By default two for each processor and at least four, so that short code gets past code that computes.
        """
        _end_after_montys_threads()
        self._monty = AsyncMonty(
            min_processes=warm,
            max_processes=max(processes or max(4, 2 * (os.cpu_count() or 1)), warm),
            max_checkouts_per_worker=_RUNS_PER_WORKER,
        )
        self.last_worker_pid: int | None = None  # of the session that began last

    async def __aenter__(self) -> Self:
        pieces()  # read once, 60 ms, before the first run waits for it
        await self._monty.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._monty.__aexit__(kind, error, trace)

    @contextlib.asynccontextmanager
    async def session(self, limits: SandboxLimits) -> AsyncIterator[AsyncMontySession]:
        """A fresh namespace in a worker. Cancelling what runs in it kills that worker."""
        checkout = self._monty.checkout(
            script_name="code",
            limits=_resource_limits(limits),
            os_policy=_ASK_THE_HOST,
            assert_message_annotations=False,
        )
        async with checkout as session:
            self.last_worker_pid = session.worker_pid
            if self.last_worker_pid is not None:
                _bound(self.last_worker_pid, limits)
            yield session


def _resource_limits(limits: SandboxLimits) -> ResourceLimits:
    return {
        "max_feed_duration_secs": limits.time_s,
        "max_memory": limits.memory_bytes,
        "max_recursion_depth": limits.recursion_depth,
        # The run counts the questions itself and says which limit it was; this is the net below.
        "max_suspensions": 2 * limits.calls + 100,
    }


def _bound(pid: int, limits: SandboxLimits) -> None:
    """Limits of the operating system for one worker; where it has none, Monty's own stand alone.

    Set anew for every run (11 µs): a worker that died may have left its number to another.
    """
    if sys.platform != "linux":
        return
    import resource

    space = limits.memory_bytes * 2 + _IDLE_BYTES
    with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
        resource.prlimit(pid, resource.RLIMIT_AS, (space, resource.RLIM_INFINITY))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
