"""A saved step, and what may be saved at a position. Source: lbb-engine 4.4, P11; decision 6."""

import msgspec

from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused

NULL = b"null"
UNHEARD = b'{"received":false,"value":null}'  # a signal's output until it is heard, and for good after the timeout


class Step(msgspec.Struct, frozen=True):
    """One entry of a turn's replay log."""

    graph_id: str
    instance_id: str
    turn: int
    position: int
    key: str
    kind: str  # step, sleep or signal
    output: bytes
    output_hash: bytes
    at_ms: int
    delay_ms: int | None = None
    signal_name: str | None = None
    wake_at_ms: int | None = None


def heard(step: Step, value: bytes, output_hash: bytes) -> Step:
    """The waiting step with the signal's value as its output."""
    return msgspec.structs.replace(step, output=b'{"received":true,"value":' + value + b"}", output_hash=output_hash)


def is_saved(asked: Step, saved: Step | None) -> bool:
    """Whether `asked` is a repeat of what is saved at its position: then it changes nothing.

    Refused(conflict) when something else is saved there. A signal's output is the server's and is not compared.
    """
    if saved is None:
        return False
    if is_same(asked, saved):
        return True
    check_order(asked.position, asked.key, asked.kind, saved)
    what = f'step {asked.position} "{asked.key}" is saved with another output, delay or signal name'
    raise Refused("conflict", what)


def check_order(position: int, key: str, kind: str, saved: Step) -> None:
    """Refused(conflict) when what is saved at the position is another step: the code's order changed."""
    if saved.position == position and (saved.key, saved.kind) != (key, kind):
        what = (
            f'step {position} was saved as "{saved.key}" ({saved.kind}), now "{key}" ({kind}): the step order changed'
        )
        raise Refused("conflict", what)


def is_same(asked: Step, saved: Step) -> bool:
    same_output = asked.kind == "signal" or asked.output_hash == saved.output_hash
    return same_output and _identity(asked) == _identity(saved)


def _identity(step: Step) -> tuple[object, ...]:
    return (step.key, step.kind, step.delay_ms, step.signal_name)


def check_position(position: int, step_count: int, key: str) -> None:
    """Refused(conflict) unless `position` is the next one and the turn has room for it."""
    if position != step_count:
        raise Refused("conflict", f'step "{key}" came at position {position}; the next position is {step_count}')
    if position >= limits.STEPS_PER_TURN:
        raise Refused(
            "conflict",
            f'step "{key}" would be number {position + 1}; a turn holds at most {limits.STEPS_PER_TURN} steps. '
            "Continue in the next turn with ctx.continue_",
        )


def check_key(key: str, position: int, same_key_at: int | None) -> None:
    """Refused(conflict) when the key is saved elsewhere in the turn."""
    if same_key_at is not None and same_key_at != position:
        raise Refused("conflict", f'step key "{key}" is used twice: at position {same_key_at} and at {position}')
