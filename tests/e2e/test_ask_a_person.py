"""docs/howto/ask-a-person.md as it is: its workflow asks, a person answers, on the real engine with a real worker."""

from pathlib import Path
from typing import Any

import pytest

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowDefinition, WorkflowHandle, lbb_activities
from tests.unit.test_docs import python_blocks
from turnbuckle.testing import Engine

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "ask-a-person.md"
WEEK = {"days": 7}


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """The names that the page's blocks define."""
    names: dict[str, Any] = {}
    for line, code in python_blocks(PAGE):
        exec(compile("\n" * line + code, str(PAGE), "exec"), names)
    return names


async def asked(engine: Engine, page: dict[str, Any]) -> tuple[AsyncLbbClient, WorkflowDefinition, WorkflowHandle]:
    client = engine.client()
    rooms = page["rooms"](lbb_activities(client))
    handle = await rooms.start(client, "kitchen")
    await handle.send({"room": "the big kitchen"}, id="m-1")
    return client, rooms, handle


async def only_item(client: AsyncLbbClient) -> Any:
    (item,) = (await client.reviews.list())["data"]
    return item


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_the_turn_goes_on_with_the_answer(page: dict[str, Any], is_restarted: bool) -> None:
    async with Engine() as engine:
        client, rooms, handle = await asked(engine, page)
        await engine.run(rooms)
        item = await only_item(client)
        assert (item["key"], item["wait"]["identity"], item["wait"]["turn"]) == ("floor:the big kitchen", "kitchen", 1)
        if is_restarted:
            engine.restart()

        for _ in range(2):  # a double click
            await page["answer"](client, item["id"], item["revision"], "tiles", "click-1")
        ran = await engine.run(rooms)

        assert (await handle.status()).state == {"floor": "tiles"}
        assert ran.steps_replayed == ["floor.ask"]


async def test_an_answer_before_the_worker_waits_is_taken_at_once(page: dict[str, Any]) -> None:
    async with Engine() as engine:
        client, rooms, handle = await asked(engine, page)
        engine.crash_after_save("floor.ask")
        await engine.run(rooms)
        item = await only_item(client)

        await page["answer"](client, item["id"], 1, "parquet", "click-1")
        await engine.run_to_end(rooms)

        assert (await handle.status()).state == {"floor": "parquet"}
        assert (await client.reviews.get(item["id"]))["effects"]["delivery"]["sent_to"] == ["signal"]


async def test_an_answered_question_is_not_asked_again(page: dict[str, Any]) -> None:
    async with Engine() as engine:
        client, rooms, handle = await asked(engine, page)
        await engine.run(rooms)
        item = await only_item(client)
        await page["answer"](client, item["id"], 1, "parquet", "click-1")
        await engine.run(rooms)

        await handle.send({"room": "the big kitchen"}, id="m-2")
        ran = await engine.run(rooms)

        assert ran.steps_run == ["floor.ask"]
        assert (await handle.status()).state == {"floor": "parquet"}
        assert (await client.reviews.list())["data"][0]["id"] == item["id"]


async def test_without_an_answer_in_time_the_turn_goes_on_and_a_late_one_serves_the_next(page: dict[str, Any]) -> None:
    async with Engine() as engine:
        client, rooms, handle = await asked(engine, page)
        await engine.run(rooms)
        engine.clock.pass_time(**WEEK)
        await engine.run(rooms)
        assert (await handle.status()).state == {"floor": None}

        item = await only_item(client)
        assert item["status"] == "open"
        await page["answer"](client, item["id"], 1, "tiles", "click-1")

        late = await client.reviews.get(item["id"])
        assert late["effects"]["delivery"]["state"] == "dropped"
        await handle.send({"room": "the big kitchen"}, id="m-2")
        await engine.run(rooms)
        assert (await handle.status()).state == {"floor": "tiles"}


async def test_an_answer_between_the_timeout_and_the_last_look_counts(page: dict[str, Any]) -> None:
    """The signal came too late for the wait, but the step that reads the item sees the answer."""
    async with Engine() as engine:
        client, rooms, handle = await asked(engine, page)
        await engine.run(rooms)
        engine.clock.pass_time(**WEEK)
        item = await only_item(client)
        await page["answer"](client, item["id"], 1, "tiles", "click-1")

        ran = await engine.run(rooms)

        assert "floor.read" in ran.steps_run
        assert (await handle.status()).state == {"floor": "tiles"}
