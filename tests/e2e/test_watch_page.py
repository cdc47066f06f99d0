"""docs/howto/work-on-the-instances-of-a-class.md as it is: its workflow counts words, on the engine of the test kit."""

from pathlib import Path
from typing import Any

from lbb import AsyncLbbClient
from lbb.workflows import lbb_activities
from tests.unit.test_docs import python_blocks
from turnbuckle.testing import Engine

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "work-on-the-instances-of-a-class.md"
OPS = [
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_property", "name": "text"},
    {"op": "add_property", "name": "word_count", "value_type": "i64"},
    {"op": "add_property", "name": "owner", "value_type": "keyword"},
]


def block(number: int) -> dict[str, Any]:
    """The names that one of the page's blocks defines."""
    line, code = list(python_blocks(PAGE))[number]
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("\n" * line + code, str(PAGE), "exec"), names)
    return names


async def write(client: AsyncLbbClient, name: str, **properties: Any) -> None:
    row = {"type": "Note", "name": name, "key": name, "properties": properties}
    await client.commit({"entity_properties": [row]})


async def count_of(client: AsyncLbbClient, name: str) -> Any:
    return (await client.entities.detail(type="Note", key=name))["attributes"].get("word_count")


async def test_words_are_counted_again_when_a_text_changes_and_only_then() -> None:
    async with Engine() as engine:
        client = engine.client()
        page = block(0) | {}
        await page["client"].aclose()
        workflow = page["word_count"]
        page["watch"].__globals__.update(client=client, lbb=lbb_activities(client))
        await client.create_graph()
        await client.ontology.evolve({"ops": OPS})
        await write(client, "a", text="one two three")
        await write(client, "b", owner="me")
        await page["watch"]()

        first = await engine.run(workflow)
        second = await engine.run(workflow)
        await write(client, "a", text="one two")
        third = await engine.run(workflow)

        assert (first.turns, second.turns, third.turns) == (1, 0, 1)
        assert (await count_of(client, "a"), await count_of(client, "b")) == (2, None)


async def test_a_note_without_a_text_is_tried_three_times_more() -> None:
    async with Engine() as engine:
        client = engine.client()
        page = block(0)
        await page["client"].aclose()
        page["watch"].__globals__.update(client=client, lbb=lbb_activities(client))
        await client.create_graph()
        await client.ontology.evolve({"ops": OPS})
        await write(client, "b", owner="me")
        await page["watch"]()
        began_ms = engine.clock()

        ran = await engine.run_to_end(page["word_count"])

        assert ran.turns == 4
        assert engine.clock() - began_ms >= 21 * 60_000
        status = (await client.workflows.named.get("notes")).status
        assert status.counters is not None
        assert status.counters["exhausted"] == 1
        assert status.last_error is not None
        assert "it has no text" in status.last_error


async def test_the_settings_of_the_second_block_are_taken() -> None:
    async with Engine() as engine:
        client = engine.client()
        page = block(2)
        await client.create_graph()
        await client.ontology.evolve({"ops": OPS})
        page["watch_wide"].__globals__["AsyncLbbClient"] = lambda api_key, graph: engine.client(graph=graph)

        await page["watch_wide"]()

        made = await client.workflows.named.get("notes")
        assert (made.shards, [trigger.kind for trigger in made.triggers]) == (4, ["watch", "review"])
