"""The asynchronous client."""

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from lbb import models
from lbb.answer import RawLbbResponse
from lbb.base_client import BaseClient, EventHooks
from lbb.call import Call
from lbb.errors import LbbCapabilityError
from lbb.execution_reads import AsyncWorkflowTurnReader
from lbb.graph_namespace import AsyncGraphNamespace, AsyncGraphWrites
from lbb.httpx_sender import LIMITS, AsyncHttpxSender, LoopHttpxSender
from lbb.request import PreparedRequest, RequestOptions
from lbb.retry import Tries
from lbb.reviews import AsyncReviewsNamespace
from lbb.sender import AsyncSender, SenderReply
from lbb.tls import tls_context

if TYPE_CHECKING:
    from lbb.workflows.namespace import WorkflowNamespace

Answer = TypeVar("Answer")


class AsyncLbbClient(BaseClient[httpx.AsyncBaseTransport], AsyncGraphWrites):
    """An asynchronous client, and the door to instances, blobs and the worker. Use `async with`, or `await aclose()`.

    It may be built outside a loop and used from one loop after another. What its calls raise is listed in `lbb.errors`.
    """

    _sender: AsyncSender

    async def raw_request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | str | None = None,
        content_type: str | None = None,
        idempotency_key: str | None = None,
        options: RequestOptions | None = None,
    ) -> RawLbbResponse:
        """Send one request, tried again as its retry class allows. `body` is JSON (`wire_json`), `content` raw."""
        request = self._requests.build(
            method,
            path,
            params=params,
            body=body,
            content=content,
            content_type=content_type,
            idempotency_key=idempotency_key,
            options=options,
        )
        reply, tries = await self._send(request)
        return self._answer(reply, tries, binary=False)

    async def ask(self, call: Call[Answer]) -> Answer:
        arguments = call.arguments_for(self.default_consistency)
        return call.read(await self.raw_request(call.method, call.path, **arguments))

    async def binary_request(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, options: RequestOptions | None = None
    ) -> RawLbbResponse:
        """As `raw_request`, with the answer's bytes as `data`."""
        reply, tries = await self._send(self._requests.build(method, path, params=params, options=options))
        return self._answer(reply, tries, binary=True)

    async def version(self) -> dict[str, Any]:
        """`{version, built_at, git_commit, persisted_format, capabilities}` of the server; needs no key."""
        version: dict[str, Any] = (await self.raw_request("GET", "/version")).data
        self._learn(version)
        return version

    async def require_capability(self, capability: str) -> None:
        """LbbCapabilityError unless the server lists it. Asks only while it is not known to."""
        if capability not in self._capabilities:
            await self.version()
        if capability not in self._capabilities:
            raise LbbCapabilityError(capability)

    def graph(self, name: str) -> AsyncGraphNamespace:
        """This client on another graph."""
        return AsyncGraphNamespace(self, name)

    @cached_property
    def workflows(self) -> "WorkflowNamespace":
        """Instances, blobs and what else belongs to workflows."""
        from lbb.workflows.namespace import WorkflowNamespace

        return WorkflowNamespace(self)

    @cached_property
    def reviews(self) -> AsyncReviewsNamespace:
        """Questions to a person, and their answers."""
        return AsyncReviewsNamespace(self)

    async def workflow_delete_instance(self, workflow_id: str) -> models.WorkflowInstanceDeleteResponse:
        """Remove an instance with its turns and history. `deleted` is true only for the call that removed it."""
        path, body = "/v1/workflows/instances/delete", {"workflow_id": workflow_id}
        answer = await self.raw_request("POST", path, body=body, options={"retry": True})
        return answer.model(models.WorkflowInstanceDeleteResponse)

    def workflow_turn_reader(self, task: Any) -> AsyncWorkflowTurnReader:
        """Reads as the held turn of `task`; see `AsyncWorkflowTurnReader`."""
        return AsyncWorkflowTurnReader(self, task)

    async def aclose(self) -> None:
        """Close the connections, of every loop. A later request raises RuntimeError."""
        await self._sender.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _open(self, transport: httpx.AsyncBaseTransport | None, event_hooks: EventHooks | None) -> None:
        self._sleep = asyncio.sleep
        tls = tls_context(is_secure=self._settings.is_secure)

        def open_httpx() -> httpx.AsyncClient:
            return httpx.AsyncClient(
                transport=transport, event_hooks=event_hooks, limits=LIMITS, verify=tls, trust_env=False
            )

        if transport is not None:
            self._sender = AsyncHttpxSender(open_httpx())
        elif event_hooks is not None:
            self._sender = LoopHttpxSender(open_httpx)
        else:
            from lbb.aiohttp_sender import AiohttpSender  # 0.1 s to import, which a blocking client need not pay

            self._sender = AiohttpSender(tls)

    async def _send(self, request: PreparedRequest) -> tuple[SenderReply, Tries]:
        tries = self._tries(request)
        while True:
            try:
                reply = await self._sender.send(request)
            except httpx.RequestError:
                delay = tries.after_no_reply()
                if delay is None:
                    raise
            else:
                delay = tries.after_reply(reply)
                if delay is None:
                    return reply, tries
            await self._sleep(delay)
