"""Questions to a graph in SPARQL, and RDF documents into one."""

from turnbuckle.http.endpoints.endpoint import READERS, Endpoint
from turnbuckle.http.rdf import Rdf
from turnbuckle.operations import query
from turnbuckle.wire import limits
from turnbuckle.wire.rdf import RdfImportQuery, RdfImportResponse
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
    Endpoint(
        "POST",
        "/v1/graph/import/rdf",
        Rdf.post,
        "Put the statements of an RDF document into a graph that has no JSON records.",
        RdfImportResponse,
        query=RdfImportQuery,
        raw_body=True,
        raw_kind="text/turtle",
        body_bytes=limits.RDF_BYTES,
        makes_graph=True,
        with_caller=True,
        refusals=("missing_idempotency_key", "record_graph", "invalid_rdf"),
    ),
    Endpoint(
        "POST",
        "/update",
        Rdf.update,
        "SPARQL update: INSERT DATA, as one commit.",
        None,
        raw_body=True,
        raw_kind="application/sparql-update",
        body_bytes=limits.RDF_UPDATE_BYTES,
        makes_graph=True,
        with_caller=True,
        refusals=("invalid_query", "record_graph"),
    ),
)
