"""The commits of a graph, and the keys they came under."""

from turnbuckle.graph.log import Commit, CommitKey
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, seq: int) -> Commit | None:
    return tx.one("graph_commit_get", Commit, graph_id=graph_id, commit_seq=seq)


def add(tx: Transaction, commit: Commit) -> None:
    tx.insert("graph_commit_insert", commit)


def known_key(tx: Transaction, graph_id: str, key: bytes) -> CommitKey | None:
    """What was answered under the key. Look only after the graph is locked."""
    return tx.one("commit_key_get", CommitKey, graph_id=graph_id, key=key)


def remember_key(tx: Transaction, key: CommitKey) -> None:
    tx.insert("commit_key_insert", key)
