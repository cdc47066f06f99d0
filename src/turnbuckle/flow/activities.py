"""The server-run activities of a run: `chat` and `http`, once under the step's effect id (decisions 30 and 50)."""

from typing import Any, Literal

from lbb import LbbError
from lbb.request import RequestOptions
from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.context import ComponentContext
from turnbuckle.flow.failures import ComponentFailed

_RETRIED: RequestOptions = {"retry": True, "timeout": 600.0}
# What the provider or the host has refused or failed to answer, and will again: the component's failure.
_FAILURES = frozenset(
    {"model_unavailable", "models_not_configured", "http_unavailable", "activity_request_refused", "rate_limited"}
)


async def activity(
    c: ComponentContext, s: WorkflowStepContext, name: Literal["chat", "http"], asked: dict[str, Any]
) -> dict[str, Any]:
    """The answer, the first one also when it is asked again. ComponentFailed when it was refused."""
    ctx = c.steps.ctx
    step = s.effect_id.partition("/")[2]
    maker = {"identity": ctx.workflow_id, "turn": ctx.turn, "step": step}
    body = {**asked, "effect_id": s.effect_id, "label": c.component.title[:64], "workflow": maker}
    try:
        path = f"/v1/workflows/activities/{name}"
        answer: dict[str, Any] = (await c.client.raw_request("POST", path, body=body, options=_RETRIED)).data
    except LbbError as error:
        if error.code in _FAILURES:
            raise ComponentFailed(error.code or "refused", str(error)) from error
        raise
    return answer
