"""Instances and their states."""

from turnbuckle.engine.instance import Instance
from turnbuckle.store.transaction import Transaction


def lock(tx: Transaction, graph_id: str, instance_id: str) -> Instance | None:
    """The instance, locked until the operation ends. Read the clock and the turns only after this."""
    tx.locked.add((graph_id, instance_id))
    return tx.one("instance_lock", Instance, graph_id=graph_id, instance_id=instance_id)


def get(tx: Transaction, graph_id: str, instance_id: str) -> Instance | None:
    return tx.one("instance_get", Instance, graph_id=graph_id, instance_id=instance_id)


def add(tx: Transaction, instance: Instance) -> bool:
    """False when the id is in use."""
    return tx.insert("instance_insert", instance) == 1


def save(tx: Transaction, old: Instance, new: Instance) -> None:
    tx.save("instance_update", old, new)


def pick(tx: Transaction, graph_id: str, workflow_type: str, version: str) -> Instance | None:
    """The instance of the pair that has been claimable longest, locked; instances that others hold are passed over."""
    return tx.one(
        "instance_pick",
        Instance,
        graph_id=graph_id,
        workflow_type=workflow_type,
        version=version,
        now_ms=tx.now_ms,
    )


def next_claimable_at(tx: Transaction, graph_id: str, workflow_type: str, version: str) -> int | None:
    row = tx.row("instance_next_claimable", graph_id=graph_id, workflow_type=workflow_type, version=version)
    return None if row is None else row[0]


def page(tx: Transaction, graph_id: str, workflow_type: str | None, after: str, limit: int) -> list[Instance]:
    """Instances by id after `after`, of one type or of all."""
    if workflow_type is None:
        return tx.all("instance_page", Instance, graph_id=graph_id, after=after, limit=limit)
    return tx.all(
        "instance_page_of_type", Instance, graph_id=graph_id, workflow_type=workflow_type, after=after, limit=limit
    )


def count(tx: Transaction, graph_id: str, workflow_type: str, version: str | None) -> int:
    row = tx.row("instance_count_of_type", graph_id=graph_id, workflow_type=workflow_type, version=version)
    return int(row[0]) if row else 0


def count_held(tx: Transaction, graph_id: str) -> int:
    row = tx.row("instance_count_held", graph_id=graph_id)
    return int(row[0]) if row else 0


def sum_sequence(tx: Transaction, graph_id: str) -> int:
    row = tx.row("instance_sum_sequence", graph_id=graph_id)
    return int(row[0]) if row else 0


def due(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    """(graph id, instance id) of instances whose attempt has ended by itself."""
    return [(graph, instance) for graph, instance in tx.rows("instance_due", now_ms=tx.now_ms, limit=limit)]


def next_due_at(tx: Transaction) -> int | None:
    row = tx.row("instance_next_due")
    return None if row is None else row[0]


def prunable(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    return [(graph, instance) for graph, instance in tx.rows("instance_prunable", now_ms=tx.now_ms, limit=limit)]


def state(tx: Transaction, instance: Instance) -> bytes:
    """The present state as the JSON bytes that came."""
    row = tx.row("state_get", graph_id=instance.graph_id, instance_id=instance.instance_id, turn=instance.state_turn)
    if row is None:
        raise LookupError(f"instance {instance.instance_id} has no state row {instance.state_turn}")
    return bytes(row[0])


def add_state(tx: Transaction, instance: Instance, turn: int, value: bytes) -> None:
    tx.run("state_insert", graph_id=instance.graph_id, instance_id=instance.instance_id, turn=turn, value=value)


_ROOMS = (
    "signal",
    "effect",
    "step",
    "operation",
    "run",
    "named_flight",
    "watch_given",
    "turn",
    "message",
    "state",
    "instance",
)


def delete(tx: Transaction, graph_id: str, instance_id: str) -> bool:
    """Remove the instance with everything it has; False when there was none."""
    removed = 0
    for noun in _ROOMS:
        removed = tx.run(f"{noun}_delete", graph_id=graph_id, instance_id=instance_id)
    return removed == 1
