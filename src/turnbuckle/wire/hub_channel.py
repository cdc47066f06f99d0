"""The data channel: every query and command by the type of the blob whose revision is asked (blobhub 3.1, 7.1).

`COMMANDS[blob type][channel][name]` is the struct of the body, whose `command` is `name`.
"""

from typing import Any, Final, Literal

from turnbuckle.wire.hub_base import HubChannelRequest
from turnbuckle.wire.hub_definition import (
    HubCheckDefinitionRequest,
    HubCreateDefinitionRequest,
    HubDeleteDefinitionRequest,
    HubDownloadDefinitionRequest,
    HubListDefinitionsRequest,
    HubUploadDefinitionRequest,
)
from turnbuckle.wire.hub_execution import (
    HubContinueExecutionRequest,
    HubCreateExecutionRequest,
    HubForkExecutionRequest,
    HubGetExecutionDataRequest,
    HubGetExecutionDefinitionRequest,
    HubGetExecutionRequest,
    HubListExecutionEventsRequest,
    HubListExecutionsRequest,
    HubStopExecutionRequest,
)
from turnbuckle.wire.hub_graph import (
    HubApplySessionGraphMutationsRequest,
    HubGetSessionGraphElementRequest,
    HubGetSessionGraphElementsRequest,
    HubListSessionGraphElementsRequest,
    HubListSessionGraphNeighborsRequest,
    HubQuerySessionGraphRequest,
)
from turnbuckle.wire.hub_object import (
    HubDeleteSessionObjectRequest,
    HubDownloadSessionFileRequest,
    HubDownloadSessionObjectRequest,
    HubListSessionObjectsRequest,
    HubUploadSessionFileRequest,
    HubUploadSessionObjectRequest,
)
from turnbuckle.wire.hub_schedule import (
    HubCreateScheduleRequest,
    HubDeleteScheduleRequest,
    HubGetScheduleRequest,
    HubListScheduleExecutionsRequest,
    HubListSchedulesRequest,
    HubUpdateScheduleRequest,
)
from turnbuckle.wire.hub_session import (
    HubCloseSessionRequest,
    HubCreateSessionRequest,
    HubDeleteSessionRequest,
    HubGetSessionRequest,
    HubListSessionEventsRequest,
    HubListSessionsRequest,
    HubOpenSessionRequest,
    HubUpdateSessionRequest,
)
from turnbuckle.wire.hub_thread import (
    HubGetSessionThreadItemRequest,
    HubListSessionThreadItemsRequest,
    HubPostSessionThreadItemRequest,
)

Channel = Literal["query", "command"]
Commands = dict[str, type[HubChannelRequest]]
WORKFLOW_BLOB: Final = "blobhub.compute.workflow"
SCHEDULER_BLOB: Final = "blobhub.compute.scheduler"


def _named(*requests: type[HubChannelRequest]) -> Commands:
    return {_name(request): request for request in requests}


def _name(request: Any) -> str:
    return str(request.__struct_config__.tag)


COMMANDS: Final[dict[str, dict[Channel, Commands]]] = {
    WORKFLOW_BLOB: {
        "query": _named(
            HubListDefinitionsRequest,
            HubDownloadDefinitionRequest,
            HubCheckDefinitionRequest,
            HubGetSessionRequest,
            HubListSessionsRequest,
            HubListSessionEventsRequest,
            HubGetExecutionRequest,
            HubListExecutionsRequest,
            HubListExecutionEventsRequest,
            HubGetExecutionDataRequest,
            HubGetExecutionDefinitionRequest,
            HubDownloadSessionObjectRequest,
            HubListSessionObjectsRequest,
            HubDownloadSessionFileRequest,
            HubListSessionThreadItemsRequest,
            HubGetSessionThreadItemRequest,
            HubQuerySessionGraphRequest,
            HubListSessionGraphElementsRequest,
            HubGetSessionGraphElementRequest,
            HubGetSessionGraphElementsRequest,
            HubListSessionGraphNeighborsRequest,
        ),
        "command": _named(
            HubCreateDefinitionRequest,
            HubUploadDefinitionRequest,
            HubDeleteDefinitionRequest,
            HubCreateSessionRequest,
            HubUpdateSessionRequest,
            HubCloseSessionRequest,
            HubOpenSessionRequest,
            HubDeleteSessionRequest,
            HubCreateExecutionRequest,
            HubForkExecutionRequest,
            HubContinueExecutionRequest,
            HubStopExecutionRequest,
            HubUploadSessionObjectRequest,
            HubDeleteSessionObjectRequest,
            HubUploadSessionFileRequest,
            HubPostSessionThreadItemRequest,
            HubApplySessionGraphMutationsRequest,
        ),
    },
    SCHEDULER_BLOB: {
        "query": _named(HubGetScheduleRequest, HubListSchedulesRequest, HubListScheduleExecutionsRequest),
        "command": _named(HubCreateScheduleRequest, HubUpdateScheduleRequest, HubDeleteScheduleRequest),
    },
}
