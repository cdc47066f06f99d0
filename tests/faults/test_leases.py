"""Workers that freeze, hang, share a name, lose a heartbeat or are killed: only the holder writes, and only it pays."""

import time
from collections import Counter
from typing import Any

import pytest

from lbb import AsyncLbbClient
from tests.faults.deployment import LEASE_MS, Deployment, start, turn, until_status
from tests.faults.proxy import TURNS, Exchange, Proxy
from tests.faults.waiting import slack_s, until, wait_until

STEADY_LEASE_MS = 3_000  # where a heartbeat that is late on a busy machine would be taken for the fault under test


@pytest.mark.parametrize("another_claims", [True, False])
async def test_a_worker_that_froze_past_its_lease_writes_nothing(deployment: Deployment, another_claims: bool) -> None:
    """Whether or not somebody else holds the turn meanwhile (B004)."""
    async with deployment.client() as client:
        with Proxy(deployment.port) as proxy:
            await send_one(client, "i", {"gate": "open"})
            frozen = deployment.start_worker("frozen", "gated", address=proxy.address, claim_wait_ms=500)
            deployment.wait_for_effects("i")
            frozen.freeze()
            token = claimed_token(proxy)
            deployment.open_gate("open")  # it would save its step now
            await until(lambda: has_lost(client, "i"), 10, "the lease has run out")
            if another_claims:
                deployment.start_worker("other", "gated", claim_wait_ms=500)
                await until_status(client, "i", "completed")
            before = len(proxy.seen)

            frozen.thaw()
            wait_until(lambda: "is given up" in frozen.said(), 10, "it has noticed")
            await until_status(client, "i", "completed")

            late = [exchange for exchange in proxy.seen[before:] if token in exchange.body]
            done = await turn(client, "i")
    assert {exchange.status for exchange in late} <= {409}
    assert (done["attempt"], len(deployment.sink.effects())) == (2, 2)
    assert done["result"] == deployment.sink.effects()[1].run == deployment.saved_outputs()["i", 1, "hold"]
    assert len({effect.effect_id for effect in deployment.sink.effects()}) == 1


async def test_a_worker_with_the_same_name_takes_no_turn_that_is_held(deployment: Deployment) -> None:
    """The name is a label: restarting the other `w1` leaves the turn with the first (B005)."""
    async with deployment.client() as client:
        await send_one(client, "i", {"gate": "open"}, lease_ms=STEADY_LEASE_MS)
        first = deployment.start_worker("w1", "gated", claim_wait_ms=200)
        deployment.wait_for_effects("i")
        other = deployment.start_worker("w1", "gated", claim_wait_ms=200)
        other.wait_for_line("worker w1 starts")
        other.kill()
        deployment.start_worker("w1", "gated", claim_wait_ms=200).wait_for_line("worker w1 starts")

        await send_one(client, "j", {"gate": "open"})  # the newcomer serves, and serves others
        deployment.wait_for_effects("j")
        deployment.open_gate("open")
        await until_status(client, "i", "completed")

        done = await turn(client, "i")
    effects = [effect for effect in deployment.sink.effects() if effect.place[0] == "i"]
    assert (done["attempt"], [effect.pid for effect in effects]) == (1, [first.pid])


async def test_one_lost_heartbeat_costs_one_turn_one_attempt(deployment: Deployment) -> None:
    """Ten turns in one worker; nine go on as if nothing had been (B007)."""
    turns = [f"i-{number}" for number in range(10)]
    async with deployment.client() as client:
        with Proxy(deployment.port) as proxy:
            for id in turns:
                await send_one(client, id, {"gate": "open"}, lease_ms=STEADY_LEASE_MS)
            worker = deployment.start_worker("w", "gated", address=proxy.address, concurrency=11, claim_wait_ms=500)
            deployment.wait_for_effects(*turns)
            proxy.lose_reply(TURNS + "heartbeat")
            worker.wait_for_line("is given up")

            await until(lambda: is_attempt(client, lost(proxy), 2), 15, "the lost turn is claimed again")
            deployment.open_gate("open")
            for id in turns:
                await until_status(client, id, "completed")

            attempts = {id: (await turn(client, id))["attempt"] for id in turns}
            assert attempts == {id: 2 if id == lost(proxy) else 1 for id in turns}
    assert worker.said().count("is given up") == 1


async def test_a_step_whose_renewals_fail_is_told_to_stop(deployment: Deployment) -> None:
    """Only the heartbeats are lost, for ever; the step itself could go on, and must not (B014)."""
    async with deployment.client() as client:
        with Proxy(deployment.port) as proxy:
            proxy.lose_request(TURNS + "heartbeat", times=1_000)
            await (await start(client, "i", "crawl", [])).send({"pages": 3, "gate": "open"}, id="m-1")
            cut_off = deployment.start_worker("cut-off", "crawl", address=proxy.address, claim_wait_ms=60_000)
            cut_off.wait_for_line("is given up: a heartbeat failed")
            cut_off.freeze()  # it may not be the one that claims the turn again
            deployment.start_worker("other", "crawl", claim_wait_ms=500)
            wait_until(lambda: len(deployment.sink.effects()) == 2, 15, "the other goes on with the step")

            cut_off.thaw()
            deployment.open_gate("open")
            await until_status(client, "i", "completed")

    first, second = deployment.sink.effects()
    pages = [(output.place[2], output.run) for output in deployment.sink.outputs()]
    assert pages == [("page-0", first.run), ("page-1", second.run), ("page-2", second.run)]


async def test_a_lost_claim_costs_one_attempt_of_that_turn_only(deployment: Deployment) -> None:
    """Another worker gets it a lease and a second later, far below the step's timeout (B001)."""
    deployment.open_gate("open")
    async with deployment.client() as client:
        with Proxy(deployment.port) as proxy:
            proxy.lose_reply(TURNS + "claim")
            await send_one(client, "lost", {"gate": "open"})
            deployment.start_worker("w1", "gated", address=proxy.address, claim_wait_ms=500)
            wait_until(lambda: len(proxy.of(TURNS + "claim")) == 1, 10, "the claim is lost")
            lost_at = time.monotonic()
            deployment.start_worker("w2", "gated", claim_wait_ms=500)
            await send_one(client, "other", {"gate": "open"}, lease_ms=STEADY_LEASE_MS)

            await until_status(client, "lost", "completed")
            took_s = time.monotonic() - lost_at
            await until_status(client, "other", "completed")

        attempts = [(await turn(client, id))["attempt"] for id in ("lost", "other")]
    assert attempts == [2, 1]
    assert took_s < LEASE_MS / 1_000 + 1 + slack_s()
    assert Counter(effect.place[0] for effect in deployment.sink.effects()) == {"lost": 1, "other": 1}


async def test_a_turn_of_a_killed_worker_is_claimed_within_lease_and_a_second(deployment: Deployment) -> None:
    """After SIGKILL nobody says goodbye; the lease does (B023)."""
    async with deployment.client() as client:
        await send_one(client, "i", {"gate": "open"}, lease_ms=STEADY_LEASE_MS)
        await send_one(client, "i", {"gate": "open"}, message_id="m-2", lease_ms=STEADY_LEASE_MS)
        worker = deployment.start_worker("killed", "gated", claim_wait_ms=500)
        deployment.wait_for_effects("i")
        deployment.start_worker("other", "gated", claim_wait_ms=500)

        worker.kill()
        killed_at = time.monotonic()
        wait_until(lambda: len(deployment.sink.effects()) == 2, 10, "the other has begun")
        took_s = time.monotonic() - killed_at
        held = await turn(client, "i")
        deployment.open_gate("open")
        await until_status(client, "i", "completed", number=2)

    assert took_s < STEADY_LEASE_MS / 1_000 + 1 + slack_s()
    assert (held["worker"], held["attempt"]) == ("other", 2)
    assert "nothing was heard of worker 'killed'" in held["error"]


async def test_a_step_that_blocks_the_loop_keeps_its_lease_and_is_named_once(deployment: Deployment) -> None:
    """`time.sleep` in an async step, for longer than two leases (B018)."""
    async with deployment.client() as client:
        handle = await start(client, "i", "blocking", [], lease_ms=2_000)
        await handle.send({"block_s": 5.0}, id="m-1")
        worker = deployment.start_worker("w", "blocking", claim_wait_ms=500)

        await until_status(client, "i", "completed")
        worker.wait_for_line("blocked the event loop")
        worker.terminate()
        worker.wait(10)

        done = await turn(client, "i")
    said = [line for line in worker.said().splitlines() if "blocked the event loop" in line]
    assert (done["attempt"], len(deployment.sink.effects()), len(said)) == (1, 1, 1)
    assert said[0].startswith('WARNING lbb.workflows Step "block" of turn')
    blocked_s = float(said[0].partition("blocked the event loop for ")[2].partition(" s")[0])
    assert 4 < blocked_s < 5 + slack_s()  # noticed within half a second of its begin


async def send_one(client: AsyncLbbClient, id: str, message: Any, message_id: str = "m-1", **fields: Any) -> None:
    await (await start(client, id, "gated", [], **fields)).send(message, id=message_id)


def claimed_token(proxy: Proxy) -> bytes:
    """The token of the only claim that brought a turn."""
    (claim,) = [claim for claim in proxy.of(TURNS + "claim") if b'"token"' in claim.answer]
    return claim.answer.partition(b'"token":"')[2].partition(b'"')[0]


async def has_lost(client: AsyncLbbClient, id: str) -> bool:
    return "lease expired" in ((await turn(client, id)).get("error") or "")


async def is_attempt(client: AsyncLbbClient, id: str, attempt: int) -> bool:
    shown = await turn(client, id)
    return bool(shown["attempt"] == attempt and shown["status"] == "running")


def lost(proxy: Proxy) -> str:
    """Whose heartbeat went unanswered."""

    def was_lost(exchange: Exchange) -> bool:
        return exchange.was_lost

    (exchange,) = filter(was_lost, proxy.of(TURNS + "heartbeat"))
    id: str = exchange.json["workflow_id"]
    return id
