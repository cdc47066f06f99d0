"""Turns, with the operation, message and state that belong to them."""

from typing import Any

import msgspec

from turnbuckle.engine.message import Message
from turnbuckle.engine.operation import NULL, Operation
from turnbuckle.engine.turn import Turn
from turnbuckle.store.transaction import Transaction

_TURN = len(Turn.__struct_fields__)
_OPERATION = _TURN + len(Operation.__struct_fields__)
_MESSAGE = _OPERATION + len(Message.__struct_fields__)


class Whole(msgspec.Struct, frozen=True):
    """A turn with what a reader sees beside it."""

    turn: Turn
    operation: Operation | None
    message: Message
    state: bytes | None  # for a task the present state, else the state the turn completed with


def load(tx: Transaction, graph_id: str, instance_id: str, number: int) -> tuple[Turn, Operation | None] | None:
    row = tx.row("turn_load", graph_id=graph_id, instance_id=instance_id, number=number)
    return None if row is None else (Turn(*row[:_TURN]), _operation(row))


def task(tx: Transaction, graph_id: str, instance_id: str, number: int, state_turn: int) -> Whole:
    """What a claim hands out."""
    row = tx.row("turn_task", graph_id=graph_id, instance_id=instance_id, number=number, state_turn=state_turn)
    if row is None:
        raise LookupError(f"turn {number} of {instance_id} lacks its message or its state {state_turn}")
    return _whole(row)


def read(tx: Transaction, graph_id: str, instance_id: str, number: int) -> Whole | None:
    row = tx.row("turn_read", graph_id=graph_id, instance_id=instance_id, number=number)
    return None if row is None else _whole(row)


def outline(tx: Transaction, graph_id: str, instance_id: str, number: int) -> Whole | None:
    """The same with null for every user's value: none is read."""
    row = tx.row("turn_outline", graph_id=graph_id, instance_id=instance_id, number=number, nothing=NULL)
    return None if row is None else _whole(row)


def _whole(row: tuple[Any, ...]) -> Whole:
    return Whole(Turn(*row[:_TURN]), _operation(row), Message(*row[_OPERATION:_MESSAGE]), row[_MESSAGE])


def _operation(row: tuple[Any, ...]) -> Operation | None:
    return None if row[_TURN] is None else Operation(*row[_TURN:_OPERATION])


def add(tx: Transaction, turn: Turn) -> None:
    tx.insert("turn_insert", turn)


def save(tx: Transaction, old: Turn, new: Turn) -> None:
    tx.save("turn_update", old, new)


def next_unfinished(
    tx: Transaction, graph_id: str, instance_id: str, after: int
) -> tuple[Turn, Operation | None] | None:
    row = tx.row("turn_next_unfinished", graph_id=graph_id, instance_id=instance_id, after=after)
    return None if row is None else (Turn(*row[:_TURN]), _operation(row))


def unfinished(tx: Transaction, graph_id: str, instance_id: str, after: int, limit: int) -> list[int]:
    """Numbers of the turns in the inbox."""
    return _numbers(tx, "turn_unfinished_page", graph_id, instance_id, after, limit)


def finished(tx: Transaction, graph_id: str, instance_id: str, after: int, limit: int) -> list[int]:
    """Numbers of the turns in the history."""
    return _numbers(tx, "turn_finished_page", graph_id, instance_id, after, limit)


def _numbers(tx: Transaction, name: str, graph_id: str, instance_id: str, after: int, limit: int) -> list[int]:
    rows = tx.rows(name, graph_id=graph_id, instance_id=instance_id, after=after, limit=limit)
    return [number for (number,) in rows]


def newest_received_at(tx: Transaction, graph_id: str, instance_id: str) -> int | None:
    """When the newest message in the inbox came."""
    row = tx.row("turn_newest_unfinished", graph_id=graph_id, instance_id=instance_id)
    return None if row is None else row[0]


def prunable(
    tx: Transaction, graph_id: str, instance_id: str, after: int, through: int, limit: int
) -> list[tuple[int, int | None]]:
    """(number, finished at) of the oldest turns."""
    return tx.rows(
        "turn_prunable", graph_id=graph_id, instance_id=instance_id, after=after, through=through, limit=limit
    )


def prune(tx: Transaction, graph_id: str, instance_id: str, after: int, through: int, kept_state: int) -> None:
    """Remove turns after+1 .. through; their message ids stay known, and so does the present state."""
    for noun in ("signal", "step", "operation", "effect", "turn"):
        tx.run(f"{noun}_prune", graph_id=graph_id, instance_id=instance_id, through=through)
    tx.run("message_forget", graph_id=graph_id, instance_id=instance_id, through=through, after=after)
    tx.run("state_prune", graph_id=graph_id, instance_id=instance_id, through=through, kept=kept_state)


def held_by(tx: Transaction, graph_id: str, held: str, worker: bytes, limit: int) -> list[str]:
    """Ids of the instances whose turn a worker of that name holds."""
    rows = tx.rows("turn_held_by", graph_id=graph_id, held=held, worker=worker, limit=limit)
    return [instance_id for (instance_id,) in rows]
