"""What a handler gets: durable steps, sleeps, signals, continuations (lbb-engine 5.5, 5.7)."""

import functools
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, TypeVar, overload

from pydantic import BaseModel

from lbb.workflows import limits
from lbb.workflows.blobs import fetch_blob, read_json
from lbb.workflows.definition import WorkflowResult, WorkflowSignalResult
from lbb.workflows.errors import Suspended, WorkflowError
from lbb.workflows.identity import workflow_of_identity
from lbb.workflows.json_rules import encode_json
from lbb.workflows.replay import Diverged, Park, Replay, Run, Saved
from lbb.workflows.results import add_saved, unwrap_output
from lbb.workflows.step_run import StepCall, StepRun, read_output, whole_in_range
from lbb.workflows.turn_log import TurnLog
from lbb.workflows.turn_parts import TurnParts

logger = logging.getLogger("lbb.workflows")

Model = TypeVar("Model", bound=BaseModel)
New = TypeVar("New", Run, Park)
Kind = Literal["step", "model", "tool"]
Options = ParamSpec("Options")
Output = TypeVar("Output")
Call = Callable[Options, Coroutine[Any, Any, Output]]


def _noted(call: Call[Options, Output]) -> Call[Options, Output]:
    """A coroutine that is never awaited runs nothing of itself; only who made it can tell that it was forgotten."""

    @functools.wraps(call)
    def noted(*args: Options.args, **kwargs: Options.kwargs) -> Coroutine[Any, Any, Output]:
        made = call(*args, **kwargs)
        context: Any = args[0]
        key = args[1] if len(args) > 1 else kwargs["key"]
        context._parts.note_call(f'ctx.{call.__name__}("{key}")', made)
        return made

    return noted


def noted_step(call: Call[Options, Output]) -> Call[Options, Output]:
    """The same for what is called with `(client or self, ctx, key, ...)` and takes a step of the turn."""

    @functools.wraps(call)
    def noted(*args: Options.args, **kwargs: Options.kwargs) -> Coroutine[Any, Any, Output]:
        made = call(*args, **kwargs)
        given = inspect.signature(call).bind(*args, **kwargs).arguments
        ctx, key = list(given.values())[1:3]
        if isinstance(ctx, WorkflowContext):
            ctx._parts.note_call(f'{call.__name__}("{key}")', made)
        return made

    return noted


class WorkflowContext:
    """The turn as its handler sees it. Every call of a method asks first whether this worker still holds the turn.

    A broken rule (an order change, a key used twice, a step that is not awaited, a bad argument) is a WorkflowError and
    is remembered: the turn then fails for good, even when the handler catches it.
    """

    def __init__(self, parts: TurnParts) -> None:
        task = parts.attempt.task
        self._parts = parts
        self._log: TurnLog | None = None
        self.workflow_id = task.workflow_id
        self.message_id = task.message_id
        self.turn = task.turn
        self.origin = task.origin
        """Where the message came from, a mapping with `kind`, or None."""

    @property
    def workflow_name(self) -> str | None:
        """The named workflow this instance works for, or None."""
        return workflow_of_identity(self.workflow_id)

    @property
    def log(self) -> TurnLog:
        """A logger that is silent while saved steps are replayed, so that a line is logged once (ours)."""
        if self._log is None:
            self._log = TurnLog(self._parts.attempt.task, self._parts.replay)
        return self._log

    @overload
    async def step(
        self,
        key: str,
        fn: Callable[..., Any],
        *,
        model: type[Model],
        kind: Kind = ...,
        timeout_ms: int = ...,
        heartbeat_timeout_ms: int | None = ...,
    ) -> Model: ...

    @overload
    async def step(
        self,
        key: str,
        fn: Callable[..., Any],
        *,
        model: None = ...,
        kind: Kind = ...,
        timeout_ms: int = ...,
        heartbeat_timeout_ms: int | None = ...,
    ) -> Any: ...

    @_noted
    async def step(
        self,
        key: str,
        fn: Callable[..., Any],
        *,
        model: type[BaseModel] | None = None,
        kind: Kind = "step",
        timeout_ms: int = 300_000,
        heartbeat_timeout_ms: int | None = None,
    ) -> Any:
        """The saved output of `fn`, which gets the step context or nothing and runs unless an earlier attempt saved it.

        An async function runs on the event loop, a sync one in a thread. The output is JSON, or with `model` read as
        that Pydantic model. `timeout_ms` limits one attempt of the step; with `heartbeat_timeout_ms` it must report
        progress that often. When either passes the attempt ends, and counts.
        """
        answer = self._answered(self._asked().step(key))
        if isinstance(answer, Saved):
            self._parts.routes.drop_events()
            return read_output(self._unwrapped(answer.output), None, model)
        try:
            return await self._run(StepCall(key, fn, model, kind, timeout_ms, heartbeat_timeout_ms), answer.position)
        except BaseException:
            self._parts.replay.fail()
            raise

    @_noted
    async def sleep(self, key: str, milliseconds: int) -> None:
        """Release the worker and go on after `milliseconds` (0 to 365 days): an own, saved step."""
        replay = self._asked()
        self._check(milliseconds, limits.SLEEP_MS, f'sleep "{key}"')
        answer = self._answered(replay.sleep(key, milliseconds))
        if isinstance(answer, Saved):
            self._parts.routes.drop_events()
            return
        with self._parking():
            await self._parts.routes.save_sleep(key, answer.position, milliseconds)
            self._suspend(key)

    @_noted
    async def wait_for_signal(self, key: str, *, name: str, timeout_ms: int) -> WorkflowSignalResult:
        """Wait for a signal of this turn without holding a worker: its value, or not received after `timeout_ms`.

        A signal that came before the wait is taken at once.
        """
        replay = self._asked()
        if not limits.NAME.match(name):
            raise self._broken(f"a signal name is 1 to 128 of A-Z a-z 0-9 _ . -, not {name!r:.150}")
        self._check(timeout_ms, limits.SIGNAL_TIMEOUT_MS, f'timeout_ms of signal wait "{key}"')
        answer = self._answered(replay.wait_for_signal(key, name, timeout_ms))
        if isinstance(answer, Saved):
            return _signal_result(answer.output)
        with self._parking():
            turn = await self._parts.routes.wait_for_signal(key, answer.position, name, timeout_ms)
            step = self._waited_step(turn, key, answer.position)
            if turn.get("status") == "waiting":
                self._suspend(key)
        self._parts.replay.save(key)
        return _signal_result(step.get("output"))

    def continue_(self, state: Any, message: Any, *, result: Any = None) -> WorkflowResult[Any]:
        """Return this to save `state` and put `message` at the end of the inbox, in one write."""
        return WorkflowResult(state=state, result=result, continuation={"message": message})

    def post_event(self, event: Mapping[str, Any]) -> None:
        """Add to the log of the execution that this turn works for; only with a key of scope `runtime` (ours).

        It is saved with the next step's begin, a step's output or the turn's end. Events posted before a step that an
        earlier attempt saved are saved already and not sent again; others may be, so give each its own `key`.
        """
        self._parts.routes.add_event(encode_json(event, "event").text)

    def drop_events(self) -> None:
        """Forget the events that wait, since they were saved in another way (ours)."""
        self._parts.routes.drop_events()

    async def blob_json(self, key: str) -> Any:
        """The JSON of a blob. Allowed outside a step, because the bytes of a key never change."""
        self._parts.attempt.check()
        return read_json(await fetch_blob(self._parts.worker.client, key), key)

    async def sparql(self, request: Any, *, timeout: float = 30.0) -> Any:  # noqa: ASYNC109  (the public name)
        """Read the graph as the held turn; needs `WorkflowWorker(..., execution_reads=True)`."""
        self._parts.attempt.check()
        if self._parts.reader is None:
            raise self._broken("ctx.sparql needs WorkflowWorker(..., execution_reads=True)")
        return await self._parts.reader.sparql(request, timeout=timeout)

    def _asked(self) -> Replay:
        """The turn's steps, when this worker may still act for it."""
        parts = self._parts
        parts.attempt.check()
        if parts.suspended_by is not None:
            raise Suspended(parts.attempt.task.name, parts.suspended_by)
        return parts.replay

    async def _run(self, call: StepCall, position: int) -> Any:
        if position + 1 == limits.STEPS_WARNING:
            logger.warning(
                "turn %s uses step %d of %d: return ctx.continue_(state, message) to go on in another turn",
                self._parts.attempt.task.name,
                position + 1,
                limits.STEPS_PER_TURN,
            )
        output = await StepRun(self._parts, call, position).run()
        self._parts.replay.save(call.key)
        return output

    def _unwrapped(self, output: Any) -> Any:
        """A saved output without the run results beside it, which go to the report of this run (lbb-engine 6.8)."""
        unwrapped = unwrap_output(output)
        if unwrapped is None:
            return output
        value, run_id, inputs = unwrapped
        if self._parts.running.results is not None:
            is_same_run = run_id == self._parts.attempt.task.run_id
            add_saved(self._parts.running.results, inputs, is_same_run=is_same_run)
        return value

    @contextmanager
    def _parking(self) -> Iterator[None]:
        """Around a request that may release the lease: no heartbeat is sent meanwhile, and again after it."""
        parts = self._parts
        parts.worker.heartbeats.drop(parts.attempt)
        try:
            yield
        except Suspended:
            raise
        except BaseException:
            parts.replay.fail()
            raise
        parts.worker.heartbeats.hold(parts.attempt)

    def _suspend(self, key: str) -> None:
        self._parts.suspended_by = key
        raise Suspended(self._parts.attempt.task.name, key)

    def _waited_step(self, turn: Any, key: str, position: int) -> dict[str, Any]:
        """The step of a wait-signal answer: at its position, or alone in an answer of what the worker reads."""
        steps = turn.get("steps") if isinstance(turn, dict) else None
        if isinstance(steps, list):
            for step in (*steps[position : position + 1], *steps[:1]):
                if isinstance(step, dict) and step.get("key") == key:
                    return step
        raise self._broken(f'the server answered the signal wait "{key}" without its step, number {position + 1}')

    def _check(self, value: int, within: tuple[int, int], name: str) -> None:
        try:
            whole_in_range(value, within, name)
        except WorkflowError as error:
            self._parts.replay.break_off(str(error))
            raise

    def _broken(self, reason: str) -> WorkflowError:
        self._parts.replay.break_off(reason)
        return WorkflowError(reason)

    def _answered(self, answer: Saved | New | Diverged) -> Saved | New:
        if isinstance(answer, Diverged):
            raise WorkflowError(answer.reason)
        return answer


def _signal_result(output: Any) -> WorkflowSignalResult:
    is_received = isinstance(output, dict) and output.get("received") is True
    return WorkflowSignalResult(received=is_received, value=output.get("value") if is_received else None)
