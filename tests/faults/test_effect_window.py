"""The window between an effect and its save: a crash there may send the effect again, only ever under its one id."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowHandle
from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment, start
from tests.faults.processes import Child
from tests.faults.sink import count
from tests.faults.waiting import until
from tests.faults.workflows import CRASHED

WORKERS = 6
ATTEMPTS = 3


@pytest.mark.timeout(300)
async def test_a_step_has_one_effect_id_over_all_crashes_and_retries_by_a_person(
    deployment: Deployment, profile: Profile, note: Callable[[str], None]
) -> None:
    """Seeded: each message kills its worker 1 to 5 times right after the effect, so some need a person's retry."""
    plan = plan_crashes(random.Random(profile.seed), profile.pick(short=24, long=200))
    pool = Pool(deployment)

    async with deployment.client() as client:
        handles = [await start(client, f"order-{n}", "charge", [], max_attempts=ATTEMPTS) for n in range(len(plan))]
        for handle, crashes in zip(handles, plan, strict=True):
            await handle.send({"crashes": crashes}, id="m-1")
        await until(lambda: all_done(client, handles, pool), 240, "every charge is saved", every_s=0.1)
        states = [(await handle.status()).state for handle in handles]
    retries = pool.retried_by_hand

    effects = deployment.sink.effects()
    found = count(effects, deployment.sink.outputs(), saved_charges(deployment))
    sent = Counter(effect.place[0] for effect in effects)
    note(
        f"effect window: kills {pool.crashes}, retries by hand {retries}, steps with two effect ids "
        f"{found.with_two_effect_ids}, with two outputs {found.with_two_outputs}, re-sends {found.resends}"
    )
    assert (found.steps, found.with_two_effect_ids, found.with_two_outputs) == (len(plan), 0, 0)
    assert found.resends == pool.crashes == sum(plan)
    assert [sent[f"order-{n}"] for n in range(len(plan))] == [crashes + 1 for crashes in plan]
    assert retries >= sum(crashes >= ATTEMPTS for crashes in plan)
    assert states == [["m-1"]] * len(plan)


def plan_crashes(rng: random.Random, kills: int) -> list[int]:
    """How often each message crashes; in all `kills` times."""
    plan: list[int] = []
    while (left := kills - sum(plan)) > 0:
        plan.append(min(left, rng.randint(1, 5)))
    return plan


def saved_charges(deployment: Deployment) -> dict[tuple[str, int, str], str]:
    return {place: run for place, run in deployment.saved_outputs().items() if place[2] == "charge"}


class Pool:
    """Workers that are replaced as they crash."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._workers = [self._start() for _ in range(WORKERS)]
        self.crashes = 0
        self.retried_by_hand = 0

    def replace_crashed(self) -> None:
        for index, worker in enumerate(self._workers):
            if not worker.is_alive:
                assert worker.code == CRASHED, worker.said()
                self.crashes += 1
                self._workers[index] = self._start()

    def _start(self) -> Child:
        return self._deployment.start_worker("w", "charge", claim_wait_ms=5_000)


async def all_done(client: AsyncLbbClient, handles: list[WorkflowHandle], pool: Pool) -> bool:
    """Whether nothing is left; meanwhile do what an operator does: start workers again, retry what failed for good."""
    pool.replace_crashed()
    page = await client.workflows.list(limit=200)
    for instance in page.instances:
        if instance.status == "failed":
            pool.retried_by_hand += 1
            await client.workflows.handle(instance.id).retry(1)
    return all(instance.status == "idle" for instance in page.instances)
