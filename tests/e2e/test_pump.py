"""The loop behind triggers: one that fails keeps no other from its work, and nothing ends the loop but its end."""

import asyncio
import contextlib
import logging

import pytest

from tests.e2e.api import Api, ok
from tests.e2e.test_watch import EVOLVE, OPS, STARTER, TRIGGERED, complete, write
from tests.store.test_doctor import damage
from turnbuckle.pump import Pump
from turnbuckle.store import named as names


async def two(api: Api) -> None:
    """The workflows `broken`, whose settings nobody can read, and `notes`."""
    ok(await api.post("/v1/graph/create", b""))
    ok(await api.post(EVOLVE, {"ops": OPS}))
    await write(api, "a", text="x")
    for name in ("broken", "notes"):
        ok(await api.ask("PUT", TRIGGERED, json=STARTER | {"name": name}))
    await asyncio.to_thread(damage, api.store.database, "update named set settings = {} where name = 'broken'", b"{")


async def test_a_trigger_that_fails_keeps_no_other_from_its_work(api: Api) -> None:
    await two(api)
    pump = Pump(api.app.store)

    assert not await pump.work()

    task = await api.claimed()
    assert task["turn"]["workflow_id"] == "starter.notes"
    await complete(api, task)
    graph_id = await api.app.store.read(lambda tx: str(tx.rows("watch_waiting", now_ms=tx.now_ms)[0][0]))
    broken = await api.app.store.read(lambda tx: names.get(tx, graph_id, "broken"))
    assert broken is not None
    assert broken.last_error is not None
    assert broken.last_error.startswith(b"DecodeError: ")


async def test_a_trigger_that_fails_is_left_alone_for_a_while(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    await two(api)
    pump = Pump(api.app.store)

    for _ in range(5):
        await pump.work()

    assert len([record for record in caplog.records if "broken failed" in record.message]) == 1


class Logged(logging.Handler):
    """An event for the first record."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.event.set()


async def test_the_loop_outlives_a_store_that_cannot_be_read(api: Api) -> None:
    """What is worth a look is not there for a moment, as in a failing database: the next look finds it."""
    await two(api)
    await asyncio.to_thread(damage, api.store.database, "alter table watch_item rename to hidden")
    pump, logged = Pump(api.app.store), Logged()
    logging.getLogger("turnbuckle.pump").addHandler(logged)
    work = asyncio.create_task(pump.run())
    api.app.room.follow(pump.hear)
    await asyncio.wait_for(logged.event.wait(), 10)
    logging.getLogger("turnbuckle.pump").removeHandler(logged)
    await asyncio.to_thread(damage, api.store.database, "alter table hidden rename to watch_item")
    task = await api.claimed(wait_ms=10_000)
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work

    assert task["turn"]["workflow_id"] == "starter.notes"
