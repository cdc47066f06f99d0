"""A signal: a named value delivered to one turn from outside, once under its event id. Source: lbb-engine 4.5, P12."""

import msgspec
from msgspec.structs import replace

from turnbuckle.engine.turn import Turn
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused


class Signal(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    turn: int
    event_id: bytes
    arrival: int  # 0, 1, 2 ... in the turn
    name: str
    value: bytes
    value_hash: bytes
    at_ms: int
    consumed_by: str | None = None  # key of the step that took it


def is_delivered(asked: Signal, known: Signal | None) -> bool:
    """Whether this event was delivered before. Refused(conflict) when its id came with another name or value."""
    if known is None:
        return False
    if (known.name, known.value_hash) != (asked.name, asked.value_hash):
        raise Refused(
            "conflict",
            f'event id {asked.event_id.decode()!r} was delivered as signal "{known.name}" '
            f'(value {known.value_hash.hex()}), now as "{asked.name}" (value {asked.value_hash.hex()})',
        )
    return True


def check_open(turn: Turn) -> None:
    """Refused(conflict) when the turn can take no signal any more."""
    if turn.finished_at_ms is not None:
        raise Refused("conflict", f"turn {turn.number} has finished ({turn.status}); a signal cannot reach it")
    if turn.signal_count >= limits.SIGNALS_PER_TURN:
        raise Refused("conflict", f"turn {turn.number} already has {limits.SIGNALS_PER_TURN} signals")


def consume(signal: Signal, key: str) -> Signal:
    return replace(signal, consumed_by=key)
