"""`Prefer: return=minimal`: what a worker gets for the answers it does not read."""

from typing import Any

import pytest

from tests.e2e.api import MESSAGE, WORKFLOWS, Api, ok

MINIMAL = {"prefer": "return=minimal"}
STEP = {"key": "s", "position": 0, "kind": "step"}
WAIT = {"key": "w", "position": 0, "name": "ok", "timeout_ms": 60_000}


@pytest.mark.parametrize(
    ("route", "fields"),
    [
        ("heartbeat", {}),
        ("checkpoint", {**STEP, "output": 1}),
        ("complete", {"state": 1}),
        ("fail", {"error": "no"}),
    ],
)
async def test_a_worker_that_reads_nothing_gets_nothing(api: Api, route: str, fields: dict[str, Any]) -> None:
    held = await api.held()

    assert ok(await api.turn(route, held, headers=MINIMAL, **fields)) == {}


async def test_the_begin_of_a_step_answers_its_cursor(api: Api) -> None:
    held = await api.held()
    first = ok(await api.turn("operation", held, headers=MINIMAL, **STEP, timeout_ms=5_000))
    told = await api.turn("progress", held, headers=MINIMAL, key="s", sequence=1, details=None, checkpoint={"page": 7})
    again = ok(await api.turn("operation", held, headers=MINIMAL, **STEP, timeout_ms=5_000))

    assert ok(told) == {}
    assert (first, again) == ({"operation": {"checkpoint": None}}, {"operation": {"checkpoint": {"page": 7}}})


async def test_a_wait_for_a_signal_answers_its_step_and_whether_it_waits(api: Api) -> None:
    """The worker got `{}` and failed each turn that waited, for good."""
    held = await api.held()

    waiting = ok(await api.turn("wait-signal", held, headers=MINIMAL, **WAIT))

    assert (waiting["status"], waiting["steps"][0]["output"]) == ("waiting", None)


async def test_an_early_signal_is_in_the_answer_to_its_wait(api: Api) -> None:
    held = await api.held()
    signal = {"workflow_id": "a", "turn": 1, "id": "e-1", "name": "ok", "value": {"yes": True}}
    ok(await api.post(f"{WORKFLOWS}/turns/signal", signal))

    heard = ok(await api.turn("wait-signal", held, headers=MINIMAL, **WAIT))

    assert heard["status"] == "running"
    assert heard["steps"][0]["output"] == {"received": True, "value": {"yes": True}}


async def test_a_sender_gets_the_turn_it_asked_for(api: Api) -> None:
    """The number of the turn is what a send is answered for."""
    await api.started()

    turn = ok(await api.post(MESSAGE, {"workflow_id": "a", "id": "m", "message": 1}, headers=MINIMAL))

    assert turn["number"] == 1
