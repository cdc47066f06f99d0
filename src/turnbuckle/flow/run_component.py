"""One component run: entered, run or taken over, settled, left (blobhub 5.5, steps 3 to 5 and 8)."""

from typing import Any

from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.context import ComponentContext
from turnbuckle.flow.failures import ComponentFailed, may_pass
from turnbuckle.flow.kept_values import closed, opened
from turnbuckle.flow.registry import component_run
from turnbuckle.flow.run_info import pinned_outcome
from turnbuckle.flow.run_log import about
from turnbuckle.hub.data_flow import session_writes, settle
from turnbuckle.hub.position import Fault, Outcome


async def run_component(c: ComponentContext) -> Outcome:
    """What it gave. Whatever it raises is its failure, unless it may pass: then the attempt fails and is repeated."""
    c.log.post(f"{c.key}/entered", "processor.entered", f"Entered {c.component.title}", about(c.component))
    pin = c.run.pins.get(c.key)
    if pin is None:
        outcome = await _kept(c, await _ran(c))
    else:
        outcome = pinned_outcome(await opened(c.steps, pin))
    await _leave(c, outcome, c.steps.duration_ms, is_pinned=pin is not None)
    return outcome


async def _ran(c: ComponentContext) -> Outcome:
    try:
        return settle(c.wiring, c.component.index, await component_run(c.component.type)(c))
    except ComponentFailed as failed:
        return failed.outcome
    except Exception as error:
        if may_pass(error):
            raise
        return Outcome("failure", error=Fault("component_error", f"{type(error).__name__}: {error}"[:2_000]))


async def _kept(c: ComponentContext, outcome: Outcome) -> Outcome:
    """With the session objects saved that its outputs change; a refusal is the component's failure."""
    changed = session_writes(c.wiring, c.component.index, outcome.outputs)
    if not changed:
        return outcome
    if c.is_dry_run:
        c.captured(f"would save the session objects {', '.join(changed)}")
        return outcome

    async def save(s: WorkflowStepContext) -> None:
        for alias, value in changed.items():
            await c.command("upload_session_object", alias=alias, value=value)

    try:
        await c.step("keep", save)
    except ComponentFailed as failed:
        return failed.outcome
    return outcome


async def _leave(c: ComponentContext, outcome: Outcome, duration_ms: int, *, is_pinned: bool) -> None:
    title, of = c.component.title, about(c.component)
    if outcome.error is not None:
        error = {"code": outcome.error.code, **of}
        c.log.post(f"{c.key}/error", "processor.error", f"{title}: {outcome.error.message}", error)
    result = {"duration_ms": duration_ms, "route": outcome.route, "terminal": outcome.terminal}
    how = "ended the run" if outcome.terminal else f"left by {outcome.route}"
    c.log.post(
        f"{c.key}/exited",
        "processor.exited",
        f"{title} {how} after {duration_ms} ms",
        result | of | ({"pinned": True} if is_pinned else {}),
        component_id=c.component.id,
        component_key=c.key,
        data=await _data(c, outcome, result),
    )


async def _data(c: ComponentContext, outcome: Outcome, result: dict[str, Any]) -> dict[str, Any]:
    """What a debugger shows of it, and what a fork takes over."""
    error = {} if outcome.error is None else {"error": {"code": outcome.error.code, "message": outcome.error.message}}
    fatal = {"is_fatal": True} if outcome.is_fatal else {}
    inputs, outputs = await closed(c.steps, c.inputs), await closed(c.steps, outcome.outputs)
    return {"inputs": inputs, "outputs": outputs, **result, **error, **fatal}
