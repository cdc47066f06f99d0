"""The worker: claims turns of its workflows and runs them (lbb-engine 5.1, 5.2, 5.10)."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lbb.workflows.claim import claim, claim_body
from lbb.workflows.definition import WorkflowDefinition
from lbb.workflows.ending import failure_body
from lbb.workflows.errors import WorkflowError
from lbb.workflows.heartbeat import Heartbeats
from lbb.workflows.serving import Serving
from lbb.workflows.step_threads import StepThreads
from lbb.workflows.stop_signals import stop_signals
from lbb.workflows.task import Task
from lbb.workflows.turn_parts import WorkerParts
from lbb.workflows.turn_routes import send_failure
from lbb.workflows.turn_run import RELEASE_TIMEOUT_SECONDS, TurnRun, release_failure

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

logger = logging.getLogger("lbb.workflows")

# What cancelled tasks and open connections get at the end of `run`, so that the process ends soon after a release.
_LEFT_OVER_SECONDS = 0.3
_CLOSE_SECONDS = 0.5


class WorkflowWorker:
    """Runs the turns of `definitions`, at most `concurrency` at once, each in its own asyncio task.

    `worker` is the name the server shows; it gives no rights. `drain_seconds` is what held turns get after a stop.
    `execution_reads` gives `ctx.sparql`. `progress_every_ms` is the interval of coalesced progress, `claim_wait_ms` how
    long a claim waits at the server. WorkflowError for no definition, two of one name and version, and bad values.
    """

    def __init__(
        self,
        client: "AsyncLbbClient",
        definitions: Iterable[WorkflowDefinition],
        *,
        worker: str,
        concurrency: int = 1,
        execution_reads: bool = False,
        progress_every_ms: int = 3_000,
        drain_seconds: float = 30.0,
        claim_wait_ms: int = 10_000,
    ) -> None:
        if not isinstance(worker, str) or not worker:
            raise WorkflowError(f"worker is a name that is not empty, not {worker!r:.100}")
        self._client = client
        self._worker = worker
        self._concurrency = _whole(concurrency, 1, "concurrency")
        self._execution_reads = execution_reads
        self._progress_every_ms = _whole(progress_every_ms, 1, "progress_every_ms")
        self._drain_seconds = drain_seconds
        self._claim_wait_ms = _whole(claim_wait_ms, 0, "claim_wait_ms")
        self._definitions: dict[tuple[str, str], WorkflowDefinition] = {}
        self._serving: Serving | None = None
        for definition in definitions:
            self.register(definition)
        if not self._definitions:
            raise WorkflowError("a worker needs at least one workflow definition")

    @property
    def concurrency(self) -> int:
        return self._concurrency

    def register(self, definition: WorkflowDefinition) -> None:
        """Serve one more workflow; the next claim names it. WorkflowError for a name and version served already."""
        if not isinstance(definition, WorkflowDefinition):
            raise WorkflowError(f"a worker serves what @workflow has made, not {definition!r:.100}")
        pair = (definition.name, definition.version)
        if pair in self._definitions:
            raise WorkflowError(f'workflow "{definition.name}" version "{definition.version}" is registered twice')
        # A new mapping, so that a claim that is just being written in another thread is not disturbed.
        self._definitions = {**self._definitions, pair: definition}

    def run(self) -> None:
        """Serve until SIGTERM, Ctrl-C or `stop()`, in an event loop of its own.

        SIGTERM drains, a second one releases the held turns at once, as Ctrl-C does; one more Ctrl-C ends the process.
        Off the main thread no signal handler is installed.
        """
        early: list[float | None] = []  # stops that came before the loop ran
        loop = asyncio.new_event_loop()

        def stop(drain_seconds: float | None) -> None:
            if self._serving is None:
                early.append(drain_seconds)
            self.stop(drain_seconds=drain_seconds)

        try:
            with stop_signals(loop, drain=lambda: stop(None), release=lambda: stop(0)):
                loop.run_until_complete(self._serve(early))
        finally:
            _close(loop)

    async def run_async(self) -> None:
        """Serve in the running loop until `stop()`. Raises the refusal of a claim that cannot pass."""
        await self._serve([])

    async def run_once(self, *, wait_ms: int = 0) -> bool:
        """Claim one turn and run it to its end; False when none was ready. Errors are raised."""
        parts = self._make_parts()
        try:
            task = await self._claim(wait_ms)
            if task is None:
                return False
            await self._begin(parts, task).run()
            return True
        finally:
            await _close_parts(parts)

    def stop(self, *, drain_seconds: float | None = None) -> None:
        """Stop claiming; held turns may finish within `drain_seconds`, the rest is released. From any thread.

        A second call without argument, and 0, release at once. No effect while the worker does not serve.
        """
        serving = self._serving
        if serving is not None:
            serving.loop.call_soon_threadsafe(serving.stop, drain_seconds)

    async def _serve(self, early_stops: list[float | None]) -> None:
        if self._serving is not None:
            raise WorkflowError("this worker serves already")
        parts = self._make_parts()
        self._serving = serving = Serving(
            concurrency=self._concurrency,
            drain_seconds=self._drain_seconds,
            claim=lambda waits: self._claim(self._claim_wait_ms if waits else 0),
            begin=lambda task: self._begin(parts, task),
            hand_back=self._hand_back,
        )
        served = ", ".join(f"{name}@{version}" for name, version in self._definitions)
        logger.info("worker %r serves %s, from %s", self._worker, served, self._client.base_url)
        for drain_seconds in early_stops:
            serving.stop(drain_seconds)
        try:
            await serving.serve()
        finally:
            self._serving = None
            await _close_parts(parts)

    async def _claim(self, wait_ms: int) -> Task | None:
        body = claim_body(self._worker, self._definitions.values(), wait_ms, wants_credential=self._execution_reads)
        return await claim(self._client, body, wait_ms)

    def _begin(self, parts: WorkerParts, task: Task) -> TurnRun:
        definition = self._definitions.get((task.workflow_type, task.version))
        if definition is None:
            raise WorkflowError(f'this worker has no workflow "{task.workflow_type}" version "{task.version}"')
        return TurnRun(parts, task, definition)

    async def _hand_back(self, task: Task) -> None:
        body = failure_body(task, release_failure(self._client._now_ms()))
        await send_failure(self._client, body, RELEASE_TIMEOUT_SECONDS)

    def _make_parts(self) -> WorkerParts:
        return WorkerParts(
            client=self._client,
            heartbeats=Heartbeats(self._client),
            threads=StepThreads(),
            progress_every_ms=self._progress_every_ms,
            execution_reads=self._execution_reads,
        )


async def _close_parts(parts: WorkerParts) -> None:
    parts.threads.close()
    await parts.heartbeats.stop()


def _whole(value: int, at_least: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise WorkflowError(f"{name} is a whole number of at least {at_least}, not {value!r:.100}")
    return value


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """End what is left in the loop, within bounds: a handler that catches its cancellation must not hold the process.

    Finishing the asynchronous generators closes the client's connections of this loop.
    """
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            done, _ = loop.run_until_complete(asyncio.wait(left, timeout=_LEFT_OVER_SECONDS))
            for task in done:
                if not task.cancelled():
                    task.exception()
        loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), _CLOSE_SECONDS))
    finally:
        loop.close()
