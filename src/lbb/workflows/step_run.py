"""One new step, from its begin to its saved output (lbb-engine 5.5)."""

import asyncio
import functools
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from lbb.effect_mark import effect_mark, mark_of
from lbb.models import WorkflowFence
from lbb.workflows import limits
from lbb.workflows.attempt import End
from lbb.workflows.errors import TurnStopped, WorkflowError
from lbb.workflows.failure import is_fence_lost
from lbb.workflows.json_rules import Encoded, encode_json, encode_within
from lbb.workflows.progress import ProgressReporter, progress_interval
from lbb.workflows.results import wrap_output
from lbb.workflows.step_context import WorkflowStepContext
from lbb.workflows.step_effect import State
from lbb.workflows.step_function import Shape, shape_of
from lbb.workflows.turn_parts import TurnParts

logger = logging.getLogger("lbb.workflows")


@dataclass(frozen=True, slots=True)
class StepCall:
    """The arguments of `ctx.step`."""

    key: str
    fn: Callable[..., Any]
    model: type[BaseModel] | None
    kind: str
    timeout_ms: int
    heartbeat_timeout_ms: int | None

    def check(self) -> Shape:
        """How the function is called. WorkflowError for timeouts out of range and a function that cannot be called so;
        ValueError for a kind the protocol does not know."""
        whole_in_range(self.timeout_ms, limits.STEP_TIMEOUT_MS, f'timeout_ms of step "{self.key}"')
        if self.heartbeat_timeout_ms is not None:
            within = (limits.STEP_TIMEOUT_MS[0], self.timeout_ms)
            whole_in_range(self.heartbeat_timeout_ms, within, f'heartbeat_timeout_ms of step "{self.key}"')
        if self.kind not in ("step", "model", "tool"):
            raise ValueError(f'kind of step "{self.key}" is "step", "model" or "tool", not {self.kind!r:.100}')
        try:
            return shape_of(self.fn)
        except TypeError as exc:
            raise WorkflowError(f'step "{self.key}": {exc}') from exc


def whole_in_range(value: int, within: tuple[int, int], name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not within[0] <= value <= within[1]:
        raise WorkflowError(f"{name} is a whole number of ms from {within[0]} to {within[1]}, not {value!r:.100}")


def read_output(value: Any, text: bytes | None, model: type[BaseModel] | None) -> Any:
    """A saved output as the handler gets it. With a model it is read from JSON, so that a replay reads the same.

    pydantic.ValidationError when it does not fit.
    """
    if model is None:
        return value
    return model.model_validate_json(text if text is not None else encode_json(value, "output").text)


class StepRun:
    """Runs one new step. A second step of the turn begins only after this one was saved."""

    def __init__(self, turn: TurnParts, call: StepCall, position: int) -> None:
        self._turn = turn
        self._call = call
        self._shape = call.check()
        self._position = position
        self._where = f'step "{call.key}"'
        self._name = f"{self._where} of turn {turn.attempt.task.name}"
        self._effect_id = f"{turn.attempt.task.effect_prefix}/{call.key}"
        self._reporter: ProgressReporter | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None

    async def run(self) -> Any:
        """The output as the handler gets it, once it is saved."""
        turn, call = self._turn, self._call
        cursor = await turn.routes.begin_step(
            call.key, self._position, call.kind, call.timeout_ms, call.heartbeat_timeout_ms
        )
        turn.attempt.check()  # a late answer is no permission for the effect
        output, logged = await self._run_function(cursor)
        turn.attempt.check()
        value = read_output(output.value, output.text, call.model)
        await turn.routes.save_step(call.key, self._position, self._saved_text(output, logged))
        return value

    async def _run_function(self, cursor: Any) -> tuple[Encoded, list[dict[str, Any]]]:
        """The function's output and the inputs it reported. Its progress is written when this returns."""
        turn, call = self._turn, self._call
        reporter = self._reporter = self._make_reporter(cursor)
        results = turn.running.results
        turn.running.step_keys.append(call.key)
        if results is not None:
            results.begin_step()
        self._enter()
        marked = effect_mark.set(self._mark())
        try:
            output = self._encoded(await self._call_function(self._context(cursor, reporter)))
            await reporter.finish()
            self._check_deadline()
        except Exception as error:
            self._stop_if_fenced(error)
            await reporter.settle()
            raise
        finally:
            effect_mark.reset(marked)
            self._leave()
            reporter.close()
            logged = results.end_step() if results is not None else []
        self._warn_if_never_used()
        return output, logged

    async def _call_function(self, step: WorkflowStepContext) -> Any:
        fn = self._call.fn
        arguments = (step,) if self._shape.takes_context else ()
        if self._shape.is_async:
            return await fn(*arguments)
        result = await self._turn.worker.threads.run(functools.partial(fn, *arguments), self._name)
        return await result if inspect.isawaitable(result) else result

    def _encoded(self, output: Any) -> Encoded:
        if self._call.model is None and isinstance(output, BaseModel):
            name = type(output).__name__
            raise WorkflowError(
                f"{self._where} returned a {name}: pass model={name} to ctx.step, so that a replay reads it back as one"
            )
        return encode_within(output, self._where, limits.OUTPUT_BYTES)

    def _saved_text(self, output: Encoded, logged: list[dict[str, Any]]) -> bytes:
        if not logged:
            return output.text
        return wrap_output(output.value, output.text, logged, self._turn.attempt.task.run_id)

    def _context(self, cursor: Any, reporter: ProgressReporter) -> WorkflowStepContext:
        attempt = self._turn.attempt
        task = attempt.task
        return WorkflowStepContext(
            effect_id=self._effect_id,
            fence=lambda: WorkflowFence(workflow_id=task.workflow_id, turn=task.turn, token=task.token),
            graph=self._turn.worker.client.graph_name,
            checkpoint=cursor,
            heartbeat=reporter.heartbeat,
            progress=reporter.progress,
            cancelled=lambda: attempt.stopped is not None,
            declare=self._declare_effect,
            loop=attempt.loop,
        )

    async def _declare_effect(self, kind: str, target: str, state: State) -> None:
        self._turn.attempt.check()
        await self._turn.routes.declare_effect(self._call.key, self._effect_id, kind, target, state)
        self._turn.attempt.check()  # a late answer is no permission for the effect

    def _mark(self) -> str:
        task, graph = self._turn.attempt.task, self._turn.worker.client.graph_name
        return mark_of(graph, task.workflow_id, task.turn, self._call.key, self._effect_id)

    def _make_reporter(self, cursor: Any) -> ProgressReporter:
        return ProgressReporter(
            self._turn.attempt,
            self._turn.routes,
            self._call.key,
            b"null" if cursor is None else encode_json(cursor, f"{self._where} checkpoint").text,
            progress_interval(self._turn.worker.progress_every_ms, self._call.heartbeat_timeout_ms),
            self._restart_silence,
        )

    def _enter(self) -> None:
        attempt = self._turn.attempt
        attempt.step_key, attempt.step_task = self._call.key, asyncio.current_task()
        self._deadline = attempt.loop.call_later(self._call.timeout_ms / 1000, self._time_out)
        self._restart_silence()

    def _leave(self) -> None:
        attempt = self._turn.attempt
        attempt.step_key = attempt.step_task = None
        for timer in (self._deadline, self._silence):
            if timer is not None:
                timer.cancel()

    def _restart_silence(self) -> None:
        """Progress was written: the step has its heartbeat timeout again."""
        if self._silence is not None:
            self._silence.cancel()
        if self._call.heartbeat_timeout_ms is not None and self._turn.attempt.step_key is not None:
            seconds = self._call.heartbeat_timeout_ms / 1000
            self._silence = self._turn.attempt.loop.call_later(seconds, self._fall_silent)

    def _check_deadline(self) -> None:
        """A step that blocked the loop kept its timer from firing; its output comes too late all the same."""
        if self._deadline is not None and self._deadline.when() < self._turn.attempt.loop.time():
            self._time_out()
            self._turn.attempt.check()

    def _time_out(self) -> None:
        self._stop(f"{self._name} ran longer than its timeout_ms {self._call.timeout_ms}")

    def _fall_silent(self) -> None:
        self._stop(f"{self._name} wrote no progress for its heartbeat_timeout_ms {self._call.heartbeat_timeout_ms}")
        self._warn_if_never_used()

    def _stop(self, reason: str) -> None:
        """End the attempt and send nothing: the server's own deadline ends and counts it."""
        logger.warning("%s; the attempt ends here", reason)
        self._turn.attempt.stop(End.TIMED_OUT, reason)

    def _stop_if_fenced(self, error: Exception) -> None:
        """A commit was refused because the turn is no longer held: whatever the handler catches, it sends nothing."""
        if is_fence_lost(error):
            self._turn.attempt.stop(End.LOST, f"{self._where} lost its fence: {error}")
            raise TurnStopped(self._turn.attempt.task.name, "another attempt may hold the turn") from error

    def _warn_if_never_used(self) -> None:
        task, call = self._turn.attempt.task, self._call
        if call.heartbeat_timeout_ms is None or (self._reporter is not None and self._reporter.was_used):
            return
        if self._turn.worker.is_first(("silent", task.workflow_type, task.version, call.key)):
            logger.warning(
                "%s has a heartbeat_timeout_ms, which only progress keeps off: call s.progress or s.heartbeat in it",
                self._name,
            )
