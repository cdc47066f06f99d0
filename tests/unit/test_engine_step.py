"""What may be saved at a position of a turn: engine/step.py (P11)."""

import pytest
from msgspec.structs import replace

from tests.unit.engine_rows import step
from turnbuckle.engine import step as steps
from turnbuckle.engine.step import UNHEARD, Step
from turnbuckle.wire.errors import Refused

SLEEP = step(kind="sleep", output=b"null", output_hash=b"null", delay_ms=5_000, wake_at_ms=1)
WAIT = step(kind="signal", output=UNHEARD, output_hash=b"unheard", delay_ms=5_000, signal_name="ok", wake_at_ms=1)


# -- repeats -----------------------------------------------------------------------------------------------------


def test_nothing_saved_is_no_repeat() -> None:
    assert not steps.is_saved(step(), None)


@pytest.mark.parametrize("saved", [step(), SLEEP, WAIT], ids=["step", "sleep", "wait"])
def test_the_same_request_again_is_a_repeat(saved: Step) -> None:
    """Its times are the server's and are not compared."""
    assert steps.is_saved(replace(saved, at_ms=0, wake_at_ms=None), saved)


def test_a_wait_that_was_heard_meanwhile_is_still_a_repeat() -> None:
    """The output of a signal is the server's."""
    assert steps.is_saved(WAIT, steps.heard(WAIT, b"true", b"hash of the output"))


@pytest.mark.parametrize(
    ("asked", "saved", "why"),
    [
        (step(output=b"2", output_hash=b"hash of 2"), step(), 'step 0 "s" is saved with another output, delay'),
        (replace(SLEEP, delay_ms=6_000), SLEEP, 'step 0 "s" is saved with another output, delay'),
        (replace(WAIT, signal_name="no"), WAIT, 'step 0 "s" is saved with another output, delay or signal name'),
        (step(key="b"), step(key="a"), 'step 0 was saved as "a" .step., now "b" .step.: the step order changed'),
        (SLEEP, step(), 'step 0 was saved as "s" .step., now "s" .sleep.: the step order changed'),
    ],
    ids=["output", "delay", "signal", "key", "kind"],
)
def test_something_else_at_a_saved_position_is_refused_naming_both(asked: Step, saved: Step, why: str) -> None:
    """B073, B074: the message says what was saved and what came, so a reader sees the changed order."""
    with pytest.raises(Refused, match=why) as refused:
        steps.is_saved(asked, saved)

    assert refused.value.code == "conflict"


# -- positions and keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 1, 63])
def test_the_next_position_is_free(position: int) -> None:
    steps.check_position(position, position, "s")


@pytest.mark.parametrize(("position", "count"), [(0, 1), (2, 1), (5, 0)])
def test_any_other_position_is_refused(position: int, count: int) -> None:
    with pytest.raises(Refused, match=f'step "s" came at position {position}; the next position is {count}'):
        steps.check_position(position, count, "s")


def test_a_65th_step_is_refused_and_told_the_way_out() -> None:
    """B088: the limit is told in words, before anything is lost."""
    with pytest.raises(Refused, match=r"would be number 65; a turn holds at most 64 steps.*continue_") as refused:
        steps.check_position(64, 64, "s")

    assert refused.value.code == "conflict"


def test_a_key_serves_one_step_of_a_turn() -> None:
    """B076: a second use overwrote the results of earlier rounds."""
    steps.check_key("s", 1, None)
    steps.check_key("s", 1, 1)
    with pytest.raises(Refused, match='step key "s" is used twice: at position 0 and at 1'):
        steps.check_key("s", 1, 0)


def test_a_heard_signal_is_the_steps_output() -> None:
    heard = steps.heard(WAIT, b'{"ok":true}', b"hash")

    assert heard.output == b'{"received":true,"value":{"ok":true}}'
