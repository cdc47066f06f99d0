"""A SPARQL query before the index has it: which point of its graph it reads (lbb-graph 2.10)."""

import msgspec

from turnbuckle.graph.head import RDF
from turnbuckle.operations import point as points
from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.sparql import SparqlTextQuery, SparqlTextRequest


class Asked(msgspec.Struct, frozen=True):
    """A query's graph as it is when the query comes."""

    head_seq: int
    head: str  # the head's point
    wanted: str  # the point that is to be read
    is_rdf: bool


def sparql_text(tx: Transaction, graph_id: str, query: SparqlTextQuery, request: SparqlTextRequest) -> Asked:
    """Refused(invalid_param) for a commit above the head, (read_your_writes_pending) when that is only waited for."""
    return ask(tx, graph_id, request.as_of_commit_seq, query.min_indexed_seq)


def ask(tx: Transaction, graph_id: str, as_of: int | None, at_least: int | None = None) -> Asked:
    """As `sparql_text`."""
    head = graphs.head(tx, graph_id)
    head_seq = 0 if head is None else head.head_seq
    if as_of is not None and as_of > head_seq:
        what = f"as_of_commit_seq: got {as_of}, the graph's head is {head_seq}"
        raise Refused("invalid_param", what, param="as_of_commit_seq")
    if at_least is not None and at_least > head_seq:
        what = f"min_indexed_seq: got {at_least}, the graph's head is {head_seq}"
        raise Refused("read_your_writes_pending", what, param="min_indexed_seq", retry_after_s=1)
    here = points.head(tx, graph_id)
    wanted = here if as_of is None or as_of == head_seq else points.at(tx, graph_id, as_of)
    return Asked(head_seq, here, wanted, head is not None and head.kind == RDF)
