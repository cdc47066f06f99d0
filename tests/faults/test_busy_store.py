"""The embedded store under everything at once: nobody ever sees a locked database (B065)."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lbb import AsyncLbbClient, RetryEvent
from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment, start
from tests.faults.waiting import until
from turnbuckle.operations import doctor
from turnbuckle.store.database import open_database, read

WORKERS = 16
SENDS_PER_S = 200
INSTANCES = 32


@pytest.mark.timeout(300)
async def test_sends_lists_workers_and_backups_at_once_see_no_5xx(
    deployment: Deployment, profile: Profile, note: Callable[[str], None], tmp_path: Path
) -> None:
    seconds = profile.pick(short=3.0, long=30.0)
    failures: list[RetryEvent] = []
    workers = [deployment.start_worker(f"w-{n}", "mixed", claim_wait_ms=1_000) for n in range(WORKERS)]
    async with deployment.client(on_retry=failures.append) as client:
        for number in range(INSTANCES):
            await start(client, f"i-{number}", "mixed", {"done": [], "heard": []}, lease_ms=30_000)
        ends_at = time.monotonic() + seconds

        sent, lists, backups = await asyncio.gather(
            send(client, ends_at), list_all(client, ends_at), back_up(deployment, ends_at, tmp_path)
        )
        await until(lambda: is_done(client), 200, "all messages are completed", every_s=0.5)

    done = deployment.select("select count(*) from turn where status = 'completed'")[0][0]
    note(f"busy store: {sent} sends, {lists} lists, {backups} backups, {done} turns, 5xx {len(failures)}")
    assert failures == []
    assert (sent, backups > 0, lists > 0) == (done, True, True)
    for worker in workers:
        assert Counter(word for word in ("locked", "503", "500", "storage") if word in worker.said()) == {}
    assert "locked" not in deployment.server.said()


async def send(client: AsyncLbbClient, ends_at: float) -> int:
    """200 a second, spread over the instances; how many were acknowledged."""
    sent, started_at = 0, time.monotonic()
    while (now := time.monotonic()) < ends_at:
        due = int((now - started_at) * SENDS_PER_S) - sent
        await asyncio.gather(*(send_one(client, sent + n) for n in range(due)))
        sent += due
        await asyncio.sleep(0.02)
    return sent


async def send_one(client: AsyncLbbClient, number: int) -> None:
    message = {"label": str(number), "steps": 1, "work_ms": 0, "is_sync": False}
    await client.workflows.handle(f"i-{number % INSTANCES}").send(message, id=f"m-{number}")


async def list_all(client: AsyncLbbClient, ends_at: float) -> int:
    lists = 0
    while time.monotonic() < ends_at:
        await client.workflows.list(limit=200)
        await client.workflows.handle("i-0").history(limit=50)
        lists += 2
        await asyncio.sleep(0.02)
    return lists


async def back_up(deployment: Deployment, ends_at: float, folder: Path) -> int:
    """One copy after the other, as `turnbuckle backup` makes them; each is a sound store."""
    copies = 0
    while time.monotonic() < ends_at:
        await asyncio.to_thread(_copy_and_check, deployment, folder / f"copy-{copies}.db")
        copies += 1
    return copies


def _copy_and_check(deployment: Deployment, target: Path) -> None:
    deployment.back_up(target)
    copy = open_database(str(target))
    try:
        assert read(copy, doctor.problems) == []
    finally:
        copy.close()
        target.unlink()


async def is_done(client: AsyncLbbClient) -> bool:
    page = await client.workflows.list(limit=200)
    return all(instance.pending_messages == 0 for instance in page.instances)
