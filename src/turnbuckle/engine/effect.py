"""An outside effect of a step: intended before it is sent, confirmed after, in doubt when the attempt ended between."""

import hashlib
from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import Turn, is_running
from turnbuckle.wire.effect import EffectState


class Effect(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    turn: int
    number: str  # names it within the turn: the same for the same effect on every attempt
    step: str
    effect_id: str
    kind: str
    target: bytes
    attempt: int  # the latest that began it
    began_at_ms: int  # when that attempt began the step: attempts after a release have the same number
    attempts: int  # how many times the step was begun with it
    intended_at_ms: int
    confirmed_at_ms: int | None = None


def number(effect_id: str, kind: str, target: bytes) -> str:
    """24 hex digits; one effect id may stand for several effects of a step, told apart by kind and target."""
    parts = b"\0".join((effect_id.encode(), kind.encode(), target))
    return hashlib.blake2b(parts, digest_size=12).hexdigest()


def intend(known: Effect | None, asked: Effect) -> Effect:
    """The row once an attempt means to do it. The same attempt again changes nothing."""
    if known is None:
        return asked
    if known.began_at_ms == asked.began_at_ms:
        return known
    return replace(asked, attempts=known.attempts + 1, confirmed_at_ms=known.confirmed_at_ms)


def confirm(effect: Effect, now_ms: int) -> Effect:
    """It has happened. The first time counts."""
    return effect if effect.confirmed_at_ms is not None else replace(effect, confirmed_at_ms=now_ms)


def state(effect: Effect, turn: Turn, operation: Operation | None, saved: Collection[str]) -> EffectState:
    """What is known of it, given the turn as of now and the keys of its saved steps.

    A step is saved after its function has returned, so its effects have happened.
    """
    if effect.confirmed_at_ms is not None or effect.step in saved:
        return "confirmed"
    if operation is None or not is_running(turn, operation) or operation.key != effect.step:
        return "in_doubt"
    return "intended" if operation.started_at_ms == effect.began_at_ms else "in_doubt"
