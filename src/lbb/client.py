"""The client names in one place; `lbb` exports them too."""

from lbb.answer import RawLbbResponse
from lbb.async_client import AsyncLbbClient
from lbb.entities import entity_id_from_iri, entity_ref
from lbb.errors import LbbCapabilityError, LbbError
from lbb.execution_reads import AsyncWorkflowTurnReader, WorkflowExecutionError, WorkflowTurnReader
from lbb.list_page import ListPage
from lbb.request import RequestOptions
from lbb.reset import RESET
from lbb.retry_event import RetryEvent
from lbb.sparql_results import SparqlResults
from lbb.stable_hash import stable_hash_hex
from lbb.sync_client import LbbClient

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
    "entity_id_from_iri",
    "entity_ref",
    "stable_hash_hex",
]
