"""The worker SDK: write workflows, start instances, run their turns.

Start with `definition` (a workflow), `context` (what its handler may do) and `worker`. Inside, one claimed turn goes
through `claim` -> `task` -> `turn_run` -> `replay` and `step_run` -> `turn_routes` -> `ending`; `attempt` says whether
the worker still holds it and `heartbeat` keeps it held.

What a step may ask for is `activities`: `model_calls`, `owned_write`, `requeue`, `review`; `capture` is the same
without writing. `triggered` is the workflow that a watch, a schedule or a stream sends messages to.
"""

from lbb.entities import ENTITY_ID_KEY_SENTINEL, ENTITY_IRI_NAMESPACE, entity_id_from_iri, entity_ref
from lbb.workflows.activities import LbbActivities, lbb_activities
from lbb.workflows.blobs import WorkflowBlobsNamespace
from lbb.workflows.capture import (
    ActivityCapture,
    ActivityCaptureResult,
    CapturedReview,
    CapturedWrite,
    capture_activities,
)
from lbb.workflows.context import WorkflowContext
from lbb.workflows.definition import WorkflowDefinition, WorkflowResult, WorkflowSignalResult, workflow
from lbb.workflows.errors import WorkflowError, WorkflowTurnFailed, WorkflowWait
from lbb.workflows.handle import WorkflowHandle
from lbb.workflows.identity import fan_in_identity, is_fan_in_identity, workflow_of_identity
from lbb.workflows.namespace import WorkflowNamespace
from lbb.workflows.owned_write import OwnedWrite, OwnedWriteResult, owned_commit_body, write_owned
from lbb.workflows.refusals import is_activity_refused, split_in_halves
from lbb.workflows.requeue import FailedInstance, requeue_failed
from lbb.workflows.review import ReviewWaitResult
from lbb.workflows.step_context import WorkflowStepContext
from lbb.workflows.trigger_message import TRIGGER_MESSAGE_TYPE, parse_trigger_message
from lbb.workflows.triggered import TriggeredWorkflowDefinition, triggered_workflow, triggered_workflow_state
from lbb.workflows.worker import WorkflowWorker

# The names of the protocol's SDK (lbb-engine 8.1), then ours.
__all__ = [
    "ENTITY_ID_KEY_SENTINEL",
    "ENTITY_IRI_NAMESPACE",
    "TRIGGER_MESSAGE_TYPE",
    "ActivityCapture",
    "ActivityCaptureResult",
    "CapturedReview",
    "CapturedWrite",
    "FailedInstance",
    "LbbActivities",
    "OwnedWrite",
    "OwnedWriteResult",
    "ReviewWaitResult",
    "TriggeredWorkflowDefinition",
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
    "capture_activities",
    "entity_id_from_iri",
    "entity_ref",
    "fan_in_identity",
    "is_activity_refused",
    "is_fan_in_identity",
    "lbb_activities",
    "owned_commit_body",
    "parse_trigger_message",
    "requeue_failed",
    "split_in_halves",
    "triggered_workflow",
    "triggered_workflow_state",
    "workflow",
    "workflow_of_identity",
    "write_owned",
]
