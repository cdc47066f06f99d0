"""The server is killed while turns complete: output, end of the turn, state and next message are one write (B015).

The clients here are bare: they repeat a request with the same bytes until it is answered, whatever happens to the
server meanwhile. So every kill hits requests in flight.
"""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbError
from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment, start

LANES = 12
CLAIM_S = 30.0  # many times the lease
TURNS = "/v1/workflows/turns/"


@pytest.mark.timeout(600)
async def test_a_server_killed_during_completes_applies_each_once(
    deployment: Deployment, profile: Profile, note: Callable[[str], None]
) -> None:
    kills = profile.pick(short=12, long=500)
    rng, is_over = random.Random(profile.seed), asyncio.Event()
    async with deployment.client(max_retries=0) as client:
        lanes = [asyncio.create_task(lane(client, f"lane-{number}", is_over)) for number in range(LANES)]
        await asyncio.to_thread(kill_often, deployment, kills, rng)
        is_over.set()
        totals = await asyncio.gather(*lanes)
        done = [(await client.workflows.handle(f"lane-{number}").status()).state["done"] for number in range(LANES)]

    deployment.server.terminate()
    deployment.server.wait(15)
    lost = sum(total - len(set(applied)) for total, applied in zip(totals, done, strict=True))
    twice = sum(len(applied) - len(set(applied)) for applied in done)
    note(f"completes: server kills {kills}, turns {sum(totals)}, losses {lost}, applied twice {twice}")
    assert done == [list(range(1, total + 1)) for total in totals]
    assert min(totals) > 0
    assert deployment.problems() == []


def kill_often(deployment: Deployment, kills: int, rng: random.Random) -> None:
    for _ in range(kills):
        time.sleep(rng.uniform(0.02, 0.15))
        deployment.restart_server()


async def lane(client: AsyncLbbClient, id: str, is_over: asyncio.Event) -> int:
    """Send a message and do its turn, one after the other; how many were completed."""
    await insist(lambda: start(client, id, id, {"done": []}, max_attempts=100))
    number = 0
    while not is_over.is_set():
        number += 1
        body = {"workflow_id": id, "id": f"m-{number}", "message": number}
        sent = await post(client, "/v1/workflows/instances/message", body)
        assert sent["number"] == number  # admitted once, though it may have been sent twice
        while not await do_turn(client, id, number):
            pass
    return number


async def do_turn(client: AsyncLbbClient, id: str, number: int) -> bool:
    """Claim, save a step, complete. False when the lease was lost on the way: nothing was applied then."""
    task = await claim(client, id)
    assert task["turn"]["number"] == number  # so the completion before was applied, once
    lease = {"workflow_id": id, "turn": number, "token": task["token"]}
    after = {"done": [*task["state"]["done"], number]}
    try:
        if not task["turn"]["steps"]:
            await post(client, TURNS + "checkpoint", {**lease, "key": "k", "kind": "step", "position": 0, "output": 1})
        done = await post(client, TURNS + "complete", {**lease, "state": after, "result": number})
    except LbbError as refusal:
        if refusal.code != "turn_lease_lost":
            raise
        return False
    assert (done["status"], done["result"], done["state_after"]) == ("completed", number, after)
    return True


async def claim(client: AsyncLbbClient, id: str) -> dict[str, Any]:
    """The lane's turn. A claim whose answer was lost holds it until its lease ends; the delay after that is cut."""
    body = {"worker": "w", "workflows": [{"workflow_type": id, "version": "v1"}], "wait_ms": 0}
    ends_at = time.monotonic() + CLAIM_S
    while (task := (await post(client, TURNS + "claim", body))["task"]) is None:
        assert time.monotonic() < ends_at, f"{id} has no turn: one was completed and its completion refused, or is lost"
        await asyncio.sleep(0.05)
        await post(client, "/v1/workflows/instances/control", {"workflow_id": id, "action": "resume"})
    return dict(task)


async def post(client: AsyncLbbClient, path: str, body: Any) -> Any:
    return (await insist(lambda: client.raw_request("POST", path, body=body, options={"retry": False}))).data


async def insist(request: Callable[[], Any]) -> Any:
    """Until it is answered."""
    while True:
        try:
            return await request()
        except httpx.RequestError:
            await asyncio.sleep(0.01)
        except LbbError as error:
            if error.status_code != 503:
                raise
            await asyncio.sleep(0.01)
