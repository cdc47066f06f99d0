"""Rows of the engine with defaults, so that a test shows only what matters to it."""

from typing import Any

from msgspec.structs import replace

from turnbuckle.engine import turn as turns
from turnbuckle.engine.ids import token_hash
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.signal import Signal
from turnbuckle.engine.step import Step
from turnbuckle.engine.turn import Turn

NOW = 1_000_000
LEASE = 60_000
TOKEN = "token"
WHERE = ("g", "a")


def instance(**fields: Any) -> Instance:
    new = Instance(*WHERE, "inc", "t", "v1", "block", LEASE, 3, b"hash", NOW, NOW)
    return replace(new, **fields)


def queued(**fields: Any) -> Turn:
    return replace(turns.admit(*WHERE, 1, None, NOW), **fields)


def held(**fields: Any) -> Turn:
    """A turn that worker `w` holds until NOW + LEASE."""
    return replace(turns.claim(queued(), b"w", token_hash(TOKEN), LEASE, 1, NOW), **fields)


def operation(**fields: Any) -> Operation:
    """The step `s` at position 0, begun now by the holder."""
    new = Operation(*WHERE, 1, 0, "s", "step", 1, token_hash(TOKEN), NOW, 5_000, None, NOW)
    return replace(new, **fields)


def step(position: int = 0, key: str = "s", **fields: Any) -> Step:
    return replace(Step(*WHERE, 1, position, key, "step", b"1", b"hash of 1", NOW), **fields)


def signal(**fields: Any) -> Signal:
    return replace(Signal(*WHERE, 1, b"e-1", 0, "approval", b"1", b"hash of 1", NOW), **fields)
