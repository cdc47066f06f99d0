"""The log of model calls."""

from turnbuckle.engine.call import Call
from turnbuckle.store.transaction import Transaction

_NOTHING = b"null"


def add(tx: Transaction, call: Call) -> None:
    tx.insert("call_insert", call)


def page(tx: Transaction, graph_id: str, first: str, before: str, job: str | None, limit: int) -> list[Call]:
    """Newest first, with ids from `first` up to before `before`; without inputs and outputs."""
    where = {"graph_id": graph_id, "first": first, "before": before, "job": job or ""}
    return tx.all("call_page", Call, **where, limit=limit, nothing=_NOTHING)


def get(tx: Transaction, graph_id: str, id: str) -> Call | None:
    return tx.one("call_get", Call, graph_id=graph_id, id=id)


def remove_before(tx: Transaction, before_ms: int, limit: int) -> int:
    """Remove up to `limit` of the oldest; how many went."""
    expired = tx.rows("call_expired", before_ms=before_ms, limit=limit)
    for graph_id, id in expired:
        tx.run("call_remove", graph_id=graph_id, id=id)
    return len(expired)
