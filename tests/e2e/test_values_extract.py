"""The template on the real server: one command reads the samples, and what people and changed texts do to it later."""

import asyncio
import importlib
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowHandle, lbb_activities
from tests.e2e.dev_process import WAIT_S, Dev
from turnbuckle.cli.template import folder_of
from turnbuckle.testing import Engine

TEMPLATE = folder_of("values-extract")
GRAPH, INSTANCE = "try-values-extract", "starter.values-extract"
OUTCOME = {"instances": 6, "values_proposed": 22, "written": 16, "review": 4, "weak_support": 2, "commits": 1}
VALUES = """SELECT ?name ?p ?o WHERE {
  ?s a <https://littlebigbrain.com/class/product> ; <http://www.w3.org/2000/01/rdf-schema#label> ?name ; ?p ?o
  FILTER(STRSTARTS(STR(?p), "https://littlebigbrain.com/p/") && ?p != <https://littlebigbrain.com/p/text>) }"""
SOURCES = "SELECT ?source { ?s <https://littlebigbrain.com/r/has_value_source> ?source }"
SOURCES_OF = """SELECT ?name ?property { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?name ;
  <https://littlebigbrain.com/r/has_value_source> ?source .
  ?source <https://littlebigbrain.com/p/property> ?property }"""


@pytest.fixture
def template(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its package can be imported."""
    monkeypatch.syspath_prepend(str(TEMPLATE))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "values_extract"]:
        del sys.modules[name]


async def values(client: AsyncLbbClient) -> dict[str, dict[str, str]]:
    """What is stored, by the product's name."""
    found: dict[str, dict[str, str]] = {}
    for row in (await client.sparql(VALUES)).rows():
        found.setdefault(row["name"], {})[row["p"].rpartition("/")[2]] = row["o"]
    return found


async def items(client: AsyncLbbClient, status: str) -> dict[str, dict[str, Any]]:
    """The review items of that status, by their product's name: each sample has one at most."""
    page = await client.raw_request("GET", "/v1/reviews", params={"status": status})
    return {item["subject"]["name"]: item for item in page.data["data"]}


async def model_calls(client: AsyncLbbClient) -> list[dict[str, Any]]:
    answer = await client.raw_request("GET", "/v1/models/calls", params={"limit": 100})
    calls: list[dict[str, Any]] = answer.data["calls"]
    return calls


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """For what the server does in its own time, and says in no request."""
    ends_at = time.monotonic() + WAIT_S
    while not await condition():
        assert time.monotonic() < ends_at, "it did not happen in time"
        await asyncio.sleep(0.05)


async def finished(client: AsyncLbbClient, turn: int) -> dict[str, Any]:
    """The counters of a turn, once the watch has sent its message and the worker has done it."""
    handle = WorkflowHandle(client, INSTANCE)

    async def is_sent() -> bool:
        status = await handle.status()
        return status.completed_turns + status.pending_messages >= turn

    await until(is_sent)
    result = await handle.result(turn, timeout=WAIT_S)
    counters: dict[str, Any] = result["counters"]
    return counters


# -- one command -----------------------------------------------------------------------------------------------------


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[AsyncLbbClient]:
    """A client on the samples' graph of `turnbuckle dev --worker values-extract`, when the first turn is done."""
    dev = Dev(tmp_path, "--worker", "values-extract", "--port", "0")
    try:
        address = dev.until(r"dev \| server (http://\S+),")[1]
        dev.until(r"serves values-extract@v1")
        async with AsyncLbbClient(address, api_key="lbb_sk_test_local", graph=GRAPH) as client:
            await finished(client, 1)
            yield client
    finally:
        code = dev.end()
    assert code == 0


async def test_one_command_writes_16_values_and_asks_about_4(live: AsyncLbbClient) -> None:
    state = (await WorkflowHandle(live, INSTANCE).status()).state

    assert {name: state[name] for name in OUTCOME} == OUTCOME
    stored = await values(live)
    assert sum(len(fields) for fields in stored.values()) == 16
    assert stored["Harbour writing desk"] == {"width_cm": "120", "depth_cm": "60", "material": "oak", "color": "honey"}
    assert "color" not in stored["Ridge dining table"], "that of a variant is weak"
    assert len(await live.sparql(SOURCES)) == 16
    assert set(await items(live, "open")) == {
        "Fjord wall shelf",
        "Quay hall bench",
        "Lantern side table",
        "Ember armchair",
    }
    calls = await model_calls(live)
    assert sorted(call["job"] for call in calls) == ["decide"] * 6 + ["reason"] * 6
    assert {call["model"] for call in calls} == {"mock-generative", "mock-decision"}
    assert all(call["ok"] and call["run_id"] and call["step"] for call in calls)


async def test_a_persons_answers_are_written_and_stay_when_the_text_changes(live: AsyncLbbClient) -> None:
    asked = await items(live, "open")
    shelf, bench = asked["Fjord wall shelf"], asked["Quay hall bench"]
    await live.reviews.answer(shelf["id"], answer={"decision": "correct", "value": 120})
    await live.reviews.answer(bench["id"], answer={"decision": "reject"})

    async def is_written() -> bool:
        return "width_cm" in (await values(live))["Fjord wall shelf"]

    await until(is_written)

    rows = [
        {"type": "Product", "name": "Fjord wall shelf", "properties": {"text": "It is 1.2 m wide.\nColor: white."}},
        {"type": "Product", "name": "Quay hall bench", "properties": {"text": "depth: 380 mm. The frame is steel."}},
    ]
    await live.commit({"entity_properties": rows}, idempotency_key="new-texts")
    counters = await finished(live, 2)

    assert counters["instances"] == 2
    stored = await values(live)
    assert stored["Fjord wall shelf"] == {"width_cm": "120", "color": "white"}
    assert stored["Quay hall bench"] == {"material": "steel"}, "a rejected value is not asked again either"
    assert set(await items(live, "answered")) == {"Fjord wall shelf", "Quay hall bench"}
    assert set(await items(live, "open")) == {"Lantern side table", "Ember armchair"}


async def test_putting_the_samples_again_wakes_nothing(
    live: AsyncLbbClient, template: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (await live.graph(GRAPH).publication_status())["head_seq"]
    monkeypatch.setenv("LBB_URL", live.base_url)
    monkeypatch.setenv("LBB_API_KEY", "lbb_sk_test_local")

    await importlib.import_module("values_extract.__main__").put_samples()

    assert (await live.graph(GRAPH).publication_status())["head_seq"] == before
    status = await WorkflowHandle(live, INSTANCE).status()
    assert (status.pending_messages, status.completed_turns) == (0, 1)


# -- on the engine of the test kit, whose clock stands -----------------------------------------------------------------


async def put_samples(client: AsyncLbbClient) -> None:
    """As `try`, on the client's graph. The watch sends them as one message."""
    samples = importlib.import_module("values_extract.samples")
    declared = importlib.import_module("values_extract.ontology")
    await client.create_graph()
    await client.ontology.evolve({"ops": declared.ontology()})
    body, key = samples.commit()
    await client.commit(body, idempotency_key=key)
    await client.use_workflow_starter("workflow", **declared.trigger())


@pytest.mark.parametrize("step", ["write", "support-3", "review"])
async def test_a_worker_that_dies_before_it_saves_repeats_no_commit_and_no_model_call(
    step: str, template: None
) -> None:
    """Of `write`: after the commit and before the save. The second attempt sends the same key."""
    workflow = importlib.import_module("values_extract.workflow")
    async with Engine(models=TEMPLATE / "models.toml") as engine:
        client = engine.client(graph=GRAPH)
        await put_samples(client)
        before = (await client.graph(GRAPH).publication_status())["head_seq"]
        engine.crash_before_save(step)

        ran = await engine.run_to_end(workflow.create_workflow(lbb_activities(client)), graph=GRAPH)

        assert ran.crashes == 1
        assert ran.steps_run.count(step) == 2
        assert ran.steps_run.count("values-0") == 1
        state = (await WorkflowHandle(client, INSTANCE).status()).state
        assert {name: state[name] for name in OUTCOME} == OUTCOME | {"commits": 0 if step == "write" else 1}
        assert (await client.graph(GRAPH).publication_status())["head_seq"] == before + 1
        assert sum(len(fields) for fields in (await values(client)).values()) == 16
        assert len(await model_calls(client)) == 12
        assert len(await items(client, "open")) == 4


async def test_a_text_against_a_persons_value_asks_again_and_leaves_it(tmp_path: Path, template: None) -> None:
    """The other instance of the same message still loses what its text does not say any more."""
    workflow = importlib.import_module("values_extract.workflow")
    async with Engine(models=_answers(tmp_path)) as engine:
        client = engine.client(graph=GRAPH)
        await put_samples(client)
        definition = workflow.create_workflow(lbb_activities(client))
        await engine.run_to_end(definition, graph=GRAPH)
        shelf = (await items(client, "open"))["Fjord wall shelf"]
        await client.reviews.answer(shelf["id"], answer={"decision": "correct", "value": 120})
        rows = [
            {"type": "Product", "name": "Fjord wall shelf", "properties": {"text": "It is 90 cm wide."}},
            {"type": "Product", "name": "Quay hall bench", "properties": {"text": "The frame is steel."}},
        ]
        await client.commit({"entity_properties": rows})

        ran = await engine.run_to_end(definition, graph=GRAPH)

        assert ran.errors == []
        stored = await values(client)
        assert stored["Fjord wall shelf"] == {"width_cm": "120"}
        assert stored["Quay hall bench"] == {"material": "steel"}
        again = (await items(client, "open"))["Fjord wall shelf"]
        assert (again["id"], again["question"]["value"]) == (shelf["id"], 90)
        assert again["previous_answer"]["value"] == 120
        named = [(row["name"], row["property"]) for row in (await client.sparql(SOURCES_OF)).rows()]
        assert ("Fjord wall shelf", "width_cm") in named
        assert [name for name, _ in named].count("Quay hall bench") == 1


def _answers(folder: Path) -> Path:
    """Settings of models whose reasoning mock also knows the shelf's new text."""
    known = json.loads((TEMPLATE / "samples/mock_answers.json").read_text("utf-8"))
    value = {"property": "width_cm", "value": "90", "unit": "cm", "quote": "90 cm wide"}
    known["reason"].insert(0, {"when": ["It is 90 cm wide."], "value": {"values": [value]}})
    known["decide"].insert(0, {"when": ["It is 90 cm wide."], "probabilities": {"supported": 0.95}})
    (folder / "answers.json").write_text(json.dumps(known), "utf-8")
    settings = (TEMPLATE / "models.toml").read_text("utf-8").replace("samples/mock_answers.json", "answers.json")
    (folder / "models.toml").write_text(settings, "utf-8")
    return folder / "models.toml"
