"""Signals of a turn."""

from turnbuckle.engine.signal import Signal
from turnbuckle.engine.step import NULL
from turnbuckle.engine.turn import Turn
from turnbuckle.store.transaction import Transaction


def log(tx: Transaction, turn: Turn) -> list[Signal]:
    """All signals in the order they came."""
    if turn.signal_count == 0:
        return []
    return tx.all("signal_log", Signal, graph_id=turn.graph_id, instance_id=turn.instance_id, turn=turn.number)


def outline(tx: Transaction, turn: Turn) -> list[Signal]:
    """The same with null for their values."""
    if turn.signal_count == 0:
        return []
    where = {"graph_id": turn.graph_id, "instance_id": turn.instance_id, "turn": turn.number}
    return tx.all("signal_outline", Signal, **where, nothing=NULL)


def find(tx: Transaction, graph_id: str, instance_id: str, turn: int, event_id: bytes) -> Signal | None:
    return tx.one("signal_by_id", Signal, graph_id=graph_id, instance_id=instance_id, turn=turn, event_id=event_id)


def oldest(tx: Transaction, turn: Turn, name: str) -> Signal | None:
    """The oldest of that name which no wait has taken."""
    if turn.signal_count == 0:
        return None
    return tx.one(
        "signal_oldest", Signal, graph_id=turn.graph_id, instance_id=turn.instance_id, turn=turn.number, name=name
    )


def add(tx: Transaction, signal: Signal) -> None:
    tx.insert("signal_insert", signal)


def save(tx: Transaction, old: Signal, new: Signal) -> None:
    tx.save("signal_update", old, new)
