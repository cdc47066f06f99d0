"""RDF as a document: what an import read, wrote and could not read (lbb-graph 2.9)."""

from typing import Annotated, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, Count, Request

_Iri = Annotated[str, Meta(min_length=1, max_length=2_048)]


class RdfImportQuery(Request, frozen=True, kw_only=True):
    """The document's format is `format`, or else what the content type says."""

    format: Literal["ntriples", "turtle", "nquads", "trig"] | None = None
    base_iri: _Iri | None = None  # relative IRIs of Turtle and TriG are resolved against it
    graph_uri: _Iri | None = None  # where triples that the document gives no graph go; default: the default graph
    blank_node_scope: Annotated[str, Meta(min_length=1, max_length=256)] | None = None  # default: the idempotency key
    batch: Annotated[int, Meta(ge=1, le=limits.RDF_BATCH_MAX)] = limits.RDF_BATCH_MAX  # statements in one commit
    strict: bool = False  # one statement that cannot be read refuses the whole document
    observed_at: Annotated[str, Meta(max_length=64)] | None = None
    edge_idempotency: Literal["append", "skip_unchanged"] | None = None  # a statement is there once, whatever is asked
    build: bool = True  # every commit is published at once, so a chunk cannot wait for the last one


class RdfImportError(Answer, frozen=True, kw_only=True):
    line: Count  # from 1
    column: Count  # from 1
    message: str


class RdfImportResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    triples_read: Count
    lines_read: Count
    imported_triplets: Count  # new in the graph
    literal_triples: Count  # of those that were read
    resource_triples: Count
    duplicate_literal_triples: Count  # read, and known already
    duplicate_resource_triples: Count
    predicate_count: Count
    predicates: list[str]  # by first use, at most 1,000
    batches: Count
    error_count: Count
    errors: list[RdfImportError]  # the first 100
    graph_created: bool
    idempotent_replay: bool
    committed_commit_seq: Count | None = None
    published_generation: Count | None = None
