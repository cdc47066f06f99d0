"""Statements of an RDF-native graph."""

import hashlib

import msgspec


class Quad(msgspec.Struct, frozen=True):
    """One statement, in the commits [from_seq, to_seq); to_seq None is still."""

    graph_id: str
    quad_id: str  # 32 hex digits
    from_seq: int
    to_seq: int | None
    text: bytes  # as N-Quads has it, without the dot


def quad_id(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()
