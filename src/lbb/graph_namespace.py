"""A client on another graph: `client.graph(name)`. Workflows stay with the client's own graph."""

from typing import TYPE_CHECKING, Unpack

from lbb.answer import RawLbbResponse
from lbb.request import RequestArguments

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient
    from lbb.sync_client import LbbClient


class GraphNamespace:
    """The requests of a blocking client, for the graph `graph_name`."""

    def __init__(self, client: "LbbClient", graph_name: str) -> None:
        self._client = client
        self.graph_name = graph_name

    def raw_request(self, method: str, path: str, **arguments: Unpack[RequestArguments]) -> RawLbbResponse:
        """As the client's `raw_request`, with the same keyword arguments."""
        return self._client.raw_request(method, path, **_in_graph(self.graph_name, arguments))


class AsyncGraphNamespace:
    """The requests of an asynchronous client, for the graph `graph_name`."""

    def __init__(self, client: "AsyncLbbClient", graph_name: str) -> None:
        self._client = client
        self.graph_name = graph_name

    async def raw_request(self, method: str, path: str, **arguments: Unpack[RequestArguments]) -> RawLbbResponse:
        """As the client's `raw_request`, with the same keyword arguments."""
        return await self._client.raw_request(method, path, **_in_graph(self.graph_name, arguments))


def _in_graph(name: str, arguments: RequestArguments) -> RequestArguments:
    params = arguments.get("params") or {}
    return {**arguments, "params": {"graph": name} | {k: v for k, v in params.items() if v is not None}}
