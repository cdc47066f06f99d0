"""The workflow of the suite that asks a model."""

import os
from pathlib import Path
from typing import Any

from lbb import AsyncLbbClient
from lbb.workflows import (
    WorkflowContext,
    WorkflowDefinition,
    WorkflowResult,
    WorkflowStepContext,
    lbb_activities,
    workflow,
)
from tests.faults.sink import Sink
from tests.faults.workflows import CRASHED

SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}}


def model_definitions(client: AsyncLbbClient, folder: Path) -> list[WorkflowDefinition]:
    lbb, sink = lbb_activities(client), Sink(folder)

    async def reasoned(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        """Message {crashes}: the process ends between answer and save as often as that, then the step is saved."""
        place = (ctx.workflow_id, ctx.turn, "ask")

        async def ask(s: WorkflowStepContext) -> Any:
            sink.send(place, s.effect_id)
            answer = await lbb.reason(f"which code has {ctx.workflow_id}?", SCHEMA, effect_id=s.effect_id)
            if sink.times_sent(place) <= message["crashes"]:
                os._exit(CRASHED)
            return answer.value

        return WorkflowResult(state=await ctx.step("ask", ask))

    return [workflow(name="reasoned", version="v1", initial_state=None, on_message=reasoned)]
