"""What the parts of a running turn share."""

import inspect
from collections.abc import Coroutine, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lbb.workflows.attempt import Attempt
from lbb.workflows.heartbeat import Heartbeats
from lbb.workflows.replay import Replay
from lbb.workflows.running import RunningTurn
from lbb.workflows.step_threads import StepThreads
from lbb.workflows.turn_routes import TurnRoutes

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient
    from lbb.execution_reads import AsyncWorkflowTurnReader

_WARNINGS_MAX = 1_000


@dataclass(eq=False, slots=True)
class WorkerParts:
    """What all turns of one worker share."""

    client: "AsyncLbbClient"
    heartbeats: Heartbeats
    threads: StepThreads
    progress_every_ms: int
    execution_reads: bool
    _warned: set[Hashable] = field(default_factory=set)

    def is_first(self, warning: Hashable) -> bool:
        """Whether this warning has not been given yet. One mistake in a busy workflow must not fill the log."""
        if warning in self._warned or len(self._warned) >= _WARNINGS_MAX:
            return False
        self._warned.add(warning)
        return True


@dataclass(eq=False, slots=True)
class TurnParts:
    """What the context and the steps of one attempt share."""

    worker: WorkerParts
    attempt: Attempt
    routes: TurnRoutes
    replay: Replay
    running: RunningTurn
    reader: "AsyncWorkflowTurnReader | None" = None
    suspended_by: str | None = None  # the key of the sleep or signal wait that released the turn
    _calls: list[tuple[str, Coroutine[Any, Any, Any]]] = field(default_factory=list)  # ctx.step("price", ...) and such

    def note_call(self, call: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._calls.append((call, coroutine))

    def never_awaited(self) -> str | None:
        """What is wrong when a call of the context was made and never begun: Python would only warn of it."""
        for call, coroutine in self._calls:
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()
                return f"{call} was never awaited, so it did not run: write `await` before it"
        return None
