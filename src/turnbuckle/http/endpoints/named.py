"""Named and triggered workflows: settings, runs, queue."""

import msgspec

from turnbuckle.wire.named import (
    NamedWorkflow,
    NamedWorkflowDeleteResponse,
    NamedWorkflowPauseRequest,
    NamedWorkflowRequest,
    NamedWorkflowRunResponse,
    NamedWorkflowRunsResponse,
    NamedWorkflowsResponse,
    TriggeredWorkflow,
    TriggeredWorkflowRequest,
    TriggeredWorkflowsResponse,
    WorkflowStartersResponse,
)
from turnbuckle.wire.schedule import WorkflowScheduleMessage
from turnbuckle.wire.stream import WorkflowEventsMessage, WorkflowStreamEventsResponse
from turnbuckle.wire.watch import (
    WorkflowQueueResponse,
    WorkflowRequeueRequest,
    WorkflowRequeueResponse,
    WorkflowTriggerMessage,
)

NAMED_MODELS: tuple[type[msgspec.Struct], ...] = (
    NamedWorkflow,
    NamedWorkflowDeleteResponse,
    NamedWorkflowPauseRequest,
    NamedWorkflowRequest,
    NamedWorkflowRunResponse,
    NamedWorkflowRunsResponse,
    NamedWorkflowsResponse,
    TriggeredWorkflow,
    TriggeredWorkflowRequest,
    TriggeredWorkflowsResponse,
    WorkflowEventsMessage,
    WorkflowQueueResponse,
    WorkflowRequeueRequest,
    WorkflowRequeueResponse,
    WorkflowScheduleMessage,
    WorkflowStartersResponse,
    WorkflowStreamEventsResponse,
    WorkflowTriggerMessage,
)
