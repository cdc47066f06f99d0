"""What runs each component type, one module per family; their ports are in hub/catalogue.py (decision 51)."""

from typing import Final

from turnbuckle.flow.components import code, flow, genai, io, logic, review, session, workflow
from turnbuckle.flow.context import ComponentRun

BUILT_IN: Final[dict[str, ComponentRun]] = {
    **flow.RUNS,
    **logic.RUNS,
    **code.RUNS,
    **io.RUNS,
    **genai.RUNS,
    **session.RUNS,
    **review.RUNS,
    **workflow.RUNS,
}
