"""Questions to a graph in SPARQL, and RDF documents into one."""

import msgspec

from turnbuckle.http.endpoints.endpoint import READERS, Endpoint
from turnbuckle.operations import query
from turnbuckle.wire.rdf import RdfImportResponse
from turnbuckle.wire.sparql import SparqlTextQuery, SparqlTextRequest, SparqlTextResponse

QUERY: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/v1/query/sparql-text",
        query.sparql_text,
        "Rows of a SPARQL SELECT, or the answer to an ASK, of the graph now or at an earlier commit.",
        SparqlTextResponse,
        body=SparqlTextRequest,
        query=SparqlTextQuery,
        roles=READERS,
        refusals=(
            "invalid_query",
            "query_timeout",
            "query_too_large",
            "read_your_writes_pending",
            "strong_read_pending",
            "query_interrupted",
            "index_unavailable",
        ),
    ),
)
QUERY_MODELS: tuple[type[msgspec.Struct], ...] = (RdfImportResponse,)
