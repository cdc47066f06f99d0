"""The durable steps of one turn of a run, within what a turn holds (lbb-engine 10.1).

A component asks for its steps by name. A turn that is full goes on in the next one: what the open component has
learned so far goes along as *carried* answers, so that nothing is done twice. Outputs over 32 KiB are kept as blobs
(decision 11).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from lbb import AsyncLbbClient, LbbError
from lbb.workflows import WorkflowContext, WorkflowSignalResult, WorkflowStepContext
from lbb.workflows.limits import STEPS_PER_TURN
from turnbuckle.flow.failures import ComponentFailed, RunFailed, may_pass
from turnbuckle.flow.hub_calls import refusal_of
from turnbuckle.hub.value import size_bytes
from turnbuckle.wire.hub_limits import EXECUTING_MS, INLINE_VALUE_BYTES

StepFunction = Callable[[WorkflowStepContext], Awaitable[Any]]
PAUSE: Final = ".pause"  # the end of the key of a step that is not the component's own
SPARE: Final = 2  # for what ends a turn
WAIT_MS: Final = 365 * 86_400_000  # the longest wait there is: for ever
_SETTLE_S: Final = 30.0  # for keeping an output, beyond the time a step's function has


class TurnFull(BaseException):
    """Unwinds the component that runs: the run goes on in the next turn, with what is carried there."""


class TurnSteps:
    """`answers` is what the open component has saved, by the keys of its steps."""

    def __init__(
        self,
        ctx: WorkflowContext,
        client: AsyncLbbClient,
        *,
        carried: dict[str, Any] | None = None,
        executing_ms: int = 0,
        most_executing_ms: int = EXECUTING_MS,
        on_saved: Callable[[], None] = lambda: None,
    ) -> None:
        self.ctx = ctx
        self.answers: dict[str, Any] = {}
        self.executing_ms = executing_ms  # of the whole run so far; parked time does not count (decision 38)
        self._client = client
        self._carried = carried or {}
        self._most_executing_ms = most_executing_ms
        self._on_saved = on_saved  # the events that waited are saved with it
        self._used = 0
        self._opened_at = time.monotonic()

    @property
    def left(self) -> int:
        return STEPS_PER_TURN - SPARE - self._used

    def open(self) -> None:
        """Another component begins."""
        self.answers = {}
        self._opened_at = time.monotonic()

    @property
    def duration_ms(self) -> int:
        """Since the open component began, parked time included, whatever attempt it began in."""
        own = [answer for key, answer in self.answers.items() if not key.endswith(PAUSE)]
        starts: list[int] = [answer["at_ms"] for answer in own if "at_ms" in answer]
        if starts:
            return max(0, _now_ms() - min(starts))
        slept_ms = sum(int(answer.get("slept_ms", 0)) for answer in own)
        return _ms(self._opened_at) + slept_ms

    def reserve(self, count: int) -> None:
        """Go on in a new turn unless so many steps are left in this one: what waits for a signal must not move."""
        if self.left < count:
            raise TurnFull

    async def step(self, key: str, fn: StepFunction, *, timeout_s: float | None = None) -> Any:
        """The saved answer of `fn`, run once. ComponentFailed and RunFailed are answers too.

        `fn` has `timeout_s`, and no more than the run has left to execute.
        """
        answer = self._carried.get(key)
        if answer is None:
            self.reserve(1)
            self._used += 1
            seconds = self._seconds(timeout_s)

            async def run(s: WorkflowStepContext) -> Any:
                return await self._answer(fn, s, seconds)

            timeout_ms = max(1_000, round(1_000 * (seconds + _SETTLE_S)))
            answer = await self.ctx.step(key, run, timeout_ms=timeout_ms)
            self.executing_ms += answer["ms"]
            self._on_saved()
        self.answers[key] = answer
        return await self._opened(answer)

    async def sleep(self, key: str, milliseconds: int) -> None:
        if key not in self._carried:
            self.reserve(1)
            self._used += 1
            await self.ctx.sleep(key, milliseconds)
            self._on_saved()
        self.answers[key] = {"ms": 0, "slept_ms": milliseconds, "value": None}

    async def wait(self, key: str, *, name: str, timeout_ms: int) -> WorkflowSignalResult:
        """A signal of this turn. The component has reserved the step before it said where to send the signal."""
        answer = self._carried.get(key)
        if answer is None:
            self.reserve(1)
            self._used += 1
            heard = await self.ctx.wait_for_signal(key, name=name, timeout_ms=timeout_ms)
            answer = {"ms": 0, "value": [heard.received, heard.value]}
        self.answers[key] = answer
        received, value = answer["value"]
        return WorkflowSignalResult(received=received, value=value)

    async def keep(self, value: Any) -> dict[str, Any]:
        """The key of a blob that holds the value, for as long as the run is there."""
        blob = await self._client.workflows.blobs.put_json(value, workflow_id=self.ctx.workflow_id)
        return {"key": blob.key, "size_bytes": size_bytes(value)}

    async def fetch(self, blob: dict[str, Any]) -> Any:
        return await self.ctx.blob_json(blob["key"])

    def _seconds(self, timeout_s: float | None) -> float:
        left_s = (self._most_executing_ms - self.executing_ms) / 1_000
        if left_s <= 0:
            raise self._too_long()
        return left_s if timeout_s is None else min(timeout_s, left_s)

    def _too_long(self) -> RunFailed:
        return RunFailed("executing_too_long", f"the run executed for {self._most_executing_ms / 1_000:g} s, its limit")

    async def _answer(self, fn: StepFunction, s: WorkflowStepContext, seconds: float) -> dict[str, Any]:
        """What is saved: `{"at_ms", "ms", "value"}`; for `value` a `blob` when it is large, or `failed`."""
        began, at_ms = time.monotonic(), _now_ms()

        def told(**what: Any) -> dict[str, Any]:
            return {"at_ms": at_ms, "ms": _ms(began), **what}

        try:
            async with asyncio.timeout(seconds):
                value = await fn(s)
        except ComponentFailed as failed:
            return told(failed=[failed.code, failed.message, failed.is_fatal])
        except TimeoutError:
            spent = self.executing_ms + _ms(began)
            late = self._too_long() if spent >= self._most_executing_ms else _step_too_long(seconds)
            return told(failed=[late.code, late.message, late.is_fatal])
        except LbbError as error:
            if (refusal := refusal_of(error)) is None:
                raise
            return told(failed=[refusal.code, refusal.message, False])
        except Exception as error:
            if may_pass(error):
                raise
            return told(failed=["component_error", f"{type(error).__name__}: {error}"[:2_000], False])
        answer = told(value=value)
        if value is not None and size_bytes(value) > INLINE_VALUE_BYTES:
            return {**answer, "value": None, "blob": await self.keep(value)}
        return answer

    async def _opened(self, answer: dict[str, Any]) -> Any:
        if "failed" in answer:
            code, message, is_fatal = answer["failed"]
            raise RunFailed(code, message) if is_fatal else ComponentFailed(code, message)
        return await self.fetch(answer["blob"]) if "blob" in answer else answer["value"]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _ms(began: float) -> int:
    return round(1_000 * (time.monotonic() - began))


def _step_too_long(seconds: float) -> ComponentFailed:
    return ComponentFailed("timeout", f"it took longer than {seconds:g} s")
