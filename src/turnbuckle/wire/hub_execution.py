"""Executions: runs of a definition in a session, their events and data, and the debugging of one (blobhub 3.4 to 3.6).

`fork_execution`, `continue_execution` and the debugging arguments of `create_execution` are ours.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import hub_limits as limits
from turnbuckle.wire.base import Json, Request
from turnbuckle.wire.hub_base import HubChannelRequest, HubOrderedPageRequest, HubPageRequest, Named, Text

# At least one character that is no space; not trimmed (blobhub 3.5). Which parts go together: hub/reference.py.
Part = Annotated[str, Meta(min_length=1, max_length=limits.REFERENCE_PART_CHARS, pattern=r"\S")]
ComponentIds = Annotated[list[Text], Meta(max_length=limits.COMPONENT_ENTRIES)]


class HubExecutionTarget(Request, frozen=True, kw_only=True):
    session: Named


class HubWorkflowReference(Request, omit_defaults=True, frozen=True, kw_only=True):
    definition: Part
    org: Part | UnsetType = UNSET
    blob: Part | UnsetType = UNSET
    revision: Part | UnsetType = UNSET


class HubInputValue(Request, frozen=True, kw_only=True):
    alias: str
    value: Json  # an object with a `type`: hub/value.py checks that and no more


class HubOutputValue(Request, frozen=True, kw_only=True):
    route: Text
    value: Json


class HubCreateExecutionRequest(HubChannelRequest, tag="create_execution", frozen=True, kw_only=True):
    target: HubExecutionTarget
    workflow: HubWorkflowReference
    input_data: Annotated[list[HubInputValue], Meta(max_length=limits.INPUTS_PER_EXECUTION)] | UnsetType = UNSET
    pause_before: ComponentIds | UnsetType = UNSET  # components that the run parks at, until continued
    dry_run: bool = False  # every effect on the outside is noted instead of done


class HubForkExecutionRequest(HubChannelRequest, tag="fork_execution", frozen=True, kw_only=True):
    """A new run that takes over what `execution_id` did up to `component_key`, with that component's outputs edited."""

    execution_id: Named
    component_key: Text  # of one finished component run, as `get_execution_data` lists it
    outputs: Annotated[list[HubOutputValue], Meta(max_length=limits.INPUTS_PER_EXECUTION)] | UnsetType = UNSET
    route: Text | UnsetType = UNSET  # another result than the recorded one
    pause_before: ComponentIds | UnsetType = UNSET
    dry_run: bool = False


class HubContinueExecutionRequest(HubChannelRequest, tag="continue_execution", frozen=True, kw_only=True):
    """Let a run go on that waits at a breakpoint; `pause_before` replaces its list of breakpoints."""

    execution_id: Named
    pause_before: ComponentIds | UnsetType = UNSET


class HubGetExecutionRequest(HubChannelRequest, tag="get_execution", frozen=True, kw_only=True):
    execution_id: Named


class HubStopExecutionRequest(HubChannelRequest, tag="stop_execution", frozen=True, kw_only=True):
    execution_id: Named


class HubListExecutionsRequest(HubPageRequest, tag="list_executions", frozen=True, kw_only=True):
    session_id: Named
    ascending: bool = False


class HubListExecutionEventsRequest(HubOrderedPageRequest, tag="list_execution_events", frozen=True, kw_only=True):
    execution_id: Named


class HubGetExecutionDefinitionRequest(HubChannelRequest, tag="get_execution_definition", frozen=True, kw_only=True):
    """The document that the run is fixed to, whatever became of its definition since. Ours: the debugger draws it."""

    execution_id: Named


class HubGetExecutionDataRequest(HubChannelRequest, tag="get_execution_data", frozen=True, kw_only=True):
    """What the run's components got, gave and took; one stored output when `data_id` names it."""

    execution_id: Named
    data_id: Text | UnsetType = UNSET
