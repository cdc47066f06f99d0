"""A worker that the server refuses ends with a code and one clear line, instead of asking for ever (B027)."""

from typing import Any

import pytest

from tests.faults.deployment import Deployment, start, until_status
from tests.faults.processes import Child
from tests.faults.proxy import TURNS, Proxy
from tests.faults.waiting import wait_until


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"key": "lbb_sk_live_wrong"}, "the key is unknown or revoked"),
        ({"graph": "No Graph!"}, "graph: got 'No Graph!'"),
    ],
)
def test_a_worker_that_may_not_claim_ends(deployment: Deployment, options: dict[str, Any], told: str) -> None:
    worker = deployment.start_worker("w", "mixed", **options)

    check_ended(worker, told)


async def test_a_key_revoked_during_the_run_ends_it_once_what_is_held_is_drained(deployment: Deployment) -> None:
    """The held turn is told the same at its next call; its lease gives it to a worker with a valid key."""
    async with deployment.client() as client:
        with Proxy(deployment.port) as proxy:
            await (await start(client, "i", "gated", [])).send({"gate": "open"}, id="m-1")
            key = deployment.make_key()
            worker = deployment.start_worker(
                "w", "gated", address=proxy.address, key=key, claim_wait_ms=200, concurrency=2, drain_seconds=1.0
            )
            deployment.wait_for_effects("i")
            wait_until(lambda: len(proxy.of(TURNS + "claim")) > 1, 10, "it claims")

            deployment.revoke(key)

            check_ended(worker, "the key is unknown or revoked")
            claims = [claim.status for claim in proxy.of(TURNS + "claim")]
            deployment.open_gate("open")
            deployment.start_worker("another", "gated")
            wait_until(lambda: len(deployment.sink.outputs()) == 1, 15, "another worker has done it")
    assert claims.count(401) == 1  # it did not ask again


async def test_a_worker_whose_server_is_away_asks_on(deployment: Deployment) -> None:
    """No answer may pass, a refusal may not."""
    deployment.server.kill()
    worker = deployment.start_worker("w", "mixed", claim_wait_ms=200)
    worker.wait_for_line("a claim failed, the next one is in 1 s")

    deployment.start_server()

    async with deployment.client() as client:
        handle = await start(client, "i", "mixed", {"done": [], "heard": []})
        await handle.send({"label": "a", "steps": 1, "work_ms": 0, "is_sync": False}, id="m-1")
        await until_status(client, "i", "completed")
    assert worker.is_alive


def check_ended(worker: Child, told: str) -> None:
    assert worker.wait(20) == 1
    last = worker.said().strip().splitlines()[-1]
    assert last.startswith("lbb.errors.LbbError:")
    assert told in last
