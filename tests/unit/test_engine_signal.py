"""Signals to one turn: engine/signal.py (P12)."""

import pytest

from tests.unit.engine_rows import NOW, held, queued, signal
from turnbuckle.engine import signal as signals
from turnbuckle.engine import turn as turns
from turnbuckle.engine.signal import Signal
from turnbuckle.engine.turn import Turn
from turnbuckle.wire.errors import Refused


def test_an_event_is_delivered_once() -> None:
    assert not signals.is_delivered(signal(), None)
    assert signals.is_delivered(signal(at_ms=NOW + 5), signals.consume(signal(), "wait"))


@pytest.mark.parametrize(
    ("asked", "both"),
    [
        (signal(name="veto"), 'as signal "approval" .*, now as "veto"'),
        (signal(value_hash=b"hash of 2"), f"value {b'hash of 1'.hex()}.*value {b'hash of 2'.hex()}"),
    ],
)
def test_an_event_id_used_for_something_else_is_refused_naming_both(asked: Signal, both: str) -> None:
    with pytest.raises(Refused, match=both) as refused:
        signals.is_delivered(asked, signal())

    assert refused.value.code == "conflict"


@pytest.mark.parametrize(
    "turn",
    [queued(), held(), turns.sleep(held(), 1, NOW), turns.fail(held(), b"no", True, 3, NOW), held(signal_count=63)],
    ids=["queued", "held", "asleep", "failed and blocking", "with 63 signals"],
)
def test_every_unfinished_turn_takes_signals(turn: Turn) -> None:
    signals.check_open(turn)


@pytest.mark.parametrize(
    ("turn", "why"),
    [
        (turns.complete(held(), None, b"hash", None, NOW), "turn 1 has finished .completed."),
        (turns.cancel(held(), NOW), "turn 1 has finished .cancelled."),
        (turns.skip(turns.fail(held(), b"no", True, 3, NOW), NOW), "turn 1 has finished .failed."),
        (held(signal_count=64), "turn 1 already has 64 signals"),
    ],
    ids=["completed", "cancelled", "skipped", "full"],
)
def test_a_finished_or_full_turn_takes_none(turn: Turn, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        signals.check_open(turn)

    assert refused.value.code == "conflict"
