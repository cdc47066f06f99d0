"""What a client offers on its graph, and the same on another one: `client.graph(name)`.

Workflow instances and blobs stay with the client's own graph. Methods that are the same for both clients are said once,
in `graph_calls`, `query_calls`, `activity_calls` and `named_calls`.
"""

import asyncio
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from lbb import activity_calls, graph_calls, named_calls, query_calls
from lbb.answer import RawLbbResponse
from lbb.call import Asks, AsksAsync, Asynchronous, Blocking, Call
from lbb.request import RequestArguments

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient
    from lbb.sync_client import LbbClient

Answer = TypeVar("Answer")


class OntologyNamespace:
    """What the graph may hold: its classes, relations and properties."""

    def __init__(self, graph: Asks) -> None:
        self.ask = graph.ask

    evolve = Blocking(graph_calls.evolve)
    view = Blocking(graph_calls.view)


class AsyncOntologyNamespace:
    """What the graph may hold: its classes, relations and properties."""

    def __init__(self, graph: AsksAsync) -> None:
        self.ask = graph.ask

    evolve = Asynchronous(graph_calls.evolve)
    view = Asynchronous(graph_calls.view)


class EntitiesNamespace:
    """The records of the graph."""

    def __init__(self, graph: Asks) -> None:
        self.ask = graph.ask

    detail = Blocking(graph_calls.detail)


class AsyncEntitiesNamespace:
    """The records of the graph."""

    def __init__(self, graph: AsksAsync) -> None:
        self.ask = graph.ask

    detail = Asynchronous(graph_calls.detail)


class FactsNamespace:
    """Writing to the graph."""

    def __init__(self, graph: Asks) -> None:
        self.ask = graph.ask

    create = Blocking(graph_calls.commit)
    import_ndjson = Blocking(graph_calls.import_ndjson)
    import_rdf = Blocking(graph_calls.import_rdf)


class AsyncFactsNamespace:
    """Writing to the graph."""

    def __init__(self, graph: AsksAsync) -> None:
        self.ask = graph.ask

    create = Asynchronous(graph_calls.commit)
    import_ndjson = Asynchronous(graph_calls.import_ndjson)
    import_rdf = Asynchronous(graph_calls.import_rdf)


class GraphMethods:
    """Of a blocking client and of its graph namespaces."""

    def ask(self, call: Call[Answer]) -> Answer:
        """Send a call of `lbb` and read its answer."""
        raise NotImplementedError

    sparql = Blocking(query_calls.sparql)
    use_workflow_starter = Blocking(named_calls.use_workflow_starter)

    @cached_property
    def ontology(self) -> OntologyNamespace:
        return OntologyNamespace(self)

    @cached_property
    def entities(self) -> EntitiesNamespace:
        return EntitiesNamespace(self)


class AsyncGraphMethods:
    """Of an asynchronous client and of its graph namespaces."""

    async def ask(self, call: Call[Answer]) -> Answer:
        """Send a call of `lbb` and read its answer."""
        raise NotImplementedError

    sparql = Asynchronous(query_calls.sparql)
    use_workflow_starter = Asynchronous(named_calls.use_workflow_starter)

    @cached_property
    def ontology(self) -> AsyncOntologyNamespace:
        return AsyncOntologyNamespace(self)

    @cached_property
    def entities(self) -> AsyncEntitiesNamespace:
        return AsyncEntitiesNamespace(self)


class GraphWrites(GraphMethods):
    """What a blocking client has on its own graph only."""

    create_graph = Blocking(graph_calls.create_graph)
    commit = Blocking(graph_calls.commit)
    commit_model = Blocking(graph_calls.commit_model)
    commit_dry_run = Blocking(graph_calls.commit_dry_run)
    commit_dry_run_model = Blocking(graph_calls.commit_dry_run_model)
    reason_activity = Blocking(activity_calls.reason_activity)
    decide_activity = Blocking(activity_calls.decide_activity)
    embed_activity = Blocking(activity_calls.embed_activity)


class AsyncGraphWrites(AsyncGraphMethods):
    """What an asynchronous client has on its own graph only."""

    create_graph = Asynchronous(graph_calls.create_graph)
    commit = Asynchronous(graph_calls.commit)
    commit_model = Asynchronous(graph_calls.commit_model)
    commit_dry_run = Asynchronous(graph_calls.commit_dry_run)
    commit_dry_run_model = Asynchronous(graph_calls.commit_dry_run_model)
    reason_activity = Asynchronous(activity_calls.reason_activity)
    decide_activity = Asynchronous(activity_calls.decide_activity)
    embed_activity = Asynchronous(activity_calls.embed_activity)


class GraphNamespace(GraphMethods):
    """The requests of a blocking client, for the graph `graph_name`."""

    def __init__(self, client: "LbbClient", graph_name: str) -> None:
        self._client = client
        self.graph_name = graph_name

    def raw_request(self, method: str, path: str, **arguments: Unpack[RequestArguments]) -> RawLbbResponse:
        """As the client's `raw_request`, with the same keyword arguments."""
        return self._client.raw_request(method, path, **_in_graph(self.graph_name, arguments))

    def ask(self, call: Call[Answer]) -> Answer:
        arguments = call.arguments_for(self._client.default_consistency)
        return call.read(self.raw_request(call.method, call.path, **arguments))

    delete = Blocking(graph_calls.delete_graph)
    publication_status = Blocking(graph_calls.publication_status)

    @cached_property
    def facts(self) -> FactsNamespace:
        return FactsNamespace(self)

    def wait_for_published(
        self, target_seq: int, *, timeout: float = 30.0, poll_interval: float = 0.25
    ) -> dict[str, Any]:
        """The publication status once ordinary reads see the commit `target_seq`.

        TimeoutError after `timeout` seconds; RuntimeError when publication is blocked.
        """
        ends_at = time.monotonic() + timeout
        while not is_published(status := self.publication_status(), target_seq):
            time.sleep(next_poll_seconds(target_seq, timeout, ends_at, poll_interval))
        return status


class AsyncGraphNamespace(AsyncGraphMethods):
    """The requests of an asynchronous client, for the graph `graph_name`."""

    def __init__(self, client: "AsyncLbbClient", graph_name: str) -> None:
        self._client = client
        self.graph_name = graph_name

    async def raw_request(self, method: str, path: str, **arguments: Unpack[RequestArguments]) -> RawLbbResponse:
        """As the client's `raw_request`, with the same keyword arguments."""
        return await self._client.raw_request(method, path, **_in_graph(self.graph_name, arguments))

    async def ask(self, call: Call[Answer]) -> Answer:
        arguments = call.arguments_for(self._client.default_consistency)
        return call.read(await self.raw_request(call.method, call.path, **arguments))

    delete = Asynchronous(graph_calls.delete_graph)
    publication_status = Asynchronous(graph_calls.publication_status)

    @cached_property
    def facts(self) -> AsyncFactsNamespace:
        return AsyncFactsNamespace(self)

    async def wait_for_published(
        self,
        target_seq: int,
        *,
        timeout: float = 30.0,  # noqa: ASYNC109  (the public name)
        poll_interval: float = 0.25,
    ) -> dict[str, Any]:
        """The publication status once ordinary reads see the commit `target_seq`.

        TimeoutError after `timeout` seconds; RuntimeError when publication is blocked.
        """
        ends_at = time.monotonic() + timeout
        while not is_published(status := await self.publication_status(), target_seq):  # noqa: ASYNC110
            await asyncio.sleep(next_poll_seconds(target_seq, timeout, ends_at, poll_interval))
        return status


def is_published(status: dict[str, Any], target_seq: int) -> bool:
    if status["state"] == "blocked":
        raise RuntimeError(f"publication of the graph is blocked: {status}")
    return bool(status["state"] == "current" and status["published_seq"] >= target_seq)


def next_poll_seconds(target_seq: int, timeout_seconds: float, ends_at: float, poll_seconds: float) -> float:
    left = ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"commit {target_seq} was not published within {timeout_seconds} s")
    return min(poll_seconds, left)


def _in_graph(name: str, arguments: RequestArguments) -> RequestArguments:
    params = arguments.get("params") or {}
    return {**arguments, "params": {"graph": name} | {k: v for k, v in params.items() if v is not None}}
