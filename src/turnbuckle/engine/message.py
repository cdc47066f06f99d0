"""A message: what was sent to an instance under an id. Its id stays known when the message itself was pruned."""

import msgspec

from turnbuckle.wire.errors import Refused


class Message(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    number: int  # of the turn it became
    message_id: bytes
    body_hash: bytes
    body: bytes | None  # None once pruned (decision 7)
    body_bytes: int
    received_at_ms: int


def is_known(asked: Message, known: Message | None) -> bool:
    """Whether the id was admitted before. Refused(conflict) when it came with another message (P5)."""
    if known is None:
        return False
    if known.body_hash != asked.body_hash:
        raise Refused(
            "conflict",
            f"message id {asked.message_id.decode()!r} was used for turn {known.number} with another message "
            f"(content {known.body_hash.hex()}, now {asked.body_hash.hex()}): give another message another id",
        )
    return True
