"""`client.workflows`: the instances of a graph (lbb-engine 8.1)."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from lbb.models import WorkflowEffectsResponse, WorkflowInstancesResponse
from lbb.named_namespace import AsyncNamedWorkflowsNamespace
from lbb.workflows.blobs import WorkflowBlobsNamespace
from lbb.workflows.definition import LEASE_MS, MAX_ATTEMPTS, WorkflowDefinition
from lbb.workflows.handle import WorkflowHandle

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

_PATH = "/v1/workflows/instances"


class WorkflowNamespace:
    def __init__(self, client: "AsyncLbbClient") -> None:
        self._client = client

    def handle(self, id: str) -> WorkflowHandle:
        """The instance of that id. Sends nothing."""
        return WorkflowHandle(self._client, id)

    async def start(
        self,
        definition: WorkflowDefinition,
        id: str,
        *,
        lease_ms: int = LEASE_MS,
        max_attempts: int = MAX_ATTEMPTS,
        on_exhausted: Literal["block", "skip"] | None = None,
    ) -> WorkflowHandle:
        """Create the instance, or find the one that the same request created. LbbError 409 for another with its id.

        `lease_ms` is how long a worker holds a turn between heartbeats. A turn that failed `max_attempts` times holds
        the inbox until a person retries or skips it; with `on_exhausted="skip"` the next message runs.
        """
        body: dict[str, Any] = {"id": id, "workflow_type": definition.name, "version": definition.version}
        if definition.initial_state is not None:
            body["state"] = definition.initial_state
        body |= {"lease_ms": lease_ms, "max_attempts": max_attempts}
        if on_exhausted is not None:
            body["on_exhausted"] = on_exhausted
        await self._client.raw_request("POST", _PATH, body=body, options={"retry": True})
        return self.handle(id)

    async def list(
        self,
        after: str | None = None,
        limit: int | None = None,
        workflow_type: str | None = None,
        status: str | None = None,
    ) -> WorkflowInstancesResponse:
        """Instances by id; pass `next_after` of a page as `after` for the next one (ours)."""
        params = {"after": after, "limit": limit, "workflow_type": workflow_type, "status": status}
        answer = await self._client.raw_request("GET", _PATH, params=params)
        return answer.model(WorkflowInstancesResponse)

    async def effects(
        self, state: Literal["intended", "in_doubt"] | None = None, after: str | None = None, limit: int | None = None
    ) -> WorkflowEffectsResponse:
        """Outside effects of the whole graph that nobody has confirmed (ours)."""
        params = {"state": state, "after": after, "limit": limit}
        answer = await self._client.raw_request("GET", "/v1/workflows/effects", params=params)
        return answer.model(WorkflowEffectsResponse)

    @cached_property
    def named(self) -> AsyncNamedWorkflowsNamespace:
        """The workflows the graph runs by themselves: watches, schedules, streams."""
        return AsyncNamedWorkflowsNamespace(self._client)

    @cached_property
    def blobs(self) -> WorkflowBlobsNamespace:
        return WorkflowBlobsNamespace(self._client)
