"""Revisions of blobs, and the jobs on them."""

from turnbuckle.store.hub_rows import Operation, Revision
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, revision_id: str) -> Revision | None:
    return tx.one("hub_revision_get", Revision, graph_id=graph_id, revision_id=revision_id)


def lock(tx: Transaction, graph_id: str, revision_id: str) -> Revision | None:
    """The revision, locked until the operation ends: after its blob, before its sessions."""
    return tx.one("hub_revision_lock", Revision, graph_id=graph_id, revision_id=revision_id)


def add(tx: Transaction, revision: Revision) -> None:
    tx.insert("hub_revision_insert", revision)


def save(tx: Transaction, old: Revision, new: Revision) -> None:
    tx.save("hub_revision_update", old, new)


def page(tx: Transaction, graph_id: str, blob_id: str, before: int, limit: int) -> list[Revision]:
    """Newest first, with numbers below `before`."""
    return tx.all("hub_revision_page", Revision, graph_id=graph_id, blob_id=blob_id, before=before, limit=limit)


def operation(tx: Transaction, graph_id: str, operation_id: str) -> Operation | None:
    return tx.one("hub_operation_get", Operation, graph_id=graph_id, operation_id=operation_id)


def add_operation(tx: Transaction, operation: Operation) -> None:
    tx.insert("hub_operation_insert", operation)
