"""The commits of a graph, one after the other: locked, told apart by their keys, numbered, announced.

Every writer of a graph goes through here, whatever it writes: `lock`, look for the key, `advance`, `remember`.
"""

import hashlib
import logging
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from turnbuckle.graph import values
from turnbuckle.graph.head import RDF, RECORD, GraphHead
from turnbuckle.graph.log import Commit, CommitKey
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.inbox import Inbox
from turnbuckle.store import commit as commits
from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.commit import WorkflowFence
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.ontology import GraphPreconditions

log = logging.getLogger("turnbuckle.graph")


class Written(NamedTuple):
    """What a commit's answer counts."""

    entities: int
    edges: int


def missing(caller: Caller) -> Refused:
    return Refused("not_found", f"there is no graph {caller.graph!r}; `create_graph` of a client makes it")


def lock(tx: Transaction, graph_id: str, caller: Caller) -> GraphHead:
    """The graph's head, locked. Refused(not_found) when there is no such graph. Read the clock only after this."""
    head = graphs.lock(tx, graph_id)
    if head is None:
        raise missing(caller)
    return head


def key_of(caller: Caller) -> bytes:
    """The idempotency key. Refused(missing_idempotency_key) without one, (invalid_param) when it is none."""
    key = caller.idempotency_key
    if key is None or not key.strip():
        raise Refused("missing_idempotency_key", "the header Idempotency-Key is missing", param="idempotency-key")
    if len(key) > limits.IDEMPOTENCY_KEY_CHARS or not key.isprintable():
        expected = f"1 to {limits.IDEMPOTENCY_KEY_CHARS} printable characters"
        what = f"idempotency-key: got {key[:80]!r}, expected {expected}"
        raise Refused("invalid_param", what, param="idempotency-key")
    return key.encode()


def known(tx: Transaction, head: GraphHead, key: bytes, body_hash: bytes) -> CommitKey | None:
    """What was answered under the key. Another body gets that answer too (decision 47)."""
    found = commits.known_key(tx, head.graph_id, key)
    if found is not None and found.body_hash != body_hash:
        log.warning("graph %s: key %s was used for another body; the first commit is answered", head.name, key.decode())
    return found


def check_fence(tx: Transaction, graph_id: str, fence: WorkflowFence) -> None:
    """Refused(workflow_fence_lost) unless the token holds the turn now. The instance stays locked (lbb-graph 2.7)."""
    try:
        Inbox.of_holder(tx, graph_id, fence.workflow_id, fence.turn, fence.token)
    except Refused as refused:
        if refused.code not in ("turn_lease_lost", "instance_not_found"):
            raise
        raise Refused("workflow_fence_lost", refused.message, param="workflow_fence") from refused


def check_preconditions(head: GraphHead, asked: GraphPreconditions | None) -> None:
    """Refused(conflict) when the graph has moved on."""
    if asked is None:
        return
    for field, expected, present in (
        ("expected_head_commit_seq", asked.expected_head_commit_seq, head.head_seq),
        ("expected_ontology_version", asked.expected_ontology_version, head.ontology_version),
        ("expected_snapshot_token", asked.expected_snapshot_token, token(head.head_seq)),
    ):
        if expected is not None and expected != present:
            path = f"preconditions.{field}"
            raise Refused("conflict", f"{path}: expected {expected}, it is {present}", param=path)


def check_takes_records(head: GraphHead) -> None:
    """Refused(rdf_native_graph) when the graph's first write was RDF."""
    if head.kind == RDF:
        raise Refused("rdf_native_graph", f"graph {head.name!r} began with RDF and takes no JSON records")


def observed_at_ms(text: str | None) -> int | None:
    """When the facts of a commit were seen. Refused(invalid_request) when the text is no moment."""
    return None if text is None else values.moment_ms(text, "observed_at")


def advance(
    tx: Transaction,
    head: GraphHead,
    caller: Caller,
    *,
    kind: str = RECORD,
    observed_at_ms: int | None = None,
    fence: WorkflowFence | None = None,
) -> GraphHead:
    """The head after one more commit, saved and announced; its rows have `head_seq` as their number."""
    after = replace(head, head_seq=head.head_seq + 1, kind=head.kind or kind)
    graphs.save(tx, head, after)
    workflow_id, turn = (None, None) if fence is None else (fence.workflow_id, fence.turn)
    by, version = caller.by.encode(), head.ontology_version
    where = (head.graph_id, after.head_seq)
    commits.add(tx, Commit(*where, tx.now_ms, observed_at_ms, by, workflow_id, turn, version))
    tx.announce("committed", head.graph_id)
    return after


def remember(
    tx: Transaction, after: GraphHead, key: bytes, body_hash: bytes, written: Written | None, made_graph: bool = False
) -> CommitKey:
    """Keep what is answered under the key, for ever.

    `after` is the head when the write is done. `written` None: nothing changed, and there was no commit.
    """
    entities, edges = written or Written(0, 0)
    where = (after.graph_id, key, body_hash, tx.now_ms, after.head_seq)
    answered = CommitKey(*where, int(made_graph), int(written is None), entities, edges)
    commits.remember_key(tx, answered)
    return answered


def token(seq: int) -> str:
    """The visibility token of a commit."""
    return f"c{seq}"


def hash_of(body: msgspec.Struct) -> bytes:
    """16 bytes, equal for equal bodies whatever the order of their keys."""
    return hashlib.blake2b(msgspec.json.encode(body, order="sorted"), digest_size=16).digest()
