"""The feed of what each commit changed."""

from collections.abc import Iterable

from turnbuckle.graph.change import Change
from turnbuckle.store.transaction import Transaction


def after(tx: Transaction, graph_id: str, after_seq: int, limit: int) -> list[Change]:
    """Changes of the commits after `after_seq`, by commit and record. The last commit may be cut: see `rest_of`."""
    return tx.all("change_after", Change, graph_id=graph_id, after_seq=after_seq, limit=limit)


def rest_of(tx: Transaction, graph_id: str, seq: int, after_id: str, limit: int) -> list[Change]:
    """Changes of one commit, by record, after the record `after_id`."""
    return tx.all("change_rest_of", Change, graph_id=graph_id, seq=seq, after_id=after_id, limit=limit)


def add(tx: Transaction, changes: Iterable[Change]) -> None:
    tx.insert_all("change_insert", changes)
