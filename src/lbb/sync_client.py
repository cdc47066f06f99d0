"""The blocking client."""

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self, TypeVar

import httpx

from lbb import models
from lbb.answer import RawLbbResponse
from lbb.base_client import BaseClient, EventHooks
from lbb.call import Call
from lbb.errors import LbbCapabilityError
from lbb.execution_reads import WorkflowTurnReader
from lbb.graph_namespace import GraphNamespace, GraphWrites
from lbb.httpx_sender import LIMITS, HttpxSender
from lbb.named_namespace import BlockingWorkflows
from lbb.request import PreparedRequest, RequestOptions
from lbb.retry import Tries
from lbb.reviews import ReviewsNamespace
from lbb.sender import Sender, SenderReply
from lbb.tls import tls_context

Answer = TypeVar("Answer")


class LbbClient(BaseClient[httpx.BaseTransport], GraphWrites):
    """A blocking client, for scripts and sync step functions. Threads may share it. Close it, or use `with`.

    What its calls raise is listed in `lbb.errors`. Instances, blobs and the worker are on `AsyncLbbClient`.
    """

    _sender: Sender

    def raw_request(
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
        reply, tries = self._send(request)
        return self._answer(reply, tries, binary=False)

    def ask(self, call: Call[Answer]) -> Answer:
        arguments = call.arguments_for(self.default_consistency)
        return call.read(self.raw_request(call.method, call.path, **arguments))

    def binary_request(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, options: RequestOptions | None = None
    ) -> RawLbbResponse:
        """As `raw_request`, with the answer's bytes as `data`."""
        reply, tries = self._send(self._requests.build(method, path, params=params, options=options))
        return self._answer(reply, tries, binary=True)

    def version(self) -> dict[str, Any]:
        """`{version, built_at, git_commit, persisted_format, capabilities}` of the server; needs no key."""
        version: dict[str, Any] = self.raw_request("GET", "/version").data
        self._learn(version)
        return version

    def require_capability(self, capability: str) -> None:
        """LbbCapabilityError unless the server lists it. Asks only while it is not known to."""
        if capability not in self._capabilities:
            self.version()
        if capability not in self._capabilities:
            raise LbbCapabilityError(capability)

    def graph(self, name: str) -> GraphNamespace:
        """This client on another graph."""
        return GraphNamespace(self, name)

    @cached_property
    def workflows(self) -> BlockingWorkflows:
        """The named workflows of the graph."""
        return BlockingWorkflows(self)

    @cached_property
    def reviews(self) -> ReviewsNamespace:
        """Questions to a person, and their answers."""
        return ReviewsNamespace(self)

    def workflow_delete_instance(self, workflow_id: str) -> models.WorkflowInstanceDeleteResponse:
        """Remove an instance with its turns and history. `deleted` is true only for the call that removed it."""
        path, body = "/v1/workflows/instances/delete", {"workflow_id": workflow_id}
        return self.raw_request("POST", path, body=body, options={"retry": True}).model(
            models.WorkflowInstanceDeleteResponse
        )

    def workflow_turn_reader(self, task: Any) -> WorkflowTurnReader:
        """Reads as the held turn of `task`; see `WorkflowTurnReader`."""
        return WorkflowTurnReader(self, task)

    def close(self) -> None:
        """Close the connections. A later request raises RuntimeError."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, transport: httpx.BaseTransport | None, event_hooks: EventHooks | None) -> None:
        self._sleep = time.sleep
        tls = tls_context(is_secure=self._settings.is_secure)
        self._sender = HttpxSender(
            httpx.Client(transport=transport, event_hooks=event_hooks, limits=LIMITS, verify=tls, trust_env=False)
        )

    def _send(self, request: PreparedRequest) -> tuple[SenderReply, Tries]:
        tries = self._tries(request)
        while True:
            try:
                reply = self._sender.send(request)
            except httpx.RequestError:
                delay = tries.after_no_reply()
                if delay is None:
                    raise
            else:
                delay = tries.after_reply(reply)
                if delay is None:
                    return reply, tries
            self._sleep(delay)
