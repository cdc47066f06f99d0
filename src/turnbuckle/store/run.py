"""Records of runs."""

from turnbuckle.engine.run import Run
from turnbuckle.store.transaction import Transaction

LAST = "~"  # sorts after every run id


def add(tx: Transaction, run: Run) -> None:
    tx.insert("run_insert", run)


def page(tx: Transaction, graph_id: str, instance_id: str, before: str, limit: int) -> list[Run]:
    """Newest first, before `before`."""
    return tx.all("run_page", Run, graph_id=graph_id, instance_id=instance_id, before=before, limit=limit)


def get(tx: Transaction, graph_id: str, instance_id: str, run_id: str) -> Run | None:
    return tx.one("run_get", Run, graph_id=graph_id, instance_id=instance_id, run_id=run_id)


def remove_ended_before(tx: Transaction, before_ms: int, limit: int) -> int:
    """Remove up to `limit` of the oldest runs; how many went."""
    expired = tx.rows("run_expired", before_ms=before_ms, limit=limit)
    for graph_id, instance_id, run_id in expired:
        tx.run("run_remove", graph_id=graph_id, instance_id=instance_id, run_id=run_id)
    return len(expired)
