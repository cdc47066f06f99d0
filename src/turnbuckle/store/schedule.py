"""Schedules of named workflows."""

from turnbuckle.graph.schedule import Schedule
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, name: str) -> Schedule | None:
    return tx.one("schedule_get", Schedule, graph_id=graph_id, name=name)


def add(tx: Transaction, schedule: Schedule) -> None:
    tx.insert("schedule_insert", schedule)


def save(tx: Transaction, old: Schedule, new: Schedule) -> None:
    tx.save("schedule_update", old, new)


def delete(tx: Transaction, graph_id: str, name: str) -> None:
    tx.run("schedule_delete", graph_id=graph_id, name=name)


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    """(graph id, name) of those that are due, the longest first."""
    return [(graph_id, name) for graph_id, name in tx.rows("schedule_waiting", now_ms=tx.now_ms)]
