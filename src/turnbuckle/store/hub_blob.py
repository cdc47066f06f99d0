"""Organizations and their blobs."""

from turnbuckle.store.hub_rows import Blob, Org
from turnbuckle.store.transaction import Transaction


def org(tx: Transaction, graph_id: str, org_id: str) -> Org | None:
    return tx.one("hub_org_get", Org, graph_id=graph_id, org_id=org_id)


def org_by_alias(tx: Transaction, graph_id: str, alias: str) -> Org | None:
    return tx.one("hub_org_by_alias", Org, graph_id=graph_id, alias=alias)


def add_org(tx: Transaction, org: Org) -> bool:
    """False when the alias is taken."""
    return tx.insert("hub_org_insert", org) == 1


def orgs(tx: Transaction, graph_id: str) -> list[Org]:
    """All of them, by alias."""
    return tx.all("hub_org_page", Org, graph_id=graph_id)


def get(tx: Transaction, graph_id: str, blob_id: str) -> Blob | None:
    return tx.one("hub_blob_get", Blob, graph_id=graph_id, blob_id=blob_id)


def lock(tx: Transaction, graph_id: str, blob_id: str) -> Blob | None:
    """The blob, locked until the operation ends: before its revisions."""
    return tx.one("hub_blob_lock", Blob, graph_id=graph_id, blob_id=blob_id)


def by_alias(tx: Transaction, graph_id: str, org_id: str, alias: str) -> Blob | None:
    return tx.one("hub_blob_by_alias", Blob, graph_id=graph_id, org_id=org_id, alias=alias)


def add(tx: Transaction, blob: Blob) -> bool:
    """False when the alias is taken."""
    return tx.insert("hub_blob_insert", blob) == 1


def save(tx: Transaction, old: Blob, new: Blob) -> None:
    tx.save("hub_blob_update", old, new)
