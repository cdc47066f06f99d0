"""The demo's verdict: it passes what is right, and names each promise that was broken."""

from dataclasses import replace

import pytest
from examples.demo.ledger import Row
from examples.demo.verdict import Facts, Kill, Turn, violations

STEPS = ("read", "count")


def effect(turn: int, step: str, effect_id: str | None = None) -> Row:
    return Row("effect", effect_id or f"p{turn}/{step}", "docs", turn, step, f"out-{step}", worker=1)


def replay(turn: int, step: str, output: str | None = None) -> Row:
    return Row("replay", "", "docs", turn, step, output or f"out-{step}", worker=2)


def turn(number: int, message_id: str, status: str = "completed") -> Turn:
    return Turn("docs", number, message_id, status, {step: f"out-{step}" for step in STEPS}, took_ms=10)


GOOD = Facts(
    sent=[("docs", "a.md"), ("docs", "b.md")],
    turns=[turn(1, "a.md"), turn(2, "b.md")],
    rows=[*(effect(number, step) for number in (1, 2) for step in STEPS), effect(1, "count"), replay(1, "read")],
    kills=[Kill("worker-a", 1.0, frozenset({("docs", 1)})), Kill("server", 2.0, frozenset({("docs", 2)}))],
    words={"docs": 7},
    counted={"docs": 7},
    steps=STEPS,
)


def test_a_run_in_which_all_was_kept_is_clean() -> None:
    assert violations(GOOD) == []
    assert (GOOD.resends, GOOD.resends_limit) == (1, 2)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (replace(GOOD, turns=GOOD.turns[:1]), "message b.md of docs was completed 0 times"),
        (replace(GOOD, turns=[turn(1, "a.md"), turn(2, "b.md", "failed")]), "message b.md of docs was completed 0"),
        (replace(GOOD, turns=[*GOOD.turns, turn(3, "b.md")]), "message b.md of docs was completed 2 times"),
        (replace(GOOD, turns=[*GOOD.turns, turn(3, "c.md")]), "message c.md of docs was completed and never sent"),
        (replace(GOOD, turns=[turn(1, "b.md"), turn(2, "a.md")]), "expected the order of sending"),
        (replace(GOOD, rows=[*GOOD.rows, effect(1, "read", "another")]), "has 2 effect ids"),
        (replace(GOOD, rows=[*GOOD.rows, effect(2, "read", "p1/read")]), "effect id p1/read is that of 2 steps"),
        (replace(GOOD, rows=GOOD.rows[1:]), "step read of turn 1 of docs is saved and had no effect"),
        (
            replace(GOOD, rows=[*GOOD.rows, replay(1, "read", "other")]),
            "was replayed as other, it is saved as out-read",
        ),
        (replace(GOOD, turns=[replace(turn(1, "a.md"), steps={"read": "x"}), turn(2, "b.md")]), "has the steps"),
        (replace(GOOD, rows=[*GOOD.rows, *GOOD.rows[:2]]), "3 effects were sent again, expected at most 2"),
        (replace(GOOD, words={"docs": 6}), "docs says 6 words, counted directly there are 7"),
        (replace(GOOD, kills=GOOD.kills[:1]), "no server was killed with a turn in flight"),
        (replace(GOOD, kills=[replace(GOOD.kills[0], in_flight=frozenset()), GOOD.kills[1]]), "no worker was killed"),
        (replace(GOOD, problems=["a row is wrong"]), "doctor: a row is wrong"),
    ],
)
def test_each_broken_promise_is_told(broken: Facts, told: str) -> None:
    assert any(told in text for text in violations(broken)), violations(broken)


def test_a_lease_lost_without_a_kill_may_send_one_effect_again() -> None:
    """A kill explains one lost attempt of each turn in flight, and no more."""
    turns = [replace(GOOD.turns[0], lost_attempts=2), replace(GOOD.turns[1], lost_attempts=1)]

    assert replace(GOOD, turns=turns).lost_without_a_kill == 1
    assert violations(replace(GOOD, turns=turns, rows=[*GOOD.rows, *GOOD.rows[:2]])) == []
