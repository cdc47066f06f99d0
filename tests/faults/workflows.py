"""The workflows that the suite's workers serve. Each says in its message what it shall do, so a seed decides it all.

A step sends one effect to the sink, and its output names that call: a step with two saved outputs would show. What a
handler got is noted after each step, run or replayed.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lbb.workflows import WorkflowContext, WorkflowDefinition, WorkflowResult, WorkflowStepContext, workflow
from tests.faults.sink import Sink
from tests.faults.waiting import until, wait_until

CRASHED = 86  # the exit code of a process that its own step ended
_FOR_EVER_S = 300.0


def definitions(folder: Path, sink: Sink) -> list[WorkflowDefinition]:
    """`folder` holds the sink's files and the gates that a test opens."""
    return [
        workflow(name=name, version="v1", initial_state=initial, on_message=make(folder, sink))
        for name, initial, make in _WORKFLOWS
    ]


def gate(folder: Path, name: str) -> Path:
    """A step of `gated` waits until this file is there."""
    return folder / f"gate-{name}"


Handler = Callable[[WorkflowContext, Any, Any], Any]


def _charge(folder: Path, sink: Sink) -> Handler:
    """Message {crashes}: the process ends between effect and save as often as that, then the step is saved."""

    async def charge(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        place = (ctx.workflow_id, ctx.turn, "charge")

        def send(s: WorkflowStepContext) -> str:
            run = sink.send(place, s.effect_id)
            if sink.times_sent(place) <= message["crashes"]:
                os._exit(CRASHED)
            return run

        await ctx.step("before", lambda: "saved once")
        run = await ctx.step("charge", send)
        sink.saw(place, run)
        return WorkflowResult(state=[*state, ctx.message_id], result=run)

    return charge


def _mixed(folder: Path, sink: Sink) -> Handler:
    """Message {label, steps, work_ms, is_sync, nap_ms?, signal?, rest?}: a bit of everything, in a known order.

    The state lists what has been applied: labels of messages, and values of signals.
    """

    async def mixed(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        runs = []
        for index in range(message["steps"]):
            runs.append(await _effect_step(ctx, sink, f"step-{index}", message["work_ms"], message["is_sync"]))
            if index == 0 and message.get("nap_ms"):
                await ctx.sleep("nap", message["nap_ms"])
            if index == 0 and message.get("signal"):
                heard = await ctx.wait_for_signal("approval", name="approval", timeout_ms=3_600_000)
                state = {**state, "heard": [*state["heard"], heard.value]}
        after = {**state, "done": [*state["done"], message["label"]]}
        if message.get("rest"):
            rest = {**message, "label": message["label"] + "+", "rest": message["rest"] - 1, "signal": False}
            return ctx.continue_(after, rest, result=runs)
        return WorkflowResult(state=after, result=runs)

    return mixed


async def _effect_step(ctx: WorkflowContext, sink: Sink, key: str, work_ms: int, is_sync: bool) -> str:
    place = (ctx.workflow_id, ctx.turn, key)

    def send(s: WorkflowStepContext) -> str:
        run = sink.send(place, s.effect_id)
        time.sleep(work_ms / 1_000)
        return run

    async def send_async(s: WorkflowStepContext) -> str:
        run = sink.send(place, s.effect_id)
        await asyncio.sleep(work_ms / 1_000)
        return run

    run: str = await ctx.step(key, send if is_sync else send_async)
    sink.saw(place, run)
    return run


def _gated(folder: Path, sink: Sink) -> Handler:
    """Message {gate}: sends an effect, then holds its step until the test opens the gate."""

    async def gated(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        place = (ctx.workflow_id, ctx.turn, "hold")

        def hold(s: WorkflowStepContext) -> str:
            run = sink.send(place, s.effect_id)
            wait_until(gate(folder, message["gate"]).exists, _FOR_EVER_S, f"the gate {message['gate']} is open")
            return run

        run = await ctx.step("hold", hold)
        sink.saw(place, run)
        return WorkflowResult(state=[*state, ctx.message_id], result=run)

    return gated


def _blocking(folder: Path, sink: Sink) -> Handler:
    """Message {block_s}: an async step that blocks the worker's event loop."""

    async def blocking(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        async def block(s: WorkflowStepContext) -> str:
            run = sink.send((ctx.workflow_id, ctx.turn, "block"), s.effect_id)
            time.sleep(message["block_s"])  # noqa: ASYNC251  (the mistake under test)
            return run

        run = await ctx.step("block", block)
        sink.saw((ctx.workflow_id, ctx.turn, "block"), run)
        return WorkflowResult(state=[*state, ctx.message_id], result=run)

    return blocking


def _crawl(folder: Path, sink: Sink) -> Handler:
    """Message {pages, gate}: goes on at its cursor; from the second page on only once the gate is open."""

    async def crawl(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        place = (ctx.workflow_id, ctx.turn, "crawl")

        async def is_open() -> bool:
            return gate(folder, message["gate"]).exists()

        async def read(s: WorkflowStepContext) -> str:
            run = sink.send(place, s.effect_id)
            for page in range(s.checkpoint or 0, message["pages"]):
                if page:
                    await until(is_open, _FOR_EVER_S, f"the gate {message['gate']} is open")
                sink.saw((ctx.workflow_id, ctx.turn, f"page-{page}"), run)
                await s.heartbeat({"page": page}, checkpoint=page + 1)
            return run

        run = await ctx.step("crawl", read)
        return WorkflowResult(state=[*state, ctx.message_id], result=run)

    return crawl


def _napping(folder: Path, sink: Sink) -> Handler:
    """Message {naps_ms}: sleeps, with a step after each."""

    async def napping(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        for index, nap_ms in enumerate(message["naps_ms"]):
            await ctx.sleep(f"nap-{index}", nap_ms)
            await _effect_step(ctx, sink, f"after-{index}", 0, is_sync=False)
        return WorkflowResult(state=[*state, ctx.message_id])

    return napping


_WORKFLOWS: list[tuple[str, Any, Callable[[Path, Sink], Handler]]] = [
    ("charge", [], _charge),
    ("mixed", {"done": [], "heard": []}, _mixed),
    ("gated", [], _gated),
    ("blocking", [], _blocking),
    ("crawl", [], _crawl),
    ("napping", [], _napping),
]
