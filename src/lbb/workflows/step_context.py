"""What a step's function gets (lbb-engine 5.6)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from lbb.models import WorkflowFence
from lbb.workflows.progress import UNSET
from lbb.workflows.step_effect import Declare, StepEffect


class WorkflowStepContext:
    """The running step: its effect id, its resume cursor, and how it reports.

    Tests build one with the values they want; without callbacks the reports do nothing. `heartbeat` and `progress` are
    called as the methods are, `cancelled` without arguments, `declare` with kind, target and state of an effect.
    """

    __slots__ = (
        "_cancelled",
        "_declare",
        "_fence",
        "_heartbeat",
        "_loop",
        "_progress",
        "checkpoint",
        "effect_id",
        "graph",
    )

    def __init__(
        self,
        *,
        effect_id: str,
        fence: WorkflowFence | Callable[[], WorkflowFence],
        graph: str | None,
        checkpoint: Any,
        heartbeat: Callable[..., Awaitable[None]] | None = None,
        progress: Callable[..., None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        declare: Declare | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.effect_id = effect_id
        """`<effect prefix>/<step key>`, the same on every attempt: an idempotency key for what it does outside."""
        self.checkpoint = checkpoint
        """The cursor an earlier attempt of this step set with `heartbeat`, or None."""
        self.graph = graph
        """The graph of the worker's client."""
        self._fence = fence
        self._heartbeat = heartbeat
        self._progress = progress
        self._cancelled = cancelled
        self._declare = declare
        self._loop = loop

    @property
    def fence(self) -> WorkflowFence:
        """What a graph commit carries so that a lost turn writes nothing."""
        if callable(self._fence):  # built when asked for: few steps commit
            self._fence = self._fence()
        return self._fence

    @property
    def cancelled(self) -> bool:
        """Whether this attempt is over (lost, timed out, released). Ask it in the loop of a long sync step (ours)."""
        return self._cancelled is not None and self._cancelled()

    async def _nothing(self) -> None:
        return None

    def heartbeat(self, details: Any, *, checkpoint: Any = UNSET) -> Awaitable[None]:
        """Report progress and wait until it is saved; with `checkpoint`, set the resume cursor (None clears it).

        Only on the event loop: in a step thread it raises WorkflowError, use `progress` there.
        """
        if self._heartbeat is None:
            return self._nothing()
        return self._heartbeat(details) if checkpoint is UNSET else self._heartbeat(details, checkpoint=checkpoint)

    def progress(self, phase: str, *, done: int, total: int | None = None, unit: str | None = None) -> None:
        """Say what the step does now, as often as you like: it is coalesced and does not wait. From any thread."""
        if self._progress is not None:
            self._progress(phase, done=done, total=total, unit=unit)

    def effect(self, kind: str, target: str) -> StepEffect:
        """Declare something this step does outside, before it does it (ours).

            async with s.effect("payment", f"invoice {number}"):
                await bank.pay(number, idempotency_key=s.effect_id)

        After a crash `handle.effects(state="in_doubt")` tells which of them may have happened. In a step thread it is a
        plain `with`. What goes through `lbb` itself, a model call, a commit, a review item, a blob, is in the ledger
        without being declared.
        """
        return StepEffect(kind, target, self._declare, self._loop)
