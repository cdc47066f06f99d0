"""flow.*: where a run begins, divides and ends. The walk does the rest (hub/walk.py); none of them needs a step."""

from typing import Final

from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.hub.position import Outcome


async def go_on(c: ComponentContext) -> Outcome:
    return Outcome("next")


async def end(c: ComponentContext) -> Outcome:
    """The walk reads the status off the component."""
    return Outcome(None, terminal=True)


RUNS: Final[dict[str, ComponentRun]] = {
    "flow.start": go_on,
    "flow.parallel": go_on,
    "flow.join": go_on,
    "flow.end": end,
}
