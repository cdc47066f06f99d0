"""Threads for sync steps (lbb-engine 5.5, decision 5)."""

import asyncio
import random
import threading
import time
from functools import partial
from typing import Any

import pytest

from lbb.workflows.step_threads import StepThreads
from tests.unit.workflow_server import until


def step_threads() -> int:
    return sum(thread.name == "lbb-step" for thread in threading.enumerate())


async def until_left(count: int) -> None:
    await until(lambda: step_threads() <= count)


async def test_one_thread_after_the_other_is_used_again() -> None:
    threads = StepThreads()

    idents = {await threads.run(threading.get_ident, "step") for _ in range(20)}
    threads.close()

    assert len(idents) == 1


async def test_calls_at_once_have_a_thread_each() -> None:
    threads, barrier = StepThreads(), threading.Barrier(8)

    await asyncio.gather(*(threads.run(barrier.wait, "step") for _ in range(8)))
    threads.close()
    await until_left(0)


async def test_an_exception_is_raised_where_the_step_is_awaited() -> None:
    threads = StepThreads()

    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0, "step")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await threads.run(lambda: next(iter(())), "step")
    threads.close()


async def test_a_cancelled_call_returns_at_once_and_its_thread_is_replaced_and_counted() -> None:
    threads, go_on = StepThreads(), threading.Event()
    call = asyncio.create_task(threads.run(go_on.wait, "step"))
    await asyncio.sleep(0.001)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert threads.abandoned == 1
    assert await threads.run(lambda: "usable", "step") == "usable"

    go_on.set()
    await until(lambda: not threads.abandoned)
    threads.close()
    await until_left(0)


async def test_after_a_thousand_steps_cancelled_at_random_times_every_slot_has_a_usable_thread() -> None:
    threads, chance = StepThreads(), random.Random(41)
    before = step_threads()

    def work(seconds: float) -> None:
        time.sleep(seconds)

    async def slot(calls: int) -> None:
        for _ in range(calls):
            call = asyncio.create_task(threads.run(lambda: work(chance.random() / 2_000), "step"))
            await asyncio.sleep(chance.random() / 2_000)
            call.cancel()
            await asyncio.wait([call])

    await asyncio.gather(*(slot(250) for _ in range(4)))
    answers = await asyncio.gather(*(threads.run(partial(int, number), "step") for number in range(4)))
    await until(lambda: not threads.abandoned)
    threads.close()

    assert answers == [0, 1, 2, 3]
    await until_left(before)


async def test_threads_are_daemons() -> None:
    threads = StepThreads()

    assert await threads.run(lambda: threading.current_thread().daemon, "step")
    threads.close()


def test_a_step_that_ends_after_its_loop_was_closed_is_dropped() -> None:
    threads, go_on, ended = StepThreads(), threading.Event(), threading.Event()

    def late() -> None:
        go_on.wait()
        ended.set()

    async def abandon() -> None:
        call: asyncio.Task[Any] = asyncio.create_task(threads.run(late, "step"))
        await asyncio.sleep(0.001)
        call.cancel()
        await asyncio.wait([call])

    asyncio.run(abandon())
    go_on.set()

    assert ended.wait(5)
    asyncio.run(until_left(0))
