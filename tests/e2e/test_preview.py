"""`turnbuckle preview` on a real server: what it shows is what would happen, and nothing happens."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lbb import AsyncLbbClient, LbbClient
from tests.e2e.dev_process import Dev
from turnbuckle.cli.template import folder_of

KEY = "lbb_sk_test_local"
TEMPLATE = folder_of("values-extract")
PRODUCTS = "SELECT ?s { ?s a <https://littlebigbrain.com/class/product> }"

FACTORIES = """
from lbb import entity_ref
from lbb.workflows import FailedInstance, OwnedWrite, WorkflowError, triggered_workflow


def word_counter(lbb, version="v1", field="word_count"):
    @triggered_workflow(name="word-count", version=version)
    async def count(ctx, message, state):
        rows = [{**entity_ref(iri, "Note"), "properties": {field: 3}} for iri in message.instances]
        subjects = [entity_ref(iri, "Note") for iri in message.instances]
        write = OwnedWrite(subjects=subjects, properties=[field, "tone"], entity_properties=rows)
        await lbb.write_owned(ctx, "write", write, graph=message.graph)
    return count


def misspelled(lbb, version):
    return word_counter(lbb, version, field="word_cuont")


def waiting(lbb, version):
    @triggered_workflow(name="waiting", version=version)
    async def wait(ctx, message, state):
        request = {"kind": "answer", "key": "tone", "title": "Which tone?", "question": {"prompt": "Which tone?"}}
        await lbb.wait_for_review(ctx, "tone", request, timeout_ms=1_000)
    return wait


def failing(lbb, version):
    @triggered_workflow(name="failing", version=version)
    async def fail(ctx, message, state):
        raise WorkflowError("no tone today")
    return fail


def sleeping(lbb, version):
    @triggered_workflow(name="sleeping", version=version)
    async def sleep(ctx, message, state):
        await ctx.sleep("night", 3_600_000)
    return sleep


def giving_back(lbb, version):
    @triggered_workflow(name="giving-back", version=version)
    async def give_back(ctx, message, state):
        await lbb.requeue(ctx, "requeue", [FailedInstance(iri, "not today") for iri in message.instances])
    return give_back


def in_two_turns(lbb, version):
    @triggered_workflow(name="two", version=version)
    async def two(ctx, message, state):
        later = message.model_dump(mode="json", exclude_none=True)
        if len(message.instances) == 1:
            return {"state": {}, "result": "second"}
        return ctx.continue_({}, {**later, "instances": message.instances[:1]}, result="first")
    return two


bound = word_counter(None)
"""


@dataclass(frozen=True)
class Seen:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Server:
    url: str
    folder: Path

    def client(self, graph: str = "main") -> LbbClient:
        return LbbClient(self.url, api_key=KEY, graph=graph)

    def preview(self, *words: str, folder: Path | None = None, graph: str = "main") -> Seen:
        own = {"LBB_URL": self.url, "LBB_API_KEY": KEY, "LBB_GRAPH": graph, "PYTHONDONTWRITEBYTECODE": "1"}
        environment = os.environ | own
        command = [sys.executable, "-m", "turnbuckle.cli", "preview", *words]
        ran = subprocess.run(
            command, cwd=folder or self.folder, env=environment, capture_output=True, text=True, timeout=60
        )
        return Seen(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with mock models that know the samples, and no worker."""
    folder = tmp_path_factory.mktemp("preview")
    (folder / "factories.py").write_text(FACTORIES, "utf-8")
    dev = Dev(folder, "--port", "0", "--models", str(TEMPLATE / "models.toml"))
    yield Server(dev.until(r"listening on (http://\S+)")[1], folder)
    dev.end()


@pytest.fixture(scope="module")
def notes(server: Server) -> list[str]:
    """Two notes on the graph main; the first has a word count of 5 and a tone."""
    ops = [{"op": "add_entity_type", "name": "Note"}]
    ops += [{"op": "add_property", "name": name, "value_type": "text"} for name in ("text", "tone")]
    ops += [{"op": "add_property", "name": "word_count", "value_type": "i64"}]
    rows = [
        {"type": "Note", "name": "Monday", "properties": {"text": "one two three", "word_count": 5, "tone": "grim"}},
        {"type": "Note", "name": "Tuesday", "properties": {"text": "one two three"}},
    ]
    with server.client() as client:
        client.create_graph()
        client.ontology.evolve({"ops": ops})
        client.commit({"entity_properties": rows})
        query = "SELECT ?s { ?s a <https://littlebigbrain.com/class/note> ; <https://littlebigbrain.com/p/text> ?text }"
        return sorted(row["s"] for row in client.sparql(query).rows())


def state_of(server: Server, graph: str = "main") -> Any:
    """What a write, a question or an engine's instance that stayed would change."""
    with server.client(graph) as client:
        head = client.graph(graph).publication_status()["head_seq"]
        reviews = client.raw_request("GET", "/v1/reviews").data["data"]
        instances = client.raw_request("GET", "/v1/workflows/instances").data
        return head, reviews, [one["id"] for one in instances["instances"]]


def test_a_write_is_shown_against_what_is_stored_and_nothing_is_written(server: Server, notes: list[str]) -> None:
    before = state_of(server)

    seen = server.preview("factories:word_counter", "--instances", *notes)

    assert seen.code == 0, seen.out + seen.err
    assert "~ word_count: 5 -> 3" in seen.out
    assert "- tone: grim" in seen.out
    assert "+ word_count: 3" in seen.out
    assert "nothing was written" in seen.out
    assert state_of(server) == before


def test_the_same_for_programs(server: Server, notes: list[str]) -> None:
    seen = server.preview("factories:word_counter", "--instances", notes[0], "--instances", notes[1], "--json").json

    (write,) = seen["writes"]
    kinds = {record["label"]: [(one["name"], one["kind"]) for one in record["changes"]] for record in write["records"]}
    assert kinds["Monday"] == [("word_count", "changed"), ("tone", "removed")]
    assert kinds["Tuesday"] == [("word_count", "set")]
    assert (write["check"], write["errors"], write["report"]["entity_properties"]) == ("dry_run", [], 2)
    assert (seen["instances"], seen["refusals"]) == (notes, [])


def test_a_write_that_would_be_refused_ends_with_1_and_says_why(server: Server, notes: list[str]) -> None:
    seen = server.preview("factories:misspelled", "--instances", notes[0])

    assert seen.code == 1
    assert "word_cuont" in seen.out
    assert "would fail: step write" in seen.out


@pytest.mark.parametrize(
    ("factory", "why"),
    [
        ("waiting", "wait_for_review fails on a live trigger"),
        ("failing", "turn 1 failed: WorkflowError: no tone today"),
        ("sleeping", 'turn 1 waits at "night"'),
    ],
)
def test_a_turn_that_would_not_come_to_its_end_ends_with_1(
    server: Server, notes: list[str], factory: str, why: str
) -> None:
    before = state_of(server)

    seen = server.preview(f"factories:{factory}", "--instances", notes[0])

    assert seen.code == 1
    assert why in seen.out
    assert state_of(server) == before


def test_what_would_be_given_back_is_told(server: Server, notes: list[str]) -> None:
    seen = server.preview("factories:giving_back", "--instances", notes[0])

    assert seen.code == 0, seen.out + seen.err
    assert f"would give back {notes[0]}: not today" in seen.out


def test_a_continuation_is_followed(server: Server, notes: list[str]) -> None:
    seen = server.preview("factories:in_two_turns", "--instances", *notes, "--json")

    assert (seen.code, seen.json["result"]) == (0, "second")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["factories:bound", "--instances", "NOTE"], "would write what it writes live"),
        (["factories:word_counter", "--instances", "https://example.org/x"], "that is no record"),
        (["factories:word_counter", "--instances", "https://littlebigbrain.com/e/" + "f" * 32], "has no record"),
        (["factories:word_counter", "--query", "SELECT ?s { ?s a <urn:nothing> }"], "selects no record"),
        (["factories:word_counter", "--query", "SELEKT"], "error at 1:"),
        (["factories:word_counter", "--query", "@nowhere.rq"], "cannot read nowhere.rq"),
    ],
)
def test_what_cannot_be_run_on_is_told(server: Server, notes: list[str], words: list[str], why: str) -> None:
    seen = server.preview(*(notes[0] if word == "NOTE" else word for word in words))

    assert seen.code == 1
    assert why in seen.err
    assert len(seen.err.splitlines()) == 1


def test_without_records_the_command_is_used_wrongly(server: Server) -> None:
    assert server.preview("factories:word_counter").code == 2


def test_the_template_is_previewed_before_it_has_a_worker(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the preview shows is what the samples' answer key says."""
    environment = os.environ | {"LBB_URL": server.url, "LBB_API_KEY": KEY}
    subprocess.run([sys.executable, "-m", "values_extract", "try"], cwd=TEMPLATE, env=environment, check=True)
    before = state_of(server, "try-values-extract")

    words = ["values_extract:create_workflow", "--query", PRODUCTS]
    seen = server.preview(*words, folder=TEMPLATE, graph="try-values-extract")
    asked = server.preview(*words, "--json", folder=TEMPLATE, graph="try-values-extract").json

    assert seen.code == 0, seen.out + seen.err
    assert "would ask: Fjord wall shelf: width_cm = 1.2 cm?" in seen.out
    assert "spent 12 model calls" in seen.out
    products = [record for record in asked["writes"][0]["records"] if record["type"] == "Product"]
    fields = [one for record in products for one in record["changes"] if one["name"] != "HAS_VALUE_SOURCE"]
    assert [one["kind"] for one in fields] == ["set"] * 16
    assert len(asked["reviews"]) == 4
    assert asked["result"]["counters"]["weak_support"] == 2
    assert state_of(server, "try-values-extract") == before
    calls = asyncio.run(_calls(server))
    assert {call["scope"] for call in calls} == {"test"}


async def _calls(server: Server) -> list[dict[str, Any]]:
    async with AsyncLbbClient(server.url, api_key=KEY, graph="try-values-extract") as client:
        calls: list[dict[str, Any]] = (await client.raw_request("GET", "/v1/models/calls")).data["calls"]
        return calls
