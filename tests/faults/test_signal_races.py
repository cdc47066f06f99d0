"""A signal that comes while its wait is being written: never lost, and a wait that timed out stays so (B042)."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lbb import AsyncLbbClient
from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment, start

LANES = 8
TURNS = "/v1/workflows/turns/"


@dataclass(frozen=True)
class Held:
    """A claimed turn, as a worker knows it."""

    id: str
    turn: int
    token: str
    steps: list[Any]

    @property
    def lease(self) -> dict[str, Any]:
        return {"workflow_id": self.id, "turn": self.turn, "token": self.token}


@pytest.mark.timeout(400)
async def test_signals_and_waits_at_the_same_moment(
    deployment: Deployment, profile: Profile, note: Callable[[str], None]
) -> None:
    races = profile.pick(short=320, long=10_000)
    async with deployment.client() as client:
        seen = await asyncio.gather(
            *(
                lane(client, number, races // LANES, random.Random(f"{profile.seed}/{number}"))
                for number in range(LANES)
            )
        )

    total = sum(seen, Counter())
    note(f"signal races: {races}, stuck 0, {', '.join(f'{count} {how}' for how, count in sorted(total.items()))}")
    assert sum(total.values()) == races
    assert total["received"] > 0
    assert total["timed out"] > 0


async def lane(client: AsyncLbbClient, number: int, races: int, rng: random.Random) -> "Counter[str]":
    """One instance of its own type, so that its claims bring its turns; one race per turn."""
    id, seen = f"lane-{number}", Counter[str]()
    handle = await start(client, id, id, None, lease_ms=60_000)
    for turn in range(1, races + 1):
        await handle.send(turn, id=f"m-{turn}")
        held = await claim(client, id)
        assert held.turn == turn
        seen[await race(client, held, rng)] += 1
    return seen


async def race(client: AsyncLbbClient, held: Held, rng: random.Random) -> str:
    """The wait and its signal, up to 3 ms apart either way; some waits may time out meanwhile."""
    apart_s = rng.uniform(-0.003, 0.003)
    timeout_ms = rng.choice((1, 3, 60_000))
    await asyncio.gather(
        after(max(0.0, apart_s), wait(client, held, timeout_ms)), after(max(0.0, -apart_s), signal(client, held))
    )

    again = await claim_unless_held(client, held)  # stuck when this does not come back
    output = again.steps[0]["output"]
    if not output["received"]:
        assert timeout_ms < 60_000
        await check_it_stays(client, again)
    else:
        assert output == {"received": True, "value": held.turn}
    await post(client, "complete", {**again.lease, "state": None})
    return "received" if output["received"] else "timed out"


async def check_it_stays(client: AsyncLbbClient, again: Held) -> None:
    """Whether its signal came late or comes once more, a wait that has timed out has timed out."""
    await signal(client, again)
    params = {"id": again.id, "turn": again.turn}
    shown = (await client.raw_request("GET", "/v1/workflows/instances/turn", params=params)).data
    assert shown["steps"][0]["output"] == {"received": False, "value": None}


async def claim_unless_held(client: AsyncLbbClient, held: Held) -> Held:
    """The turn to go on with: still held when the signal was there already, else by the next claim."""
    params = {"id": held.id, "turn": held.turn}
    shown = (await client.raw_request("GET", "/v1/workflows/instances/turn", params=params)).data
    if shown["status"] == "running":
        return Held(held.id, held.turn, held.token, shown["steps"])
    return await claim(client, held.id)


async def claim(client: AsyncLbbClient, workflow: str) -> Held:
    body = {"worker": "w", "workflows": [{"workflow_type": workflow, "version": "v1"}], "wait_ms": 10_000}
    task = (await post(client, "claim", body))["task"]
    assert task is not None, f"{workflow} is stuck"
    return Held(workflow, task["turn"]["number"], task["token"], task["turn"]["steps"])


async def wait(client: AsyncLbbClient, held: Held, timeout_ms: int) -> Any:
    body = {**held.lease, "position": 0, "key": "ask", "name": "approval", "timeout_ms": timeout_ms}
    return await post(client, "wait-signal", body)


async def signal(client: AsyncLbbClient, held: Held) -> None:
    body = {"workflow_id": held.id, "turn": held.turn, "id": "e-1", "name": "approval", "value": held.turn}
    await post(client, "signal", body)


async def after(seconds: float, request: Any) -> Any:
    if seconds:
        await asyncio.sleep(seconds)
    return await request


async def post(client: AsyncLbbClient, route: str, body: Any) -> Any:
    return (await client.raw_request("POST", TURNS + route, body=body, options={"retry": False})).data
