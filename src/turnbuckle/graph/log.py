"""The commits of a graph, and what was answered under each idempotency key."""

import msgspec


class Commit(msgspec.Struct, frozen=True):
    graph_id: str
    commit_seq: int
    at_ms: int
    observed_at_ms: int | None
    made_by: bytes
    workflow_id: str | None
    turn: int | None
    ontology_version: int


class CommitKey(msgspec.Struct, frozen=True):
    """The first answer under a key (decision 47): a repeat gets it again."""

    graph_id: str
    key: bytes
    body_hash: bytes
    at_ms: int
    commit_seq: int
    graph_created: int  # 0 or 1, as both databases read it
    no_op: int
    entities_written: int
    edges_written: int
