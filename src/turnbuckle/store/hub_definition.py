"""Definitions, and their documents by hash."""

from turnbuckle.store.hub_rows import Definition
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, definition_id: str) -> Definition | None:
    return tx.one("hub_definition_get", Definition, graph_id=graph_id, definition_id=definition_id)


def by_alias(tx: Transaction, graph_id: str, revision_id: str, category: str, alias: str) -> Definition | None:
    where = {"revision_id": revision_id, "category": category, "alias": alias}
    return tx.one("hub_definition_by_alias", Definition, graph_id=graph_id, **where)


def page(tx: Transaction, graph_id: str, revision_id: str, category: str, limit: int) -> list[Definition]:
    """By alias."""
    where = {"revision_id": revision_id, "category": category, "limit": limit}
    return tx.all("hub_definition_page", Definition, graph_id=graph_id, **where)


def add(tx: Transaction, definition: Definition) -> bool:
    """False when its alias is taken."""
    return tx.insert("hub_definition_insert", definition) == 1


def save(tx: Transaction, old: Definition, new: Definition) -> None:
    tx.save("hub_definition_update", old, new)


def delete(tx: Transaction, graph_id: str, definition_id: str) -> None:
    tx.run("hub_definition_delete", graph_id=graph_id, definition_id=definition_id)


def document(tx: Transaction, graph_id: str, sha256: str) -> bytes:
    """The bytes as they were uploaded."""
    row = tx.row("hub_document_get", graph_id=graph_id, sha256=sha256)
    if row is None:
        raise LookupError(f"the document {sha256} is missing")
    return bytes(row[0])


def put_document(tx: Transaction, graph_id: str, sha256: str, content: bytes, now_us: int) -> None:
    if tx.run("hub_document_insert", graph_id=graph_id, sha256=sha256, bytes=content, now_us=now_us) == 0:
        tx.run("hub_document_refresh", graph_id=graph_id, sha256=sha256, now_us=now_us)


def remove_unused_documents(tx: Transaction, before_us: int) -> int:
    """Documents that no definition and no execution has, last written before that; how many went."""
    return tx.run("hub_document_remove_unused", before_us=before_us)
