"""logic.code: Python of the author, in the sandbox (blobhub 5.6).

Code that reaches nothing outside runs as one step. Code that asks for session objects, threads or graphs runs beside
its steps: each question is a step with a recorded answer, and after a crash the code runs again from its top with
those. Then its clock stands still between two answers and its random numbers follow from a recorded seed, so that it
asks the same again.
"""

import ast
import asyncio
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lbb.workflows import WorkflowError, WorkflowStepContext
from turnbuckle.flow.components.session_helpers import answer_helper
from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed, SandboxLost
from turnbuckle.flow.sandbox import (
    OUTWARD,
    CodeDiverged,
    CodeError,
    CodeOutcome,
    HostRefusal,
    SandboxLimits,
    SandboxNames,
    run_code,
)
from turnbuckle.flow.sandbox.host import CLOCK, RANDOM_BYTES, SLEEP
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import message_text, plain

_LIMITS = SandboxLimits()
_SPARE_S = 30.0  # for a free sandbox, beyond the code's own time


async def code(c: ComponentContext) -> Outcome:
    if c.setting("language", "python") != "python":
        raise ComponentFailed("bad_language", f"the language is {c.setting('language')!r:.100}, expected 'python'")
    text = _text(c)
    if _reaches_out(text):
        return await _in_steps(c, text)

    async def run(s: WorkflowStepContext) -> Any:
        outcome = await run_code(text, _names(c), _Ambient(), _LIMITS, c.sandbox)
        if _is_lost(outcome):  # nothing has left the sandbox: it may run again at once
            outcome = await run_code(text, _names(c), _Ambient(), _LIMITS, c.sandbox)
        return await _saved(c, outcome)

    return _outcome(await c.step("", run, timeout_s=_LIMITS.time_s + _SPARE_S))


def _is_lost(outcome: CodeOutcome) -> bool:
    """Whether the process was ended from outside, for instance by the kernel."""
    return outcome.error is not None and outcome.error.kind == "crashed"


def _text(c: ComponentContext) -> str:
    port = c.component.port("code", "setting")
    value = None if port is None else port.value
    if isinstance(value, Mapping) and value.get("type") == "message":
        return message_text(value.get("message"))
    text = plain(value)
    if not isinstance(text, str):
        raise ComponentFailed("missing_setting", "the setting `code` has no text")
    return text


def _reaches_out(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # the sandbox says what is wrong with it
    return any(isinstance(node, ast.Name) and node.id in OUTWARD for node in ast.walk(tree))


def _names(c: ComponentContext) -> SandboxNames:
    component, wiring = c.component, c.wiring
    outputs = [
        *component.routes_of("data_output"),
        *(edge.source_route for _, edge in wiring.data_from(component.index)),
    ]
    routes = [*component.routes_of("flow_output"), *_flow_routes(c)]
    providers = [*component.routes_of("provider_input"), *wiring.providers_of(component.index)]
    execution = {name: c.run.execution.get(name) for name in ("id", "created_at", "user_id")}
    return SandboxNames(
        data_inputs=[{"route": route, "value": value} for route, value in c.inputs.items()],
        data_outputs=list(dict.fromkeys(outputs)),
        flow_outputs=list(dict.fromkeys(routes)),
        provider_inputs=[{"route": route, "credential": _handle(c, route)} for route in dict.fromkeys(providers)],
        blob=c.run.blob,
        session={name: c.run.session.get(name) for name in ("id", "alias")},
        definition=c.run.definition,
        execution=execution,
        attributes={"component_id": component.id, "component_name": component.name},
    )


def _flow_routes(c: ComponentContext) -> list[str]:
    edges = c.wiring.document.connections
    return [edge.route for edge in edges if edge.kind == "flow" and edge.source_id == c.component.id]


def _handle(c: ComponentContext, route: str) -> dict[str, str] | None:
    """What code may hold of a secret: that there is one of this name (decision 41)."""
    name = c.credential(route)
    return None if name is None else {"credential": name}


# -- what came of it ---------------------------------------------------------------------------------------------


async def _saved(c: ComponentContext, outcome: CodeOutcome) -> dict[str, Any]:
    """The outcome as it is saved, with the events told that the code posted."""
    if outcome.printed:
        c.post_event("processor.output", outcome.printed)
    for event in outcome.events:
        c.post_event(event.type, event.message, event.attributes)
        await c.log.flush()
    for route, output in outcome.outputs.items():
        if output.persist:
            c.post_event("processor.output", f"Output {route}", {"route": route}, data=dict(output.value))
            await c.log.flush()
    error = None if outcome.error is None else [_code_of(outcome.error), _sentence(outcome.error)]
    outputs = {route: dict(output.value) for route, output in outcome.outputs.items()}
    return {"route": outcome.route, "terminal": outcome.terminal, "outputs": outputs, "error": error}


def _outcome(saved: dict[str, Any]) -> Outcome:
    if saved["error"] is not None:
        raise ComponentFailed(*saved["error"])
    return Outcome(saved["route"] or "success", saved["outputs"], bool(saved["terminal"]))


def _code_of(error: CodeError) -> str:
    return {"refused": "code_refused", "limit": "code_limit", "crashed": "code_crashed"}.get(error.kind, "code_error")


def _sentence(error: CodeError) -> str:
    where = "" if error.line is None else f" (line {error.line})"
    named = f"{error.type}: {error.message}" if error.kind == "exception" else error.message
    return f"{named}{where}"[:4_000]


# -- who answers the code ----------------------------------------------------------------------------------------


class _Ambient:
    """For code that runs within one step: clock and chance as they are, since the step saves what it made of them."""

    async def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if name == CLOCK:
            return time.time_ns() // 1_000
        if name == RANDOM_BYTES:
            return os.urandom(int(args[0])).hex()
        if name == SLEEP:
            await asyncio.sleep(min(float(args[0]), _LIMITS.time_s))
            return None
        raise HostRefusal("ValueError", f"{name} is called by its own name only")


async def _in_steps(c: ComponentContext, text: str) -> Outcome:
    async def begin(s: WorkflowStepContext) -> Any:
        return {"at_us": time.time_ns() // 1_000, "seed": os.urandom(32).hex()}

    begun = await c.step("begin", begin)
    host = _Recorded(c, begun["at_us"], bytes.fromhex(begun["seed"]))
    outcome = await run_code(text, _names(c), host, _LIMITS, c.sandbox)
    if _is_lost(outcome):
        raise SandboxLost("the process that ran the code has ended; it runs again with the recorded answers")
    return _outcome(await _saved(c, outcome))


class _Recorded:
    """For code whose questions are steps: what it is told is the same in every attempt."""

    def __init__(self, c: ComponentContext, at_us: int, seed: bytes) -> None:
        self._c = c
        self._at_us = at_us
        self._seed = seed
        self._asked = 0  # outward questions
        self._drawn = 0

    async def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if name == CLOCK:
            self._at_us += 1  # so that two readings differ
            return self._at_us
        if name == RANDOM_BYTES:
            self._drawn += 1
            return hashlib.shake_256(self._seed + self._drawn.to_bytes(8, "big")).hexdigest(int(args[0]))
        self._asked += 1
        if name == SLEEP:
            milliseconds = round(1_000 * min(max(float(args[0]), 0.0), _LIMITS.time_s))
            self._at_us += 1_000 * milliseconds
            return await self._c.sleep(f"s{self._asked}", milliseconds)
        return await self._answer(name, list(args), dict(kwargs))

    async def _answer(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        asked = hashlib.sha256(json.dumps([name, args, kwargs], sort_keys=True).encode()).hexdigest()[:16]

        async def answer(s: WorkflowStepContext) -> Any:
            told = await answer_helper(self._c, name, args, kwargs)
            return {"asked": asked, "at_us": time.time_ns() // 1_000, **told}

        told = await self._c.step(f"h{self._asked}", answer)
        if told["asked"] != asked:
            diverged = CodeDiverged(self._asked, told["asked"], f"{name} ({asked})")
            raise WorkflowError(str(diverged)) from diverged
        self._at_us = max(self._at_us, told["at_us"])
        if "refused" in told:
            raise HostRefusal(*told["refused"])
        return told["value"]


RUNS: Final[dict[str, ComponentRun]] = {"logic.code": code}
