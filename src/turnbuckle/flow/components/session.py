"""session.*: the session's objects without code."""

from typing import Any, Final

from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.flow.hub_calls import HubRefusal
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import is_value


async def read(c: ComponentContext) -> Outcome:
    """`success` with the value, or `missing`."""
    alias = c.text_setting("alias")

    async def download(s: WorkflowStepContext) -> Any:
        return await download_object(c, alias)

    value = await c.step("", download)
    return Outcome("missing") if value is None else Outcome("success", {"value": value})


async def download_object(c: ComponentContext, alias: str) -> Any:
    """The value under the alias; None when there is none."""
    try:
        return (await c.query("download_session_object", alias=alias))["object"]["value"]
    except HubRefusal as refusal:
        if refusal.code == "not_found":
            return None
        raise


async def write(c: ComponentContext) -> Outcome:
    alias, value = c.text_setting("alias"), c.inputs.get("value")
    if not is_value(value):
        raise ComponentFailed("bad_input", f"`value` is {value!r:.100}, expected a data value")
    if c.is_dry_run:
        c.captured(f"would save the session object {alias}")
        return Outcome("success")

    async def upload(s: WorkflowStepContext) -> None:
        await c.command("upload_session_object", alias=alias, value=value)

    await c.step("", upload)
    return Outcome("success")


RUNS: Final[dict[str, ComponentRun]] = {"session.object_read": read, "session.object_write": write}
