"""`lbb`: the client and the worker SDK. Start with `AsyncLbbClient` and `lbb.workflows`.

What the API offers is said once for both clients, as functions that give a `Call` (`call`, then `graph_calls`,
`query_calls`, `activity_calls`, `named_calls`, `reviews`); the namespaces make methods of them.
The HTTP core, each file importing only those before it: `settings`, `request` (build), `retry` (try again?),
`answer` (read); `httpx_sender` and `aiohttp_sender` (send); `sync_client` and `async_client` put them together.
`models` is generated from the server's OpenAPI.
"""

from lbb import models
from lbb.client import (
    RESET,
    AsyncLbbClient,
    AsyncWorkflowTurnReader,
    LbbCapabilityError,
    LbbClient,
    LbbError,
    ListPage,
    RawLbbResponse,
    RequestOptions,
    RetryEvent,
    SparqlResults,
    WorkflowExecutionError,
    WorkflowTurnReader,
    entity_id_from_iri,
    entity_ref,
    stable_hash_hex,
)
from lbb.version import __version__

__all__ = [
    "RESET",
    "AsyncLbbClient",
    "AsyncWorkflowTurnReader",
    "LbbCapabilityError",
    "LbbClient",
    "LbbError",
    "ListPage",
    "RawLbbResponse",
    "RequestOptions",
    "RetryEvent",
    "SparqlResults",
    "WorkflowExecutionError",
    "WorkflowTurnReader",
    "__version__",
    "entity_id_from_iri",
    "entity_ref",
    "models",
    "stable_hash_hex",
]
