"""Graphs and environments: global rows that name the scope of everything else."""

from turnbuckle.store.transaction import Transaction


def find(tx: Transaction, environment: str, name: str) -> str | None:
    """The graph's opaque id."""
    row = tx.row("graph_get", environment=environment, name=name)
    return None if row is None else str(row[0])


def add(tx: Transaction, environment: str, name: str, graph_id: str) -> None:
    """Make the graph and its environment, where they are missing."""
    add_environment(tx, environment)
    tx.run("graph_insert", graph_id=graph_id, environment=environment, name=name, now_ms=tx.now_ms)


def add_environment(tx: Transaction, environment: str) -> None:
    tx.run("environment_insert", name=environment, now_ms=tx.now_ms)
