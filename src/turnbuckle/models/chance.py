"""Chance that is the same every time: numbers from a hash of a seed, for the mock models."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_RANGE = 1 << 64


class Chance:
    """A source of numbers that depend on the seed alone."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._drawn = 0

    def number(self) -> int:
        """0 to 2**64 - 1."""
        self._drawn += 1
        made = hashlib.blake2b(self._seed, digest_size=8, salt=self._drawn.to_bytes(16, "big"))
        return int.from_bytes(made.digest(), "big")

    def share(self) -> float:
        """0 <= share < 1."""
        return (self.number() >> 11) / (1 << 53)

    def integer(self, least: int, most: int) -> int:
        """least <= integer <= most."""
        return least + self.number() * (most - least + 1) // _RANGE

    def one_of(self, things: Sequence[T]) -> T:
        return things[self.integer(0, len(things) - 1)]
