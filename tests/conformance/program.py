"""A scenario's program: value templates, the actions of a step, and the operations of a plain workflow.

The format is described in conformance/workflow-worker/README.md, "Programs". What uses activities adds itself to
`OPERATIONS` and `ACTIONS` in `activities.py`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lbb import AsyncLbbClient
from lbb.workflows import (
    LbbActivities,
    WorkflowContext,
    WorkflowError,
    WorkflowResult,
    WorkflowStepContext,
    WorkflowWait,
)
from tests.conformance.scenario import BadScenario
from tests.conformance.template import Json, Values, resolve

Fields = Mapping[str, Any]


class OrdinaryError(Exception):
    """What `{"raise": kind}` raises for any kind but `workflow_error`."""


@dataclass
class Record:
    """What the programs of a scenario did, over all its runs."""

    ran: list[str] = field(default_factory=list)
    effect_ids: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # mistakes of the scenario itself, found while it ran


@dataclass
class Turn:
    """One execution of a program: what its operations may look at."""

    client: AsyncLbbClient
    lbb: LbbActivities
    ctx: WorkflowContext
    values: Values
    record: Record


async def play(program: Sequence[Fields], turn: Turn) -> WorkflowResult[Json] | None:
    """Run the operations in order up to the one that ends the program, and give what the handler returns."""
    for fields in program:
        name = next(name for name in OPERATIONS if name in fields)
        ending = await OPERATIONS[name](fields, turn)
        if not isinstance(ending, _GoOn):
            return ending
    raise BadScenario("the program ended without saying how")


class _GoOn:
    """The type of `GO_ON`: a value no handler returns."""


GO_ON = _GoOn()


# Actions inside a step ----------------------------------------------------------------------------------------------

Action = Callable[[Fields, WorkflowStepContext, Turn], Awaitable[None]]


async def _heartbeat(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    cursor = {"checkpoint": fields["checkpoint"]} if "checkpoint" in fields else {}
    await step.heartbeat(fields["heartbeat"], **cursor)


async def _progress(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    step.progress(fields["progress"], done=fields["done"], total=fields.get("total"), unit=fields.get("unit"))


async def _sleep_ms(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    await asyncio.sleep(fields["sleep_ms"] / 1000)


async def _block(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    await asyncio.Event().wait()


async def _raise_in_step(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    raise _raised(fields)


async def _blob_put(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    await turn.client.workflows.blobs.put(fields["blob_put"], workflow_id=turn.ctx.workflow_id)


def _raised(fields: Fields) -> Exception:
    kind = WorkflowError if fields["raise"] == "workflow_error" else OrdinaryError
    return kind(fields.get("message", "raised"))


ACTIONS: dict[str, Action] = {
    "heartbeat": _heartbeat,
    "progress": _progress,
    "sleep_ms": _sleep_ms,
    "block": _block,
    "raise": _raise_in_step,
    "blob_put": _blob_put,
}


# Operations ---------------------------------------------------------------------------------------------------------

Ending = WorkflowResult[Json] | _GoOn | None
Operation = Callable[[Fields, Turn], Awaitable[Ending]]


async def _step(fields: Fields, turn: Turn) -> Ending:
    key = fields["step"]

    async def run(step: WorkflowStepContext) -> Json:
        turn.record.ran.append(key)
        turn.record.effect_ids.append(step.effect_id)
        for action in fields.get("do", []):
            await ACTIONS[next(name for name in ACTIONS if name in action)](action, step, turn)
        return resolve(fields.get("returns"), turn.values)

    options = {name: fields[name] for name in ("kind", "timeout_ms", "heartbeat_timeout_ms") if name in fields}
    turn.values.outputs[key] = await turn.ctx.step(key, run, **options)
    return GO_ON


async def _sleep(fields: Fields, turn: Turn) -> Ending:
    await turn.ctx.sleep(fields["sleep"], fields["ms"])
    turn.values.outputs[fields["sleep"]] = None
    return GO_ON


async def _wait_for_signal(fields: Fields, turn: Turn) -> Ending:
    key = fields["wait_for_signal"]
    signal = await turn.ctx.wait_for_signal(key, name=fields["name"], timeout_ms=fields["timeout_ms"])
    turn.values.outputs[key] = {"received": signal.received, "value": signal.value}
    return GO_ON


async def _wait(fields: Fields, turn: Turn) -> Ending:
    raise WorkflowWait(fields["wait"])


async def _raise(fields: Fields, turn: Turn) -> Ending:
    raise _raised(fields)


async def _return(fields: Fields, turn: Turn) -> Ending:
    returned = fields["return"]
    state = resolve(returned["state"], turn.values) if "state" in returned else turn.values.state
    return WorkflowResult(state=state, result=resolve(returned.get("result"), turn.values))


async def _continue(fields: Fields, turn: Turn) -> Ending:
    continued = resolve(fields["continue"], turn.values)
    return turn.ctx.continue_(continued["state"], continued["message"])


async def _keep(fields: Fields, turn: Turn) -> Ending:
    return None


OPERATIONS: dict[str, Operation] = {
    "step": _step,
    "sleep": _sleep,
    "wait_for_signal": _wait_for_signal,
    "wait": _wait,
    "raise": _raise,
    "return": _return,
    "continue": _continue,
    "keep": _keep,
}
