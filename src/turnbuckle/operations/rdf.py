"""RDF into a graph: one batch of statements is one commit (lbb-graph 2.9). The batches are http/rdf.py's."""

import hashlib
from collections.abc import Sequence

import msgspec

from turnbuckle.graph import values
from turnbuckle.graph.head import RDF, RECORD, GraphHead
from turnbuckle.graph.quad import Quad, quad_id
from turnbuckle.operations import commit_log
from turnbuckle.operations.caller import Caller
from turnbuckle.store import graph as graphs
from turnbuckle.store import quad as quads
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused


class Written(msgspec.Struct, frozen=True):
    literals: int  # new ones
    resources: int
    commit_seq: int | None = None  # None: nothing was new
    is_replay: bool = False
    graph_created: bool = False


def write(
    tx: Transaction,
    graph_id: str,
    literals: Sequence[bytes],
    resources: Sequence[bytes],
    number: int,
    observed_at: str | None,
    caller: Caller,
) -> Written:
    """Commit batch `number` of a document. One that was committed under the document's key is not written again.

    Refused(record_graph) where the graph's first write was JSON.
    """
    key = commit_log.key_of(caller) + b"#%d" % number
    head = commit_log.lock(tx, graph_id, caller)
    body_hash = hashlib.blake2b(b"\n".join([*literals, *resources]), digest_size=16).digest()
    known = commit_log.known(tx, head, key, body_hash)
    if known is not None:
        seq = None if known.no_op else known.commit_seq
        return Written(known.entities_written, known.edges_written, seq, True, bool(known.graph_created))
    check_takes_rdf(head)
    observed_at_ms = None if observed_at is None else values.moment_ms(observed_at, "observed_at")
    new_literals, new_resources = _new(tx, graph_id, literals), _new(tx, graph_id, resources)
    if not new_literals and not new_resources:
        commit_log.remember(tx, head, key, body_hash, None)
        return Written(0, 0)
    after = commit_log.advance(tx, head, caller, kind=RDF, observed_at_ms=observed_at_ms)
    texts = (new_literals | new_resources).items()
    quads.add(tx, [Quad(graph_id, name, after.head_seq, None, text) for name, text in sorted(texts)])
    counts = commit_log.Written(len(new_literals), len(new_resources))
    commit_log.remember(tx, after, key, body_hash, counts, made_graph=head.is_blank)
    return Written(*counts, after.head_seq, graph_created=head.is_blank)


def check(tx: Transaction, graph_id: str) -> None:
    """Refused(record_graph) as `write`, before anything is read."""
    head = graphs.head(tx, graph_id)
    if head is not None:
        check_takes_rdf(head)


def check_takes_rdf(head: GraphHead) -> None:
    if head.kind == RECORD:
        raise Refused("record_graph", f"graph {head.name!r} began with JSON records and takes no RDF")


def _new(tx: Transaction, graph_id: str, texts: Sequence[bytes]) -> dict[str, bytes]:
    """Those that are not there yet, by their ids."""
    by_id = {quad_id(text): text for text in texts}
    known = quads.known(tx, graph_id, by_id)
    return {name: text for name, text in by_id.items() if name not in known}
