"""workflow.execute: another definition, run as a child in the same session (blobhub 5.3)."""

from typing import Any, Final

from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.flow.final_values import END_KEY
from turnbuckle.flow.kept_values import opened
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.reference import BadReference, parse_path, path_of
from turnbuckle.hub.value import is_value


async def execute(c: ComponentContext) -> Outcome:
    """`success` when the child has completed, or with `wait` false when it has been created; else `failure`."""
    workflow = _reference(c)
    inputs = [{"alias": route, "value": value} for route, value in c.inputs.items() if is_value(value)]
    waits = c.setting("wait", True) is not False
    if c.is_dry_run:
        c.captured("would execute a workflow", workflow=workflow)
        return Outcome("success")
    c.reserve(3 if waits else 1)
    signal = f"child.{c.key}"[:128]

    async def create(s: WorkflowStepContext) -> Any:
        made = await c.hub.command(
            c.run.revision_id,
            "create_execution",
            target={"session": c.run.session_id},
            workflow=workflow,
            input_data=inputs,
        )
        child_id = made["execution"]["id"]
        if waits:
            ctx = c.steps.ctx
            await c.hub.wait(
                execution_id=c.run.execution_id,
                workflow_id=ctx.workflow_id,
                turn=ctx.turn,
                signal=signal,
                on="execution",
                target=child_id,
            )
        return child_id

    child_id = await c.step("create", create)
    if not waits:
        return Outcome("success")
    ended = await c.wait("end", signal=signal, timeout_ms=None)
    if not ended.received or ended.value["status"] != "completed":
        status = ended.value["status"] if ended.received else "still running"
        raise ComponentFailed("child_failed", f"the execution {child_id} is {status}")

    async def read(s: WorkflowStepContext) -> Any:
        return await _outputs(c, child_id)

    return Outcome("success", await c.step("read", read))


def _reference(c: ComponentContext) -> dict[str, str]:
    path = c.text_setting("reference")
    try:
        parsed = parse_path(path)
    except BadReference as exc:
        raise ComponentFailed("bad_setting", f"the setting `reference`: {exc}") from exc
    names = ("org", "blob", "revision", "definition")
    found = {name: getattr(parsed, name) for name in names}
    assert path_of(parsed) == path
    return {name: part for name, part in found.items() if part is not None}


async def _outputs(c: ComponentContext, child_id: str) -> dict[str, Any]:
    """The last values of the child's data components, by alias."""
    kept = (await c.hub.query(c.run.revision_id, "get_execution_data", execution_id=child_id))["data"]
    last: dict[str, Any] = next(
        (one["value"] for one in reversed(kept) if one["component_key"] == END_KEY), {"outputs": {}}
    )
    outputs: dict[str, Any] = (await opened(c.steps, last))["outputs"]
    return {alias: value for alias, value in outputs.items() if value is not None}


RUNS: Final[dict[str, ComponentRun]] = {"workflow.execute": execute}
