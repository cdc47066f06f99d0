"""Parallel branches: each an instance of its own, whose end is a signal of the turn that waits (decision 40).

The parent's turn starts them in one step and then waits, once for each. A branch that ends the whole run ends the
waiting; the server cancels the others when the run has ended.
"""

import asyncio
import hashlib
from typing import Any, Final

import msgspec

from lbb import AsyncLbbClient, LbbError
from lbb.workflows import WorkflowStepContext
from lbb.workflows.definition import WorkflowDefinition
from turnbuckle.flow.failures import RunFailed
from turnbuckle.flow.run_info import RunInfo
from turnbuckle.flow.saved import Branch as Mark
from turnbuckle.flow.saved import Saved
from turnbuckle.flow.turn_steps import WAIT_MS, TurnSteps
from turnbuckle.hub import execution as rules
from turnbuckle.hub import walk as walks
from turnbuckle.hub.position import Arrived, Ended
from turnbuckle.hub.value import size_bytes
from turnbuckle.hub.walk import Branch, Fork

MOST_BRANCHES: Final = 48  # a turn has a step for each
_ATTEMPTS = 5
_INLINE_BYTES = 128 * 1024
_GONE = frozenset({404, 409})  # the parent's turn has ended


async def run(
    client: AsyncLbbClient, steps: TurnSteps, info: RunInfo, fork: Fork, pause_before: tuple[str, ...]
) -> list[Arrived | Ended | None]:
    """How each branch ended, in their order; None for those that were still on their way when one ended the run."""
    if len(fork.branches) > MOST_BRANCHES:
        raise RunFailed("too_many_branches", f"{len(fork.branches)} parallel branches, at most {MOST_BRANCHES}")
    steps.reserve(len(fork.branches) + 2)
    signal = f"branch.{_short(fork.key)}"

    async def start(s: WorkflowStepContext) -> None:
        mark = (steps.ctx.workflow_id, steps.ctx.turn, signal)
        await asyncio.gather(
            *(_start(client, steps, info, branch, Mark(branch.number, *mark), pause_before) for branch in fork.branches)
        )

    await steps.step(f"{fork.key}.fork", start)
    ends: dict[int, Arrived | Ended] = {}
    while len(ends) < len(fork.branches) and not any(isinstance(end, Ended) for end in ends.values()):
        heard = await steps.wait(f"{fork.key}.join{len(ends)}", name=signal, timeout_ms=WAIT_MS)
        if not heard.received:
            raise RunFailed("branch_lost", "a parallel branch has not ended in a year")
        told = await steps.fetch(heard.value["blob"]) if "blob" in heard.value else heard.value
        ends[told["number"]] = msgspec.json.decode(msgspec.json.encode(told["end"]), type=Arrived | Ended)
        steps.executing_ms += told["executing_ms"]
    return [ends.get(branch.number) for branch in fork.branches]


async def _start(
    client: AsyncLbbClient, steps: TurnSteps, info: RunInfo, branch: Branch, mark: Mark, pause_before: tuple[str, ...]
) -> None:
    """Make the instance and send it its message; both find what an earlier attempt has made."""
    saved = Saved(at=walks.save(branch.walk), pause_before=pause_before, branch=mark)
    message = {"execution_id": info.execution_id, "start": await saved.state(steps)}
    id = f"{rules.instance_id(info.execution_id)}.{_short(branch.key)}"
    handle = await client.workflows.start(_FLOW, id, max_attempts=_ATTEMPTS, on_exhausted="skip")
    await handle.send(message, id="start")


async def tell_parent(client: AsyncLbbClient, steps: TurnSteps, branch: Mark, end: Arrived | Ended) -> None:
    written = msgspec.json.decode(msgspec.json.encode(end))  # with the keys that JSON has
    told: dict[str, Any] = {"number": branch.number, "end": written, "executing_ms": steps.executing_ms}

    async def tell(s: WorkflowStepContext) -> None:
        value = told
        if size_bytes(told) > _INLINE_BYTES:
            value = {"blob": await steps.keep(told)}
        handle = client.workflows.handle(branch.parent)
        try:
            await handle.signal(branch.signal, value, turn=branch.turn, id=f"{branch.signal}.{branch.number}")
        except LbbError as error:
            if error.status_code not in _GONE:
                raise

    await steps.step("tell", tell)


def _short(key: str) -> str:
    """Keys are as long as a name may be."""
    return "b" + hashlib.sha256(key.encode()).hexdigest()[:20]


async def _never(ctx: Any, state: Any, message: Any) -> None:
    raise NotImplementedError("only the name and version count where an instance is started")


_FLOW: Final = WorkflowDefinition(rules.WORKFLOW_TYPE, rules.VERSION, None, _never)
