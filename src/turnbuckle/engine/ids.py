"""Ids that follow from other ids. Random parts are arguments."""

import hashlib


def effect_prefix(graph_id: str, incarnation: str, turn: int, message_id: bytes) -> str:
    """32 hex that stay the same for one message of one instance, over all attempts (P23).

    A re-created graph or instance gets others, so an old effect is never taken for a new one.
    """
    parts = (graph_id.encode(), incarnation.encode(), str(turn).encode(), message_id)
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def continuation_id(prefix: str) -> bytes:
    """The message id of the turn that a completed turn continues in. No user's id has a control character."""
    return f"\x01continuation/{prefix}".encode()


def token_hash(token: str) -> bytes:
    """What is stored of a lease token; the token itself is only in the holder's hand (P24)."""
    return hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=16).digest()
