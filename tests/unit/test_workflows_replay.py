"""The replay core (lbb-engine 5.5): saved steps in, one of four answers out."""

from typing import Any

import pytest

from lbb.workflows.replay import Diverged, Park, Replay, Run, Saved
from tests.unit.workflow_server import saved


def reason(answer: object) -> str:
    assert isinstance(answer, Diverged)
    return answer.reason


def test_a_saved_step_is_answered_with_its_output() -> None:
    assert Replay([saved("a", 7)]).step("a") == Saved(7)


def test_a_new_step_is_to_be_run_at_its_position() -> None:
    replay = Replay([saved("a", 7)])
    replay.step("a")

    assert replay.step("b") == Run(1)


def test_a_new_sleep_and_a_new_signal_wait_park_the_turn() -> None:
    assert Replay([]).sleep("z", 10) == Park(0)
    assert Replay([]).wait_for_signal("r", "approval", 10) == Park(0)


def test_a_saved_sleep_and_signal_wait_are_answered() -> None:
    replay = Replay(
        [
            saved("z", None, "sleep", delay_ms=10),
            saved("r", {"received": True, "value": 1}, "signal", delay_ms=20, signal_name="approval"),
        ]
    )

    assert replay.sleep("z", 10) == Saved(None)
    assert replay.wait_for_signal("r", "approval", 20) == Saved({"received": True, "value": 1})


@pytest.mark.parametrize(
    ("log", "ask", "says"),
    [
        ([saved("a")], lambda r: r.step("b"), 'step 1 was saved as "a" (step), the code now asks for "b" (step)'),
        (
            [saved("a")],
            lambda r: r.sleep("a", 5),
            'step 1 was saved as "a" (step), the code now asks for "a" (sleep, 5 ms)',
        ),
        (
            [saved("z", None, "sleep", delay_ms=5)],
            lambda r: r.sleep("z", 6),
            'step 1 was saved as "z" (sleep, 5 ms), the code now asks for "z" (sleep, 6 ms)',
        ),
        (
            [saved("r", None, "signal", delay_ms=5, signal_name="yes")],
            lambda r: r.wait_for_signal("r", "no", 5),
            'step 1 was saved as "r" (signal "yes", 5 ms), the code now asks for "r" (signal "no", 5 ms)',
        ),
    ],
    ids=["renamed", "changed kind", "changed delay", "changed signal name"],
)
def test_a_changed_step_order_names_both_steps_and_a_way_out(log: list[Any], ask: Any, says: str) -> None:
    told = reason(ask(Replay(log)))

    assert told.startswith(says + ": the step order changed")
    assert "new version" in told


def test_the_seventeenth_step_is_called_step_17() -> None:
    replay = Replay([saved(f"s{number}") for number in range(16)] + [saved("a")])
    for number in range(16):
        replay.step(f"s{number}")

    assert reason(replay.step("b")).startswith(
        'step 17 was saved as "a" (step), the code now asks for "b" (step): the step order changed'
    )


def test_two_swapped_steps_and_an_inserted_one_are_an_order_change() -> None:
    assert "order changed" in reason(Replay([saved("a"), saved("b")]).step("b"))


def test_a_handler_that_skips_saved_steps_cannot_complete() -> None:
    replay = Replay([saved("a"), saved("b")])
    replay.step("a")

    told = replay.unfinished()

    assert told is not None
    assert 'after 1 step calls, but the turn has 2 saved steps; step 2 is "b" (step): the step order changed' in told


def test_a_key_used_twice_names_both_positions() -> None:
    replay = Replay([saved("a"), saved("b")])
    replay.step("a")
    replay.step("b")

    told = reason(replay.step("a"))

    assert 'step key "a" is used twice' in told
    assert "it is step 1" in told
    assert "asked for again as step 3" in told


def test_a_key_used_twice_is_found_among_new_steps_too() -> None:
    replay = Replay([])
    replay.step("a")
    replay.save("a")

    assert "is used twice" in reason(replay.step("a"))


@pytest.mark.parametrize("key", ["", "a b", "ä", "a/b", "x" * 129, "a\n"])
def test_a_key_that_is_no_name_is_refused(key: str) -> None:
    assert "a step key is 1 to 128 of A-Z a-z 0-9 _ . -" in reason(Replay([]).step(key))


def test_a_key_of_128_letters_dots_and_dashes_is_fine() -> None:
    assert Replay([]).step("a-b_C.9" + "x" * 121) == Run(0)


def test_sixty_four_steps_are_allowed_and_the_next_says_what_to_do() -> None:
    replay = Replay([saved(f"s{number}") for number in range(63)])
    for number in range(63):
        replay.step(f"s{number}")
    assert replay.step("last") == Run(63)
    replay.save("last")

    told = reason(replay.step("more"))

    assert "step 65" in told
    assert "ctx.continue_" in told


def test_a_second_step_while_one_runs_is_refused() -> None:
    replay = Replay([])
    replay.step("a")

    told = reason(replay.step("b"))

    assert 'asked for step "b" while step "a" ran' in told
    assert "one after the other" in told


def test_going_on_after_a_failed_step_is_refused() -> None:
    replay = Replay([])
    replay.step("a")
    replay.fail()

    assert 'step "a" failed, and the handler went on and asked for step "b"' in reason(replay.step("b"))
    assert replay.unfinished() is not None


def test_a_step_that_was_started_and_not_saved_keeps_the_turn_from_completing() -> None:
    replay = Replay([])
    replay.step("a")

    assert 'returned while step "a" ran' in (replay.unfinished() or "")


def test_a_broken_rule_is_remembered_whatever_the_handler_does_next() -> None:
    replay = Replay([saved("a"), saved("b")])
    first = reason(replay.step("x"))

    assert reason(replay.step("a")) == first
    assert reason(replay.sleep("z", 1)) == first
    assert replay.unfinished() == first


def test_a_turn_whose_steps_were_all_called_and_saved_can_complete() -> None:
    replay = Replay([saved("a")])
    replay.step("a")
    replay.step("b")
    replay.save("b")

    assert replay.unfinished() is None


def test_it_is_replaying_until_the_last_saved_step_was_asked_for() -> None:
    replay = Replay([saved("a"), saved("b")])
    seen = [replay.is_replaying]
    for key in ("a", "b"):
        replay.step(key)
        seen.append(replay.is_replaying)

    assert seen == [True, True, False]


def test_the_code_before_a_step_that_had_begun_is_a_replay_too() -> None:
    replay = Replay([saved("a")], begun_key="b")
    replay.step("a")
    before = replay.is_replaying
    replay.step("b")

    assert (before, replay.is_replaying) == (True, False)


def test_an_operation_left_from_a_saved_step_says_nothing_about_the_code_after_it() -> None:
    replay = Replay([saved("a")], begun_key="a")
    replay.step("a")

    assert not replay.is_replaying
