"""A long day in production: messages keep coming while servers and workers are killed at random points.

The load is seeded: how many steps a message has, whether it sleeps, waits for a signal or goes on in a continuation.
What is killed when is seeded too; where exactly a kill falls is up to the machine.
"""

import asyncio
import itertools
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowHandle
from tests.faults.deployment import Deployment, start
from tests.faults.processes import Child
from tests.faults.sink import Place
from tests.faults.waiting import until

INSTANCES = 10
WORKERS = ("worker-a", "worker-b", "worker-c")
CONCURRENCY = 4
_PENDING_MAX = 3  # per instance: enough for a queue, not enough to take long when the killing is over
_SETTLE_S = 120.0


@dataclass
class Line:
    """One instance, and the messages that it has acknowledged, in order."""

    id: str
    sent: list[dict[str, Any]] = field(default_factory=list)
    signals: int = 0


@dataclass
class Run:
    """`perform` drives it; then look at `kills`, `in_flight`, `lines` and the deployment's sink and store."""

    deployment: Deployment
    kills_planned: int
    seed: int
    kills: int = 0
    server_kills: int = 0
    in_flight: int = 0  # turns held at the kills, summed: the limit of re-sends (decision 1)
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_over = threading.Event()
        self._workers: dict[str, Child] = {}

    async def perform(self) -> None:
        self.lines = [Line(f"line-{number}") for number in range(INSTANCES)]
        for worker in WORKERS:
            self._start(worker)
        async with self.deployment.client(retry_budget_ms=120_000, max_retries=1_000) as client:
            feeding = [asyncio.create_task(self._feed(client, line)) for line in self.lines]
            await asyncio.to_thread(self._kill_on)
            self._is_over.set()
            await asyncio.gather(*feeding)
            await until(lambda: self._is_settled(client), _SETTLE_S, "every message is completed", every_s=0.2)
        self._stop()

    # -- killing -------------------------------------------------------------------------------------------------

    def _kill_on(self) -> None:
        rng = random.Random(f"{self.seed}/kills")
        try:
            for _ in range(self.kills_planned):
                time.sleep(rng.uniform(0.05, 0.6))
                if rng.random() < 0.4:
                    self._kill_server()
                else:
                    self._kill_worker(rng.choice(WORKERS))
        finally:
            self._is_over.set()

    def _kill_server(self) -> None:
        """Workers cannot begin a step without it, so what is held now is all that can be lost."""
        self.deployment.server.freeze()
        self.in_flight += self.deployment.held_turns()
        self.deployment.restart_server()
        self.kills += 1
        self.server_kills += 1

    def _kill_worker(self, name: str) -> None:
        worker = self._workers[name]
        assert worker.is_alive, worker.said()
        worker.freeze()
        self.in_flight += self.deployment.held_turns(name)
        worker.kill()
        self._start(name)
        self.kills += 1

    def _start(self, name: str) -> None:
        self._workers[name] = self.deployment.start_worker(
            name, "mixed", concurrency=CONCURRENCY, claim_wait_ms=1_000, drain_seconds=5.0
        )

    def _stop(self) -> None:
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            assert worker.wait(20) == 0, worker.said()
        self.deployment.server.terminate()
        assert self.deployment.server.wait(20) == 0

    # -- the load ------------------------------------------------------------------------------------------------

    async def _feed(self, client: AsyncLbbClient, line: Line) -> None:
        rng = random.Random(f"{self.seed}/{line.id}")
        handle = await start(client, line.id, "mixed", {"done": [], "heard": []}, max_attempts=100)
        for number in itertools.count():
            message = _make_message(rng, f"{line.id}/{number}")
            turn = await handle.send(message, id=f"m-{number}")
            line.sent.append(message)
            if message["signal"]:
                await asyncio.sleep(rng.uniform(0, 0.3))  # early or late
                await handle.signal("approval", message["label"], turn=turn.number, id="e-1")
                line.signals += 1
            await until(lambda: self._has_room(handle), _SETTLE_S, f"{line.id} goes on", every_s=0.1)
            if self._is_over.is_set():
                return

    async def _has_room(self, handle: WorkflowHandle) -> bool:
        return self._is_over.is_set() or (await handle.status()).pending_messages < _PENDING_MAX

    async def _is_settled(self, client: AsyncLbbClient) -> bool:
        """Whether all is done; the delays between attempts, which grow with each kill, are cut."""
        found = (await client.workflows.list(limit=200)).instances
        for instance in found:
            assert instance.status != "failed", instance
            if instance.pending_messages:
                await client.workflows.handle(instance.id).resume()
        return all(instance.pending_messages == 0 for instance in found)


def _make_message(rng: random.Random, label: str) -> dict[str, Any]:
    return {
        "label": label,
        "steps": rng.randint(1, 5),
        "work_ms": rng.choice((0, 5, 30, 150)),
        "is_sync": rng.random() < 0.5,
        "nap_ms": rng.choice((0, 0, 0, 50, 400)),
        "signal": rng.random() < 0.2,
        "rest": rng.choice((0, 0, 0, 1, 2)),
    }


# -- what must have come of it -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """What one line must have applied: every message once, continuations after what was there before them."""

    labels: set[str]
    in_order: list[str]  # those that were sent, whose order is that of the inbox
    heard: list[str]
    steps: int


def expect(line: Line) -> Expected:
    labels = {message["label"] + "+" * rest for message in line.sent for rest in range(message["rest"] + 1)}
    return Expected(
        labels=labels,
        in_order=[message["label"] for message in line.sent],
        heard=[message["label"] for message in line.sent if message["signal"]],
        steps=sum(message["steps"] * (message["rest"] + 1) for message in line.sent),
    )


def losses(deployment: Deployment, line: Line) -> list[str]:
    """What the line lacks or has too much of, a sentence each."""
    expected = expect(line)
    state = deployment.state_of(line.id)
    done, found = state["done"], []
    if sorted(done) != sorted(expected.labels):
        found.append(f"{line.id}: applied {sorted(set(done) ^ expected.labels)} or twice, of {len(done)}")
    if [label for label in done if not label.endswith("+")] != expected.in_order:
        found.append(f"{line.id}: the order of sending is not kept: {done}")
    if state["heard"] != expected.heard:
        found.append(f"{line.id}: heard {state['heard']}, expected {expected.heard}")
    for label in done:
        if label.endswith("+") and done.index(label) < done.index(label[:-1]):
            found.append(f"{line.id}: {label} was applied before what it continues")
    return found


def unsaved(deployment: Deployment, places: set[Place]) -> set[Place]:
    """Steps that had an effect and have no saved output."""
    return places - set(deployment.saved_outputs())
