"""Time: sleeps over restarts in other time zones, and a server whose wall clock is set forward and back."""

from pathlib import Path
from typing import Any

import pytest

from lbb import AsyncLbbClient
from tests.faults.clock import MovableClock
from tests.faults.deployment import LEASE_MS, Deployment, start, turn, until_status
from tests.faults.processes import Nursery
from tests.faults.sink import count
from tests.faults.waiting import until, wait_until

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
YEAR_MS = 365 * DAY_MS


@pytest.fixture
def clock(tmp_path: Path) -> MovableClock:
    return MovableClock(tmp_path / "clock")


@pytest.fixture
def moved(nursery: Nursery, tmp_path: Path, clock: MovableClock) -> Deployment:
    """A server in Sao Paulo whose clock moves."""
    deployment = Deployment(nursery, tmp_path, clock, TZ="America/Sao_Paulo")
    deployment.start_server()
    return deployment


async def test_sleeps_end_in_time_over_restarts_and_time_zones(moved: Deployment, clock: MovableClock) -> None:
    """A second, a minute, hours and a year; the server is killed during each, the workers live in Kolkata (B048).

    There are five of them, and each step runs once (B009).
    """
    naps_ms = [1_000, 65_000, 2 * HOUR_MS, YEAR_MS]
    async with moved.client() as client:
        for number in range(5):
            moved.start_worker(f"w-{number}", "napping", env={"TZ": "Asia/Kolkata"}, claim_wait_ms=100)
        handle = await start(client, "i", "napping", [], lease_ms=30_000)
        await handle.send({"naps_ms": naps_ms}, id="m-1")
        for index, nap_ms in enumerate(naps_ms):
            await until(lambda index=index: sleeps(client, index + 1), 15, f"nap {index} is saved")  # type: ignore[misc]
            if nap_ms > 1_000:
                moved.restart_server()
                clock.pass_ms(nap_ms - 30_000)
                assert await sleeps(client, index + 1)  # half a minute too early
                moved.restart_server()
                clock.pass_ms(30_000)
        await until_status(client, "i", "completed")

        done = await turn(client, "i")
    effects = moved.sink.effects()
    assert [effect.place[2] for effect in effects] == [f"after-{index}" for index in range(len(naps_ms))]
    assert (done["attempt"], count(effects, moved.sink.outputs(), moved.saved_outputs()).with_two_outputs) == (1, 0)
    for step in done["steps"]:
        if step["kind"] == "sleep":
            assert step["wake_at_ms"] - step["at_ms"] == step["delay_ms"]


async def test_a_clock_set_forward_ends_leases_and_never_lets_two_hold_a_turn(
    moved: Deployment, clock: MovableClock
) -> None:
    """All leases are over at once: each held turn costs an attempt, and the old holders write nothing (B049)."""
    turns = [f"i-{number}" for number in range(6)]
    async with moved.client() as client:
        for id in turns:
            await (await start(client, id, "gated", [], lease_ms=30_000)).send({"gate": "open"}, id="m-1")
        for worker in ("a", "b"):
            moved.start_worker(worker, "gated", concurrency=6, claim_wait_ms=100)
        moved.wait_for_effects(*turns)

        clock.pass_ms(10 * 60_000)
        wait_until(lambda: len(moved.sink.effects()) == 2 * len(turns), 20, "all turns are held again")
        moved.open_gate("open")
        for id in turns:
            await until_status(client, id, "completed")

        attempts = [(await turn(client, id))["attempt"] for id in turns]
    found = count(moved.sink.effects(), moved.sink.outputs(), moved.saved_outputs())
    assert attempts == [2] * len(turns)
    assert (found.steps, found.resends, found.with_two_effect_ids, found.with_two_outputs) == (6, 6, 0, 0)


async def test_a_clock_set_back_keeps_leases_timers_and_order(moved: Deployment, clock: MovableClock) -> None:
    """An hour back in the middle: nothing is claimed twice, a sleep is not an hour longer, a killed worker is found."""
    async with moved.client() as client:
        await (await start(client, "held", "gated", [], lease_ms=3_000)).send({"gate": "open"}, id="m-1")
        worker = moved.start_worker("w", "gated", claim_wait_ms=100)
        moved.wait_for_effects("held")
        moved.start_worker("n", "napping", claim_wait_ms=100)
        await (await start(client, "nap", "napping", [], lease_ms=30_000)).send({"naps_ms": [2_000]}, id="m-1")
        await until(lambda: sleeps(client, 1, "nap"), 10, "the sleep is saved")

        clock.set_ms(-HOUR_MS)
        await until_status(client, "nap", "completed", within_s=10)
        assert (await turn(client, "held"))["attempt"] == 1
        worker.kill()
        moved.start_worker("other", "gated", claim_wait_ms=100)
        wait_until(lambda: len(held_effects(moved)) == 2, 3 + LEASE_MS / 1_000 + 5, "the lease of a killed worker ends")
        moved.restart_server()  # with the clock still an hour back: the store remembers how far it was
        moved.open_gate("open")
        await until_status(client, "held", "completed")

        done = [await turn(client, id) for id in ("held", "nap")]
    for shown in done:
        times = [shown["created_at_ms"], *(step["at_ms"] for step in shown["steps"]), shown["finished_at_ms"]]
        assert times == sorted(times)
    assert done[1]["attempt"] == 1


async def sleeps(client: AsyncLbbClient, naps: int, id: str = "i") -> bool:
    """Whether it waits in that sleep, the first being 1."""
    shown = await turn(client, id)
    saved = [step for step in shown["steps"] if step["kind"] == "sleep"]
    return len(saved) == naps and shown["status"] == "waiting"


def held_effects(moved: Deployment) -> list[Any]:
    return [effect for effect in moved.sink.effects() if effect.place[0] == "held"]
