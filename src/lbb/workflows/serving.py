"""One run of a worker's claim loop: claims until it is stopped, then drains and releases (lbb-engine 5.2, 5.10).

Everything here happens on the worker's loop. The stop never cancels a claim that waits at the server: the server may be
just answering it, and a turn it brings is handed back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from lbb.workflows.claim import ClaimBackoff, may_pass
from lbb.workflows.errors import WorkflowError
from lbb.workflows.failure import describe
from lbb.workflows.task import Task
from lbb.workflows.turn_run import TurnRun

logger = logging.getLogger("lbb.workflows")

_NAMES_SHOWN = 20
_CLAIMS_AT_ONCE = 4
_UNUSABLE = "a claimed turn cannot be run, its lease runs out by itself: %s"


class Serving:
    """`serve` until `stop`. `claim` asks for one turn and, when told so, waits at the server for it; `begin` makes its
    run, `hand_back` returns it unrun.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        drain_seconds: float,
        claim: Callable[[bool], Awaitable[Task | None]],
        begin: Callable[[Task], TurnRun],
        hand_back: Callable[[Task], Awaitable[None]],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._concurrency = concurrency
        self._drain_seconds = drain_seconds
        self._claim = claim
        self._begin = begin
        self._hand_back = hand_back
        self._runs: dict[asyncio.Task[None], TurnRun] = {}
        self._is_stopping = False
        self._news = asyncio.Event()  # a slot is free, or the stop came
        self._backoff = ClaimBackoff()
        self._release_timer: asyncio.TimerHandle | None = None

    async def serve(self) -> None:
        """Returns when the stop came and each held turn is settled, released or known to be lost.

        Raises what ended the claims, once the held turns are drained.
        """
        try:
            await self._claim_turns()
        except asyncio.CancelledError:
            await self._cancel_runs()
            raise
        except Exception:
            self.stop()
            await self._drain()
            raise
        await self._drain()

    def stop(self, drain_seconds: float | None = None) -> None:
        """Claim no more; release what is held when the drain ends. A second call without argument releases at once."""
        if drain_seconds is None and self._is_stopping:
            drain_seconds = 0
        seconds = self._drain_seconds if drain_seconds is None else min(drain_seconds, self._drain_seconds)
        if not self._is_stopping:
            self._is_stopping = True
            self._news.set()
            self._tell(seconds)
        self._release_in(seconds)

    async def _claim_turns(self) -> None:
        while not self._is_stopping:
            if self._free_slots == 0:
                await self._wait_for_news(None)
            elif (task := await self._next_task()) is None:
                await asyncio.sleep(0)  # an answer that took no time must not starve the turns
            else:
                await self._take(task)
                await self._claim_more()

    @property
    def _free_slots(self) -> int:
        return max(0, self._concurrency - len(self._runs))

    async def _claim_more(self) -> None:
        """Ask for several turns at once while they are there and slots are free; these claims do not wait.

        One claim after another gives one turn for each round trip: a worker with 32 slots ran three turns at a time.
        The first is alone: a turn that came alone is the rule while little is to be done, and it runs meanwhile.
        """
        at_once = 1
        while not self._is_stopping and self._free_slots > 1:
            claims = [self._claim(False) for _ in range(min(self._free_slots, at_once))]
            at_once = min(2 * at_once, _CLAIMS_AT_ONCE)
            answers = await asyncio.gather(*claims, return_exceptions=True)
            for task in answers:
                if isinstance(task, Task):
                    await self._take(task)
            if any(not isinstance(task, Task) for task in answers):
                self._look_at(answers)
                return

    async def _take(self, task: Task) -> None:
        if self._is_stopping:
            await self._return(task)
        else:
            self._start(task)

    def _look_at(self, answers: list[Task | BaseException | None]) -> None:
        """Raise what ends the claims. What may pass is left to the next claim, which meets it and waits."""
        for answer in answers:
            if isinstance(answer, WorkflowError):
                logger.error(_UNUSABLE, answer)
            elif isinstance(answer, BaseException) and not (isinstance(answer, Exception) and may_pass(answer)):
                raise answer

    async def _next_task(self) -> Task | None:
        """One claim. After a failure that may pass: wait, then None."""
        try:
            task = await self._claim(True)
        except WorkflowError as error:  # a task that cannot be run; the next one may be fine
            logger.error(_UNUSABLE, error)
            return None
        except Exception as error:
            if not may_pass(error):
                raise
            seconds = self._backoff.seconds()
            logger.warning("a claim failed, the next one is in %g s: %s", seconds, describe(error))
            await self._wait_for_news(seconds)
            return None
        self._backoff.reset()
        return task

    async def _wait_for_news(self, seconds: float | None) -> None:
        """Until a turn ends or the stop comes; with `seconds`, only for the stop and no longer than that."""
        ends_at = None if seconds is None else self.loop.time() + seconds
        while not self._is_stopping:
            self._news.clear()
            try:
                async with asyncio.timeout_at(ends_at):
                    await self._news.wait()
            except TimeoutError:
                return
            if ends_at is None:
                return

    def _start(self, task: Task) -> None:
        try:
            run = self._begin(task)
        except WorkflowError as error:
            logger.error("turn %s cannot be run, its lease runs out by itself: %s", task.name, error)
            return
        running = self.loop.create_task(run.run())
        self._runs[running] = run
        running.add_done_callback(self._ended)

    def _ended(self, running: asyncio.Task[None]) -> None:
        run = self._runs.pop(running)
        self._news.set()
        if not running.cancelled() and (error := running.exception()) is not None:
            logger.error(
                "turn %s was left unsettled, its lease runs out by itself: %s",
                run.name,
                describe(error),
                exc_info=error,
            )

    async def _return(self, task: Task) -> None:
        """Hand a turn back that was claimed while the stop came."""
        try:
            await self._hand_back(task)
        except Exception:
            logger.exception("turn %s could not be handed back, its lease runs out by itself", task.name)

    async def _drain(self) -> None:
        while self._runs:
            await asyncio.wait(list(self._runs))
        if self._release_timer is not None:
            self._release_timer.cancel()

    async def _cancel_runs(self) -> None:
        runs = list(self._runs)
        for running in runs:
            running.cancel()
        await asyncio.gather(*runs, return_exceptions=True)

    def _release_in(self, seconds: float) -> None:
        release_at = self.loop.time() + seconds
        if self._release_timer is not None:
            if self._release_timer.when() <= release_at:
                return
            self._release_timer.cancel()
        self._release_timer = self.loop.call_at(release_at, self._release)

    def _release(self) -> None:
        if self._runs:
            logger.warning("releasing %s", self._held())
        for run in self._runs.values():
            run.release()

    def _tell(self, seconds: float) -> None:
        if self._runs:
            logger.warning("stopping: draining for up to %g s, holding %s", max(seconds, 0), self._held())
        else:
            logger.info("stopping: no turn is held")

    def _held(self) -> str:
        names = [run.name for run in self._runs.values()]
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        return f"{len(names)} turns: {', '.join(names[:_NAMES_SHOWN])}{more}"
