"""The ontology of a graph: one document for each version."""

from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, version: int) -> bytes | None:
    row = tx.row("ontology_get", graph_id=graph_id, version=version)
    return None if row is None else bytes(row[0])


def add(tx: Transaction, graph_id: str, version: int, document: bytes) -> None:
    tx.run("ontology_insert", graph_id=graph_id, version=version, made_at_ms=tx.now_ms, document=document)
