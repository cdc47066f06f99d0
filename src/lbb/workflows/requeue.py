"""Giving instances that a turn could not do back to the watch (lbb-graph 5.5)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lbb import models, named_calls
from lbb.workflows.context import WorkflowContext, noted_step
from lbb.workflows.errors import WorkflowError
from lbb.workflows.inputs import inputs_of_failed, report
from lbb.workflows.running import current_turn

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

ITEMS_MAX = 64
ERROR_CHARS = 1_000


@dataclass(frozen=True)
class FailedInstance:
    """An instance (its IRI) that the turn could not do, and why."""

    instance: str
    error: str | None = None


@noted_step
async def requeue_failed(
    client: "AsyncLbbClient",
    ctx: WorkflowContext,
    step_key: str,
    failed: Iterable[FailedInstance],
    *,
    graph: str | None = None,
) -> models.WorkflowRequeueResponse | None:
    """Give the instances back in one step: they are sent again after 1, 4, then 16 minutes, at most 3 times.

    `None`, and no step, for an empty list. The answer names the attempt, when it is due, and what is exhausted.
    WorkflowError on an instance of no named workflow, and for more than 64 instances.
    """
    given_back = list(failed)
    if not given_back:
        return None
    name = workflow_of_requeue(ctx, given_back)
    request = {"workflow_id": ctx.workflow_id, "turn": ctx.turn, "items": [_item(each) for each in given_back]}

    async def give_back() -> models.WorkflowRequeueResponse:
        call = named_calls.requeue(name, request)
        if graph is not None:
            call = call.in_graph(graph)
        answer = await client.ask(call)
        report(current_turn.get(), inputs_of_failed(given_back))
        return answer

    return await ctx.step(step_key, give_back, model=models.WorkflowRequeueResponse)


def workflow_of_requeue(ctx: WorkflowContext, failed: list[FailedInstance]) -> str:
    """The named workflow whose watch takes the instances back."""
    if ctx.workflow_name is None:
        raise WorkflowError(f"{ctx.workflow_id} works for no named workflow, so no watch can take instances back")
    if len(failed) > ITEMS_MAX:
        raise WorkflowError(f"a requeue takes at most {ITEMS_MAX} instances, got {len(failed)}")
    return ctx.workflow_name


def _item(failed: FailedInstance) -> dict[str, Any]:
    error = {} if failed.error is None else {"error": failed.error[:ERROR_CHARS]}
    return {"instance": failed.instance, **error}
