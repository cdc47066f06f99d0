"""Questions to a graph in SPARQL, and RDF documents into one."""

import msgspec

from turnbuckle.wire.rdf import RdfImportResponse
from turnbuckle.wire.sparql import SparqlTextRequest, SparqlTextResponse

QUERY_MODELS: tuple[type[msgspec.Struct], ...] = (RdfImportResponse, SparqlTextRequest, SparqlTextResponse)
