"""The server is killed while persons answer: each answer is recorded once and reaches the turn that waits, once.

Between recording an answer and delivering it lies a moment in which only the store knows of it; upkeep of the next
server delivers it.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lbb import AsyncLbbClient, LbbError
from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment, start
from tests.faults.test_completes import claim, insist, post

LANES = 8
REVIEWS = "/v1/reviews"
TURNS = "/v1/workflows/turns/"
OPTIONS = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]


@pytest.mark.timeout(600)
async def test_a_server_killed_around_an_answer_delivers_it_once(
    deployment: Deployment, profile: Profile, note: Callable[[str], None]
) -> None:
    kills = profile.pick(short=15, long=300)
    rng, is_over = random.Random(profile.seed), asyncio.Event()
    async with deployment.client(max_retries=0) as client:
        lanes = [asyncio.create_task(lane(client, f"lane-{number}", is_over)) for number in range(LANES)]
        pending = await asyncio.to_thread(kill_often, deployment, kills, rng)
        is_over.set()
        answers = sum(await asyncio.gather(*lanes))

    deployment.server.terminate()
    deployment.server.wait(15)
    heard = deployment.select("select count(*) from signal where consumed_by is not null")[0][0]
    note(f"reviews: server kills {kills}, answers {answers}, caught between recording and delivery {pending}, lost 0")
    assert (heard, deployment.select("select count(*) from signal")[0][0]) == (answers, answers)
    assert deployment.select("select distinct delivery from review") == [("sent",)]
    assert answers > 0
    assert deployment.problems() == []


def kill_often(deployment: Deployment, kills: int, rng: random.Random) -> int:
    """How many answers were recorded and not delivered at the kills, summed."""
    pending = 0
    for _ in range(kills):
        time.sleep(rng.uniform(0.02, 0.3))
        deployment.server.kill()
        pending += deployment.select("select count(*) from review where delivery = 'pending'")[0][0]
        deployment.start_server()
    return pending


async def lane(client: AsyncLbbClient, id: str, is_over: asyncio.Event) -> int:
    """Ask, wait, answer and go on, one turn after the other; how many questions were answered."""
    await insist(lambda: start(client, id, id, None, max_attempts=100))
    number = 0
    while not is_over.is_set():
        number += 1
        await post(client, "/v1/workflows/instances/message", {"workflow_id": id, "id": f"m-{number}", "message": 1})
        item = await wait(client, id, number)
        told = await insist(lambda item=item: answer(client, item))  # type: ignore[misc]
        assert told["answer"]["option"] == "yes"
        await hear(client, id, number, told)
    return number


async def wait(client: AsyncLbbClient, id: str, number: int) -> Any:
    """The item that the turn has asked and waits for."""
    question = {
        "kind": "choice",
        "key": f"{id}:{number}",
        "title": "Go on?",
        "question": {"options": OPTIONS},
        "origin": {"kind": "agent"},
        "wait": {"identity": id, "turn": number, "signal": ""},
    }
    while True:
        lease = await hold(client, id, number)
        item = await post(client, REVIEWS, question)
        listen = {"key": "k", "position": 0, "name": item["wait"]["signal"], "timeout_ms": 3_600_000}
        if await is_done(post(client, f"{TURNS}wait-signal", {**lease, **listen})):
            return item


async def hold(client: AsyncLbbClient, id: str, number: int, heard: Any = None) -> dict[str, Any]:
    """The lease on the turn, which has heard `heard`."""
    task = await claim(client, id)
    assert task["turn"]["number"] == number
    assert [step["output"] for step in task["turn"]["steps"]] == ([] if heard is None else [heard])
    return {"workflow_id": id, "turn": number, "token": task["token"]}


async def is_done(request: Awaitable[Any]) -> bool:
    """False when the lease was lost on the way: nothing was done then."""
    try:
        await request
    except LbbError as refusal:
        if refusal.code != "turn_lease_lost":
            raise
        return False
    return True


async def answer(client: AsyncLbbClient, item: Any) -> Any:
    """One try; the same key each time, so that a repeat is no second answer."""
    said = {"decision": "choose", "option": "yes"}
    return await client.reviews.answer(item["id"], answer=said, idempotency_key=f"answer-{item['id']}")


async def hear(client: AsyncLbbClient, id: str, number: int, told: Any) -> None:
    """The turn goes on with the answer that the person was shown."""
    while True:
        lease = await hold(client, id, number, {"received": True, "value": told["answer"]})
        if await is_done(post(client, f"{TURNS}complete", {**lease, "state": number})):
            return
