"""The worker SDK: write workflows, start instances, run their turns.

Start with `definition` (a workflow), `context` (what its handler may do) and `worker`. Inside, one claimed turn goes
through `claim` -> `task` -> `turn_run` -> `replay` and `step_run` -> `turn_routes` -> `ending`; `attempt` says whether
the worker still holds it and `heartbeat` keeps it held.
"""

from lbb.workflows.blobs import WorkflowBlobsNamespace
from lbb.workflows.context import WorkflowContext
from lbb.workflows.definition import WorkflowDefinition, WorkflowResult, WorkflowSignalResult, workflow
from lbb.workflows.errors import WorkflowError, WorkflowTurnFailed, WorkflowWait
from lbb.workflows.handle import WorkflowHandle
from lbb.workflows.identity import fan_in_identity, is_fan_in_identity, workflow_of_identity
from lbb.workflows.namespace import WorkflowNamespace
from lbb.workflows.step_context import WorkflowStepContext
from lbb.workflows.worker import WorkflowWorker

# The names of the protocol's SDK (lbb-engine 8.1), then ours.
__all__ = [
    "WorkflowBlobsNamespace",
    "WorkflowContext",
    "WorkflowDefinition",
    "WorkflowError",
    "WorkflowHandle",
    "WorkflowNamespace",
    "WorkflowResult",
    "WorkflowSignalResult",
    "WorkflowStepContext",
    "WorkflowTurnFailed",
    "WorkflowWait",
    "WorkflowWorker",
    "fan_in_identity",
    "is_fan_in_identity",
    "workflow",
    "workflow_of_identity",
]
