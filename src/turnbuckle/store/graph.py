"""Graphs and environments: global rows that name the scope of everything else."""

from turnbuckle.graph.head import GraphHead
from turnbuckle.store.schema import tables_of_a_graph
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


def head(tx: Transaction, graph_id: str) -> GraphHead | None:
    return tx.one("graph_head", GraphHead, graph_id=graph_id)


def lock(tx: Transaction, graph_id: str) -> GraphHead | None:
    """The graph's head, locked until the operation ends: commits of one graph come one after the other."""
    return tx.one("graph_lock", GraphHead, graph_id=graph_id)


def save(tx: Transaction, old: GraphHead, new: GraphHead) -> None:
    tx.save("head_update", old, new)


def ids(tx: Transaction) -> set[str]:
    """Of every graph in every environment."""
    return {graph_id for (graph_id,) in tx.rows("graph_ids")}


def page(tx: Transaction, environment: str, after: str, limit: int) -> list[str]:
    """Names of the environment's graphs, after the name `after`."""
    return [name for (name,) in tx.rows("graph_page", environment=environment, after=after, limit=limit)]


# -- deleting ----------------------------------------------------------------------------------------------------


def delete(tx: Transaction, graph_id: str) -> None:
    """Free the name and note that the rows are to go."""
    tx.run("graph_delete", graph_id=graph_id)
    tx.run("deleted_graph_insert", graph_id=graph_id, now_ms=tx.now_ms)


def deleted(tx: Transaction) -> list[tuple[str, int]]:
    """(graph id, deleted at) of graphs whose rows are to go."""
    return [(graph_id, at_ms) for graph_id, at_ms in tx.rows("deleted_graph_list")]


def forget(tx: Transaction, graph_id: str) -> None:
    tx.run("deleted_graph_forget", graph_id=graph_id)


def clear(tx: Transaction, graph_id: str, limit: int) -> int:
    """Remove up to `limit` rows of a deleted graph from one table; how many went. Instances go first."""
    for noun in tables_of_a_graph():
        removed = tx.run(f"clear_{noun}", graph_id=graph_id, limit=limit)
        if removed:
            return removed
    return 0


def environments_with(tx: Transaction, name: str) -> list[str]:
    """The environments that have a graph of that name."""
    return [environment for (environment,) in tx.rows("graph_environments", name=name)]
