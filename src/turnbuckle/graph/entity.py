"""Records of a graph: their ids, and a row for each time a record was there under one name (lbb-graph 2.4)."""

from collections.abc import Iterable

import msgspec
from blake3 import blake3

# A key that starts so addresses an existing record by its id.
ID_KEY_SENTINEL = "\0lbb-eid:"


class Entity(msgspec.Struct, frozen=True):
    """A record under one display name, in the commits [from_seq, to_seq); to_seq None is still."""

    graph_id: str
    entity_id: str
    from_seq: int
    to_seq: int | None
    class_id: str  # the class's term
    key: bytes | None  # None: its identity is its first name
    name: bytes


def entity_id(class_id: str, key: str | None, name: str) -> str:
    """32 hex digits from class and key, or from class and name where there is no key."""
    identity = ("name", name) if key is None else ("key", key)
    return stable_hash(["entity", class_id, *identity])


def stable_hash(parts: Iterable[str]) -> str:
    """32 lower-case hex digits: the first half of BLAKE3 over each part's UTF-8 bytes and a zero byte."""
    return blake3("".join([f"{part}\0" for part in parts]).encode()).hexdigest()[:32]
