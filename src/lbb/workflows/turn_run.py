"""One claimed turn, from its handler to the request that ends it (lbb-engine 5.3, 5.8, 5.9)."""

import asyncio
import logging
from typing import Any

from lbb.errors import LbbError
from lbb.workflows import running
from lbb.workflows.attempt import Attempt, End
from lbb.workflows.context import WorkflowContext
from lbb.workflows.definition import WorkflowDefinition, WorkflowResult, accepted
from lbb.workflows.ending import Completion, Reports, failure_body
from lbb.workflows.errors import WorkflowError
from lbb.workflows.failure import Failure, failure_of, waiting
from lbb.workflows.replay import Replay
from lbb.workflows.results import RunResultsCollector
from lbb.workflows.running import RunningTurn, current_turn
from lbb.workflows.task import Task
from lbb.workflows.turn_parts import TurnParts, WorkerParts
from lbb.workflows.turn_routes import TurnRoutes, send_failure

logger = logging.getLogger("lbb.workflows")

# How long a cancelled handler may take to end, for its `finally` blocks. After a release the process waits for it.
_GRACE_SECONDS = {End.LOST: 5.0, End.TIMED_OUT: 5.0, End.RELEASED: 0.5, End.OVER: 0.0}
RELEASE_TIMEOUT_SECONDS = 10.0  # a stopping worker does not wait longer for a server that hangs


class TurnRun:
    """Runs one turn once. `run` raises what a failed turns/fail raises; a turn that failed or is lost is no error."""

    def __init__(self, worker: WorkerParts, task: Task, definition: WorkflowDefinition) -> None:
        attempt = Attempt(task)
        results = RunResultsCollector(task.results_max) if task.results_max else None
        self._definition = definition
        self._parts = TurnParts(
            worker=worker,
            attempt=attempt,
            routes=TurnRoutes(worker.client, attempt),
            replay=Replay(task.steps, task.operation_key),
            running=RunningTurn(task, results),
        )
        self._reports = Reports(self._parts.running)

    @property
    def name(self) -> str:
        return self._parts.attempt.task.name

    def release(self) -> None:
        """Cancel the handler and hand the turn back uncounted. Nothing happens once the turn's last request is sent."""
        self._parts.attempt.stop(End.RELEASED, "the worker is stopping and releases the turn")

    async def run(self) -> None:
        parts = self._parts
        running.enter(parts.running)
        parts.worker.heartbeats.hold(parts.attempt)
        try:
            await self._run()
        finally:
            parts.worker.heartbeats.drop(parts.attempt)
            parts.attempt.stop(End.OVER, "the turn has ended")
            running.leave(parts.running)
            self._close_reader()

    async def _run(self) -> None:
        attempt = self._parts.attempt
        handler = attempt.loop.create_task(self._handle())
        attempt.handler = handler
        await self._until_ended(handler)
        if attempt.stopped is not None:
            await self._stopped(attempt.stopped.end, handler)
            return
        # From here on a release finds the turn ended, and tasks the handler left behind can do nothing more for it.
        attempt.stop(End.OVER, "its handler has returned")
        self._parts.worker.heartbeats.drop(attempt)
        if self._parts.suspended_by is not None:
            _retrieve(handler)
            return
        await self._end(handler)

    async def _handle(self) -> Any:
        parts = self._parts
        current_turn.set(parts.running)
        parts.attempt.check()
        if parts.worker.execution_reads:
            parts.reader = parts.worker.client.workflow_turn_reader(parts.attempt.task.raw)
        task = parts.attempt.task
        return await self._definition.execute(WorkflowContext(parts), task.state, task.message)

    async def _until_ended(self, handler: asyncio.Task[Any]) -> None:
        """Until the handler has ended, or was cancelled and does not end within its grace."""
        attempt = self._parts.attempt
        ended: asyncio.Future[None] = attempt.loop.create_future()

        def end(_: object = None) -> None:
            if not ended.done():
                ended.set_result(None)

        def give_grace(reason: End) -> None:
            self._parts.worker.heartbeats.drop(attempt)
            self._close_reader()
            attempt.loop.call_later(_GRACE_SECONDS[reason], end)

        handler.add_done_callback(end)
        attempt.on_stop = give_grace
        await ended
        attempt.on_stop = None

    async def _stopped(self, reason: End, handler: asyncio.Task[Any]) -> None:
        if handler.done():
            _retrieve(handler)
        else:
            handler.add_done_callback(_retrieve)
            logger.warning("the handler of turn %s was cancelled and runs on: it catches CancelledError", self.name)
        if reason is End.RELEASED:
            await self._send_failure(release_failure(self._parts.worker.client._now_ms()), RELEASE_TIMEOUT_SECONDS)

    async def _end(self, handler: asyncio.Task[Any]) -> None:
        """Complete, or fail with whatever stands in the way."""
        if handler.cancelled():
            await self._fail(asyncio.CancelledError("the handler was cancelled by its own code"))
            return
        try:
            returned = handler.result()
            if (reason := self._parts.replay.unfinished() or self._parts.never_awaited()) is not None:
                raise WorkflowError(reason)
            await self._complete(accepted(returned))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            await self._fail(error)

    async def _complete(self, result: WorkflowResult[Any]) -> None:
        """Retried with the same body. Results that are too large are left out, once."""
        routes, results = self._parts.routes, self._reports.results_json(result)
        completion = Completion(self._parts.attempt.task, result, self._reports.usage_json())
        try:
            await routes.complete(completion.body(results))
        except LbbError as error:
            if error.status_code != 413 or not results:
                raise
            await routes.complete(completion.body())

    async def _fail(self, error: BaseException) -> None:
        failure = failure_of(error, self._parts.worker.client._now_ms())
        if failure is None:
            logger.warning("turn %s ends here, its next holder goes on: %s", self.name, error)
            return
        self._log(failure, error)
        await self._send_failure(failure)

    async def _send_failure(self, failure: Failure, timeout_seconds: float | None = None) -> None:
        task, client = self._parts.attempt.task, self._parts.worker.client
        usage, results = self._reports.usage_json(), self._reports.results_json()
        try:
            await send_failure(client, failure_body(task, failure, usage, results), timeout_seconds)
        except LbbError as error:
            if error.status_code != 413 or not results:
                raise
            await send_failure(client, failure_body(task, failure, usage), timeout_seconds)

    def _log(self, failure: Failure, error: BaseException) -> None:
        if failure.retry_at_ms is not None:
            logger.info("turn %s waits: %s", self.name, failure.error)
            return
        how = "fails for good" if failure.non_retryable else "failed in this attempt"
        # A WorkflowError says in its text what to change; of anything else the place is worth showing.
        trace = None if isinstance(error, WorkflowError) else error
        logger.warning("turn %s %s: %s", self.name, how, failure.error, exc_info=trace)

    def _close_reader(self) -> None:
        if self._parts.reader is not None:
            self._parts.reader.close()


def release_failure(now_ms: int) -> Failure:
    return waiting("released: the worker is stopping", 0, now_ms)


def _retrieve(handler: asyncio.Task[Any]) -> None:
    """Nobody else looks at how this handler ended; asyncio would log that."""
    if not handler.cancelled():
        handler.exception()
