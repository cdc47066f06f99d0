"""Saved steps and the running operation."""

from turnbuckle.engine.operation import Operation
from turnbuckle.engine.step import NULL, Step
from turnbuckle.engine.turn import Turn
from turnbuckle.store.transaction import Transaction


def log(tx: Transaction, turn: Turn) -> list[Step]:
    """All saved steps in order."""
    if turn.step_count == 0:
        return []
    return tx.all("step_log", Step, graph_id=turn.graph_id, instance_id=turn.instance_id, turn=turn.number)


def outline(tx: Transaction, turn: Turn) -> list[Step]:
    """The same with null for their outputs."""
    if turn.step_count == 0:
        return []
    where = {"graph_id": turn.graph_id, "instance_id": turn.instance_id, "turn": turn.number}
    return tx.all("step_outline", Step, **where, nothing=NULL)


def near(tx: Transaction, turn: Turn, position: int, key: str) -> list[Step]:
    """What is saved at the position or under the key: at most two."""
    if turn.step_count == 0:
        return []
    where = {"graph_id": turn.graph_id, "instance_id": turn.instance_id, "turn": turn.number}
    return tx.all("step_near", Step, **where, position=position, key=key)


def at(tx: Transaction, turn: Turn, position: int) -> Step | None:
    return tx.one(
        "step_at", Step, graph_id=turn.graph_id, instance_id=turn.instance_id, turn=turn.number, position=position
    )


def times(tx: Transaction, turn: Turn) -> list[tuple[str, int]]:
    """(key, saved at) of the steps, without their outputs."""
    if turn.step_count == 0:
        return []
    rows = tx.rows("step_times", graph_id=turn.graph_id, instance_id=turn.instance_id, turn=turn.number)
    return [(key, at_ms) for key, at_ms in rows]


def add(tx: Transaction, step: Step) -> None:
    tx.insert("step_insert", step)


def save(tx: Transaction, old: Step, new: Step) -> None:
    tx.save("step_update", old, new)


def add_operation(tx: Transaction, operation: Operation) -> None:
    tx.insert("operation_insert", operation)


def save_operation(tx: Transaction, old: Operation, new: Operation) -> None:
    tx.save("operation_update", old, new)
