"""The five workloads. Each starts a fresh server process (SQLite, synchronous=full) and real workers, over plain HTTP.

Figures are named with their unit. The floor of a turn is one fsync for each request that must be durable; requests of
turns that run at once share them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowHandle
from processes import KEY, Process, server, start_worker, worker
from workflows import many_steps, one_step, waits

Figures = dict[str, float]
T = TypeVar("T")
INSTANCES = 50
SENDERS = 16


async def at_once(work: Iterable[Callable[[], Awaitable[T]]], limit: int) -> list[T]:
    """Run all, `limit` at a time; the answers in order."""
    slots = asyncio.Semaphore(limit)

    async def one(job: Callable[[], Awaitable[T]]) -> T:
        async with slots:
            return await job()

    return await asyncio.gather(*(one(job) for job in work))


def connect(url: str) -> AsyncLbbClient:
    return AsyncLbbClient(url, api_key=KEY, graph="main")


async def start_all(client: AsyncLbbClient, definition: Any, ids: list[str]) -> list[WorkflowHandle]:
    return await at_once([lambda i=i: definition.start(client, i) for i in ids], SENDERS)


async def send_all(handles: list[WorkflowHandle], messages: int, message: Any) -> None:
    def job(k: int) -> Callable[[], Awaitable[Any]]:
        return lambda: handles[k % len(handles)].send(message, id=f"m-{k}")

    await at_once([job(k) for k in range(messages)], SENDERS)


async def all_done(handles: list[WorkflowHandle], messages: int) -> None:
    """Every instance's last turn has completed; turns of one instance complete in order."""
    last = [messages // len(handles) + (i < messages % len(handles)) for i in range(len(handles))]
    waits_for = [(handle, turn) for handle, turn in zip(handles, last, strict=True) if turn]
    await asyncio.gather(*(handle.result(turn, timeout=300) for handle, turn in waits_for))


def w1(messages: int = 3_000) -> Figures:
    """N messages over 50 instances, one trivial step each, concurrency 32: from first send to last completion."""

    async def run(url: str, served: Process, working: Process) -> Figures:
        async with connect(url) as client:
            handles = await start_all(client, one_step, [f"i-{n}" for n in range(INSTANCES)])
            cpu, worker_cpu, begin = served.cpu_ms, working.cpu_ms, time.perf_counter()
            await send_all(handles, messages, {"add": 1})
            sent = time.perf_counter() - begin
            await all_done(handles, messages)
            took = time.perf_counter() - begin
            return {
                "turns_per_s": messages / took,
                "sends_per_s": messages / sent,
                "server_cpu_ms_per_turn": (served.cpu_ms - cpu) / messages,
                "worker_cpu_ms_per_turn": (working.cpu_ms - worker_cpu) / messages,
                "server_rss_mb": served.rss_mb,
            }

    with server() as (served, url), worker(url) as working:
        return asyncio.run(run(url, served, working))


def w2(steps: int = 50) -> Figures:
    """50 steps one after the other in a turn: one turn alone, then 16 at once."""

    async def timed(client: AsyncLbbClient, name: str, turns: int) -> float:
        handles = await start_all(client, many_steps, [f"{name}-{n}" for n in range(turns)])
        begin = time.perf_counter()
        await asyncio.gather(*(handle.send({"steps": steps}, id="m") for handle in handles))
        await asyncio.gather(*(handle.result(1, timeout=120) for handle in handles))
        return turns * steps / (time.perf_counter() - begin)

    async def run(url: str) -> Figures:
        async with connect(url) as client:
            await timed(client, "warm", 1)
            alone = max([await timed(client, f"alone-{n}", 1) for n in range(5)])
            return {"steps_per_s_alone": alone, "steps_per_s_16_at_once": await timed(client, "together", 16)}

    with server() as (_, url), worker(url):
        return asyncio.run(run(url))


def w3(turns: int = 200) -> Figures:
    """From send to result of a one-step turn, one after the other."""

    async def run(url: str) -> Figures:
        async with connect(url) as client:
            handle = await one_step.start(client, "w3")
            times = []
            for n in range(1, turns + 1):
                begin = time.perf_counter()
                turn = await handle.send({"add": 1}, id=f"m-{n}")
                await handle.result(turn.number, timeout=10)
                times.append((time.perf_counter() - begin) * 1_000)
            times.sort()
            return {"p50_ms": times[turns // 2], "p99_ms": times[turns * 99 // 100]}

    with server() as (_, url), worker(url):
        return asyncio.run(run(url))


def w4(instances: int = 10_000) -> Figures:
    """Many instances that wait for a signal: time to park them, memory while parked, time to wake them all."""

    async def run(url: str, served: Process, working: Process) -> Figures:
        async with connect(url) as client:
            small = working.rss_mb
            begin = time.perf_counter()

            async def park(n: int) -> WorkflowHandle:
                handle = await waits.start(client, f"w-{n}")
                await handle.send({}, id="m")
                return handle

            handles = await at_once([lambda n=n: park(n) for n in range(instances)], SENDERS)
            await _count(client, "waiting", instances)
            parked = time.perf_counter() - begin
            figures = {
                "park_s": parked,
                "server_rss_mb": served.rss_mb,
                "worker_growth_mb": working.rss_mb - small,
            }
            begin = time.perf_counter()
            await at_once([lambda h=h: h.signal("go", 1, turn=1, id="e") for h in handles], SENDERS)
            await _count(client, "idle", instances)
            return figures | {"wake_s": time.perf_counter() - begin}

    with server() as (served, url), worker(url) as working:
        return asyncio.run(run(url, served, working))


async def _count(client: AsyncLbbClient, status: str, expected: int) -> None:
    """Wait until that many instances have the status. One page is looked at again and again until it is all there."""
    after = None
    while expected > 0:
        page = await client.workflows.list(after=after, limit=200, workflow_type="waits")
        if all(instance.status == status for instance in page.instances):
            expected -= len(page.instances)
            after = page.next_after
        else:
            await asyncio.sleep(0.05)


def w5(messages: int = 1_000) -> Figures:
    """SIGKILL of the worker in the middle of W1, a new one at once: first completion after it, and all of them.

    The lease is 3 s, so the turns the dead worker held come back after that, and count one attempt.
    """

    async def run(url: str) -> Figures:
        first = start_worker(url)
        async with connect(url) as client:
            ids = [f"k-{n}" for n in range(INSTANCES)]
            handles = await at_once([lambda i=i: one_step.start(client, i, lease_ms=3_000) for i in ids], SENDERS)
            await send_all(handles, messages, {"add": 1})
            first.kill()
            begin, done = time.perf_counter(), await _completed(client)
            second = start_worker(url)
            try:
                while await _completed(client) == done:  # noqa: ASYNC110  (another process completes them)
                    await asyncio.sleep(0.005)
                first_again = time.perf_counter() - begin
                await all_done(handles, messages)
                took = time.perf_counter() - begin
            finally:
                second.stop()
            states = [await handle.status() for handle in handles]
            lost = messages - sum(state.state["count"] for state in states)
            return {"first_completion_s": first_again, "all_done_s": took, "lost_or_doubled": lost}

    with server() as (_, url):
        return asyncio.run(run(url))


async def _completed(client: AsyncLbbClient) -> int:
    page = await client.workflows.list(limit=200, workflow_type="one-step")
    return sum(instance.completed_turns for instance in page.instances)


WORKLOADS: dict[str, Callable[[], Figures]] = {"w1": w1, "w2": w2, "w3": w3, "w4": w4, "w5": w5}
