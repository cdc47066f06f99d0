"""A full disk: the server stays up and says so, keeps what it acknowledged, and works again when there is room.

The disk is "full" by a limit on the size of the files that the server's process may write, set from outside while it
runs; a write beyond it fails as one on a full disk does.
"""

import resource
from pathlib import Path

import pytest

from lbb import AsyncLbbClient, LbbError
from tests.faults.deployment import Deployment, start, turn, until_status
from tests.faults.waiting import until

MESSAGES = 60


@pytest.fixture
async def no_retries(deployment: Deployment) -> AsyncLbbClient:
    return deployment.client(max_retries=0)


def fill_disk(deployment: Deployment) -> None:
    """From now on the server cannot make its write-ahead log longer than it is."""
    log = Path(f"{deployment.store}-wal")
    _limit(deployment, log.stat().st_size)


def free_disk(deployment: Deployment) -> None:
    _limit(deployment, resource.RLIM_INFINITY)


def _limit(deployment: Deployment, size_bytes: int) -> None:
    _, hard = resource.prlimit(deployment.server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(deployment.server.pid, resource.RLIMIT_FSIZE, (size_bytes, hard))


async def test_what_is_acknowledged_is_kept_and_what_is_refused_is_not_there(
    deployment: Deployment, no_retries: AsyncLbbClient
) -> None:
    handle = await start(no_retries, "i", "mixed", {"done": [], "heard": []}, on_exhausted="skip")
    acknowledged, refused = [], []

    for number in range(MESSAGES):
        if number == MESSAGES // 3:
            fill_disk(deployment)
        if number == 2 * MESSAGES // 3:
            free_disk(deployment)
        try:
            await handle.send({"label": f"m-{number}" + "x" * 2_000}, id=f"m-{number}")
            acknowledged.append(f"m-{number}")
        except LbbError as refusal:
            refused.append((f"m-{number}", refusal.status_code, refusal.code))

    assert deployment.server.is_alive
    assert {(status, code) for _, status, code in refused} == {(503, "storage_degraded")}
    assert [id for id, _, _ in refused] == [f"m-{n}" for n in range(MESSAGES // 3, 2 * MESSAGES // 3)]
    stored = [id.decode() for (id,) in deployment.select("select message_id from message order by number")]
    assert stored == acknowledged
    for id, _, _ in refused:  # nothing of a refused one is saved, so it can be sent again
        await handle.send({"label": id}, id=id)
    await no_retries.aclose()
    deployment.server.terminate()
    deployment.server.wait(15)
    assert deployment.problems() == []


async def test_reads_go_on_while_the_disk_is_full(deployment: Deployment, no_retries: AsyncLbbClient) -> None:
    handle = await start(no_retries, "i", "mixed", {"done": [], "heard": []})
    await handle.send({"label": "a"}, id="m-1")
    fill_disk(deployment)

    health = await no_retries.raw_request("GET", "/health")
    status = await handle.status()
    with pytest.raises(LbbError, match="did not take the write"):
        await handle.send({"label": "b"}, id="m-2")

    assert (health.status_code, status.pending_messages) == (200, 1)
    assert (await handle.status()).pending_messages == 1
    await no_retries.aclose()


async def test_a_worker_outlives_a_full_disk(deployment: Deployment) -> None:
    """It is refused, waits and claims again; every message is completed once, none twice."""
    async with deployment.client() as client:
        handle = await start(client, "i", "mixed", {"done": [], "heard": []}, max_attempts=50)
        for number in range(5):
            message = {"label": f"m-{number}", "steps": 3, "work_ms": 20, "is_sync": False}
            await handle.send(message, id=f"m-{number}")
        worker = deployment.start_worker("w", "mixed", claim_wait_ms=100)
        deployment.wait_for_effects("i")

        fill_disk(deployment)
        worker.wait_for_line("storage_degraded")
        free_disk(deployment)
        await until_status(client, "i", "completed", number=5, within_s=40)

        state = (await handle.status()).state
        turns = [await turn(client, "i", number) for number in range(1, 6)]
        await until(lambda: is_idle(client), 10, "nothing is left")
    assert state["done"] == [f"m-{number}" for number in range(5)]
    assert {shown["status"] for shown in turns} == {"completed"}
    assert worker.is_alive


async def is_idle(client: AsyncLbbClient) -> bool:
    return (await client.workflows.handle("i").status()).status == "idle"
