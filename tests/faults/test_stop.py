"""Stopping a worker: what is held is completed or handed back, nothing waits for a lease, the process ends in time."""

import random
import time
from typing import Any

import pytest

from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment, start, turn, until_status
from tests.faults.proxy import TURNS, Exchange, Proxy
from tests.faults.waiting import slack_s, wait_until

LEASE_MS = 30_000  # leases play no part here, and a late heartbeat on a busy machine must not
DRAIN_S = 2.0
END_S = 1.0  # promised: from the end of the drain, or of the claim, to the end of the process
SHORT = {"label": "short", "steps": 1, "work_ms": 1_000, "is_sync": True}


@pytest.mark.parametrize("claim_brings_a_turn", [True, False])
async def test_sigterm_completes_one_releases_the_rest_and_ends_in_time(
    deployment: Deployment, claim_brings_a_turn: bool
) -> None:
    """One turn ends in a second, one sync step is blocked for good, and a claim waits at the server."""
    claim_wait_s = 10.0 if claim_brings_a_turn else 4.0
    async with deployment.client() as client:
        with Proxy(deployment.port) as proxy:
            await send_one(client, "stuck", "gated", {"gate": "never"})
            await send_one(client, "short", "mixed", SHORT)
            worker = deployment.start_worker(
                "w",
                "gated",
                "mixed",
                address=proxy.address,
                concurrency=3,
                drain_seconds=DRAIN_S,
                claim_wait_ms=int(claim_wait_s * 1_000),
            )
            deployment.wait_for_effects("stuck", "short")
            wait_until(lambda: proxy.waiting(TURNS + "claim") == 1, 5, "a claim waits at the server")
            claims_before, waits_since = len(proxy.of(TURNS + "claim")), time.monotonic()

            worker.terminate()
            stopped_at = time.monotonic()
            worker.wait_for_line("stopping: draining")
            if claim_brings_a_turn:
                await send_one(client, "late", "mixed", SHORT)
            code = worker.wait(30)
            ended_at = time.monotonic()

        claim_ends_at = stopped_at if claim_brings_a_turn else waits_since + claim_wait_s
        released = {"stuck", "late"} if claim_brings_a_turn else {"stuck"}
        assert code == 0
        assert ended_at < max(stopped_at + DRAIN_S, claim_ends_at) + END_S + slack_s()
        assert [done.json["workflow_id"] for done in proxy.of(TURNS + "complete")] == ["short"]
        assert len(proxy.of(TURNS + "claim")) == claims_before + 1  # the one that waited
        assert {is_release(fail) for fail in proxy.of(TURNS + "fail")} == released
    left = deployment.select("select instance_id, attempt, failures from turn where status = 'deferred'")
    assert set(left) == {(id, 1, 0) for id in released}


async def test_twenty_turns_that_complete_at_sigterm_are_completed_or_handed_back(
    deployment: Deployment, profile: Profile
) -> None:
    """None waits for its lease to run out, and none has lost an attempt (B025)."""
    rng = random.Random(profile.seed)
    async with deployment.client() as client:
        for number in range(20):
            message = {"label": "x", "steps": 1, "work_ms": rng.randrange(400), "is_sync": bool(number % 2)}
            await send_one(client, f"i-{number}", "mixed", message)
        worker = deployment.start_worker("w", "mixed", concurrency=20, drain_seconds=0.2, claim_wait_ms=1_000)
        wait_until(lambda: deployment.held_turns() + ended(deployment) == 20, 20, "all turns are held")

        worker.terminate()
        code = worker.wait(20)

        rows = deployment.select("select status, count(*), sum(failures) from turn group by status")
    assert code == 0
    assert {status for status, _, _ in rows} <= {"completed", "deferred"}
    assert (sum(count for _, count, _ in rows), sum(failures for _, _, failures in rows)) == (20, 0)


async def test_a_rolling_deploy_goes_on_at_the_cursor_of_a_long_step(deployment: Deployment) -> None:
    """The old worker reads the first page and is stopped; the new one begins at the second, in the same attempt."""
    async with deployment.client() as client:
        await send_one(client, "book", "crawl", {"pages": 4, "gate": "open"})
        old = deployment.start_worker("old", "crawl", drain_seconds=0.3, claim_wait_ms=500)
        wait_until(lambda: len(deployment.sink.outputs()) == 1, 10, "the first page is read")
        new = deployment.start_worker("new", "crawl", claim_wait_ms=500)

        old.terminate()
        code = old.wait(10)
        wait_until(lambda: len(deployment.sink.effects()) == 2, 10, "the new worker has begun")
        deployment.open_gate("open")
        await until_status(client, "book", "completed")

        done = await turn(client, "book")
    first, second = deployment.sink.effects()
    pages = {output.place[2]: output.run for output in deployment.sink.outputs()}
    assert (code, new.is_alive) == (0, True)
    assert pages == {"page-0": first.run} | {f"page-{page}": second.run for page in (1, 2, 3)}
    assert len(deployment.sink.outputs()) == 4  # no page was read twice
    assert (done["attempt"], first.effect_id) == (1, second.effect_id)


async def test_a_second_sigterm_releases_at_once(deployment: Deployment) -> None:
    async with deployment.client() as client:
        await send_one(client, "stuck", "gated", {"gate": "never"})
        worker = deployment.start_worker("w", "gated", drain_seconds=300, claim_wait_ms=500)
        deployment.wait_for_effects("stuck")

        worker.terminate()
        worker.wait_for_line("stopping: draining for up to 300 s")
        worker.terminate()
        again_at = time.monotonic()
        code = worker.wait(20)
        took_s = time.monotonic() - again_at

        left = await turn(client, "stuck")
    assert (code, left["status"], left["attempt"]) == (0, "waiting", 1)
    assert left["error"].startswith("released")
    assert took_s < END_S + slack_s()


async def test_server_and_worker_stop_together(deployment: Deployment) -> None:
    """SIGTERM for both at once, as a machine that shuts down does: the waiting claim holds neither of them."""
    with Proxy(deployment.port) as proxy:
        worker = deployment.start_worker("w", "mixed", address=proxy.address, claim_wait_ms=10_000)
        wait_until(lambda: proxy.waiting(TURNS + "claim") == 1, 10, "a claim waits at the server")
        stopped_at = time.monotonic()

        deployment.server.terminate()
        worker.terminate()
        codes = (deployment.server.wait(15), worker.wait(15))

    assert codes == (0, 0)
    assert time.monotonic() - stopped_at < END_S + slack_s()


async def send_one(client: Any, id: str, workflow: str, message: Any) -> None:
    """An instance with one message."""
    state = {"done": [], "heard": []} if workflow == "mixed" else []
    await (await start(client, id, workflow, state, lease_ms=LEASE_MS)).send(message, id="m-1")


def is_release(fail: Exchange) -> str:
    """Which instance was handed back; AssertionError for a failure that is no release."""
    assert fail.status == 200
    assert fail.json["retry_at_ms"] > 0
    assert fail.json["non_retryable"] is False
    assert "released" in fail.json["error"]
    id: str = fail.json["workflow_id"]
    return id


def ended(deployment: Deployment) -> int:
    return int(deployment.select("select count(*) from turn where status = 'completed'")[0][0])
