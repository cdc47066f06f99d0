"""Effects of steps."""

from turnbuckle.engine.effect import Effect
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, instance_id: str, turn: int, number: str) -> Effect | None:
    return tx.one("effect_get", Effect, graph_id=graph_id, instance_id=instance_id, turn=turn, number=number)


def add(tx: Transaction, effect: Effect) -> bool:
    """False when it is there already."""
    return tx.insert("effect_insert", effect) == 1


def save(tx: Transaction, old: Effect, new: Effect) -> None:
    tx.save("effect_update", old, new)


def of_turn(tx: Transaction, graph_id: str, instance_id: str, turn: int) -> list[Effect]:
    return tx.all("effect_of_turn", Effect, graph_id=graph_id, instance_id=instance_id, turn=turn)


def of_instance(tx: Transaction, graph_id: str, instance_id: str, after: tuple[int, str], limit: int) -> list[Effect]:
    """By turn and number, after a turn and number."""
    where = {"graph_id": graph_id, "instance_id": instance_id, "turn": after[0], "number": after[1]}
    return tx.all("effect_of_instance", Effect, **where, limit=limit)


def unconfirmed(tx: Transaction, graph_id: str, after: tuple[str, int, str], limit: int) -> list[Effect]:
    """Of all instances of the graph, by instance, turn and number."""
    where = {"graph_id": graph_id, "instance_id": after[0], "turn": after[1], "number": after[2]}
    return tx.all("effect_open", Effect, **where, limit=limit)
