"""`stable_hash_hex`: the hash that both sides of the protocol compute alike."""

from collections.abc import Iterable

from blake3 import blake3


def stable_hash_hex(parts: Iterable[str]) -> str:
    """32 lower-case hex digits: the first half of BLAKE3 over each part's UTF-8 bytes and a zero byte.

    TypeError for one plain string, which would be hashed letter by letter.
    """
    if isinstance(parts, str):
        raise TypeError('stable_hash_hex takes a sequence of strings, got one string; write ["..."]')
    return blake3(b"".join(part.encode() + b"\0" for part in parts)).hexdigest()[:32]
