"""Messages as they were sent."""

from turnbuckle.engine.message import Message
from turnbuckle.store.transaction import Transaction


def find(tx: Transaction, graph_id: str, instance_id: str, message_id: bytes) -> Message | None:
    return tx.one("message_by_id", Message, graph_id=graph_id, instance_id=instance_id, message_id=message_id)


def get(tx: Transaction, graph_id: str, instance_id: str, number: int) -> Message | None:
    return tx.one("message_get", Message, graph_id=graph_id, instance_id=instance_id, number=number)


def add(tx: Transaction, message: Message) -> None:
    tx.insert("message_insert", message)
