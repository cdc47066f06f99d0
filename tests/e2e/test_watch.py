"""A triggered workflow over HTTP, with a worker made of plain requests: from the first commit to the last repeat."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clock import MovableClock
from tests.e2e.api import Api, lease, ok
from tests.e2e.dev_process import Dev
from turnbuckle.pump import Pump

EVOLVE, COMMIT = "/v1/ontology/evolve", "/v1/graph/commit"
TRIGGERED, NAMED = "/v1/workflows/triggered", "/v1/workflows/named"
KEYS = (f"test-{number}" for number in itertools.count())
OPS = [
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_property", "name": "text"},
    {"op": "add_property", "name": "word_count", "value_type": "i64"},
]
STARTER = {
    "starter": "workflow",
    "name": "notes",
    "watch": {"class": "Note", "fields": ["text"]},
    "workflow": {"workflow_type": "t", "version": "v1"},
    "owns": {"properties": ["word_count"]},
}


@pytest.fixture
async def graph(api: Api) -> AsyncIterator[Api]:
    """A graph with notes declared, and triggers at work."""
    pump = Pump(api.app.store)
    api.app.room.follow(pump.hear)
    work = asyncio.create_task(pump.run())
    ok(await api.post("/v1/graph/create", b""))
    ok(await api.post(EVOLVE, {"ops": OPS}))
    yield api
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work


async def write(api: Api, name: str, fence: dict[str, Any] | None = None, **properties: Any) -> int:
    body: dict[str, Any] = {
        "entity_properties": [{"type": "Note", "name": name, "key": name, "properties": properties}]
    }
    if fence is not None:
        body["workflow_fence"] = fence
    answer = ok(await api.post(COMMIT, body, headers={"Idempotency-Key": next(KEYS)}))
    assert isinstance(answer["commit_seq"], int)
    return answer["commit_seq"]


async def claimed(api: Api) -> Any:
    """The next turn, which may still be on its way."""
    task = await api.claimed(wait_ms=10_000)
    assert task is not None, "no turn came"
    return task


async def complete(api: Api, task: Any) -> None:
    ok(await api.turn("complete", lease(task), state=task["state"]))


async def test_changes_come_to_a_worker_and_its_own_writes_do_not(graph: Api) -> None:
    """Lbb-graph, appendix B: commit 41 changes a text, the turn writes commit 42, the watch reads it and is silent."""
    first = await write(graph, "a", text="one two")
    shown = ok(await graph.ask("PUT", TRIGGERED, json=STARTER))
    assert (shown["starter"], shown["name"], shown["batch"]) == ("workflow", "notes", 16)

    task = await claimed(graph)
    message = task["turn"]["message"]
    assert (message["reason"], message["as_of_commit_seq"], task["state"]) == ("backfill", first, {})
    await write(graph, "a", fence=lease(task), word_count=2)
    await complete(graph, task)
    changed = await write(graph, "a", text="one two three")

    task = await claimed(graph)
    message = task["turn"]["message"]
    assert (message["reason"], message["as_of_commit_seq"]) == ("changed", changed)
    assert task["turn"]["message_id"] == "starter-notes-2"
    assert task["turn"]["origin"] == message["origin"]
    await complete(graph, task)
    assert await graph.claimed() is None
    status = ok(await graph.get(NAMED, name="notes"))["status"]
    assert (status["state"], status["pending"], status["lag_commits"]) == ("ready", 0, 0)


async def test_a_waiting_worker_gets_a_change_within_a_second(graph: Api) -> None:
    """The pump hears of the commit: it does not wait for its next look."""
    await write(graph, "first", text="x")
    ok(await graph.ask("PUT", TRIGGERED, json=STARTER))
    await complete(graph, await claimed(graph))

    loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(claimed(graph))
    began = loop.time()
    await write(graph, "a", text="x")
    await waiting

    assert loop.time() - began < 0.9


async def test_an_instance_given_back_comes_again_when_its_time_has_come(graph: Api, clock: MovableClock) -> None:
    await write(graph, "a", text="x")
    ok(await graph.ask("PUT", TRIGGERED, json=STARTER))
    task = await claimed(graph)
    items = [{"instance": task["turn"]["message"]["instances"][0], "error": "the model was silent"}]
    body = {"workflow_id": "starter.notes", "turn": 1, "items": items}

    answer = ok(await graph.post(f"{NAMED}/requeue", body, name="notes"))
    again = ok(await graph.post(f"{NAMED}/requeue", body, name="notes"))
    await complete(graph, task)

    assert answer == again
    assert (answer["attempt"], answer["exhausted"], len(answer["requeued"])) == (1, [], 1)
    assert answer["not_before"].endswith("Z")
    waiting = ok(await graph.get(f"{NAMED}/queue", name="notes"))
    assert [item["origin"]["kind"] for item in waiting["data"]] == ["requeue"]
    assert await graph.claimed() is None
    clock.pass_ms(60_000)
    assert (await claimed(graph))["turn"]["origin"]["attempt"] == 1


async def test_a_person_runs_pauses_reads_and_deletes_a_workflow(graph: Api) -> None:
    await write(graph, "a", text="x")
    ok(await graph.ask("PUT", TRIGGERED, json=STARTER))
    await complete(graph, await claimed(graph))

    ran = ok(await graph.post(f"{NAMED}/run", b"", name="notes"))
    assert (ran["queued"], ran["workflow"]["name"]) == (True, "notes")
    task = await claimed(graph)
    assert (task["turn"]["message"]["reason"], task["turn"]["origin"]["kind"]) == ("refresh", "manual")
    assert task["turn"]["origin"]["actor"].startswith("key:")
    await complete(graph, task)

    assert ok(await graph.post(f"{NAMED}/pause", {"paused": True}, name="notes"))["paused"]
    await write(graph, "b", text="x")
    assert await graph.claimed() is None
    assert not ok(await graph.post(f"{NAMED}/pause", {"paused": False}, name="notes"))["paused"]
    await complete(graph, await claimed(graph))

    runs = ok(await graph.get(f"{NAMED}/runs", name="notes"))
    assert [run["outcome"] for run in runs["data"]] == ["done"] * 3
    whole = ok(await graph.get(f"{NAMED}/runs/get", name="notes", id=runs["data"][0]["id"]))
    assert (whole["run"]["identity"], whole["calls"], whole["calls_truncated"]) == ("starter.notes", [], False)
    assert ok(await graph.get(f"{NAMED}/runs/stats", name="notes", hours=1))["runs"] == 3
    assert ok(await graph.get(f"{NAMED}/runs/results", name="notes"))["data"] == []
    assert [one["name"] for one in ok(await graph.get(NAMED))["data"]] == ["notes"]

    gone = ok(await graph.ask("DELETE", NAMED, params={"name": "notes", "confirm": "notes"}))
    assert gone == {"deleted": True}
    assert (await graph.get(NAMED, name="notes")).status_code == 404
    ok(await graph.get("/v1/workflows/instances/get", id="starter.notes"))


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        ({"starter": "nothing"}, 404, "not_found", "starter"),
        ({"watch": {"class": "Nothing"}}, 400, "workflow_param_invalid", "watch"),
        ({"watch": {"class": "Note", "fields": ["nothing"]}}, 400, "workflow_param_invalid", "watch"),
        ({"params": {"properties": []}}, 400, "workflow_param_invalid", "params"),
        ({"name": "Bad Name"}, 400, "workflow_param_invalid", "name"),
        ({"owns": {"properties": ["nothing"]}}, 400, "workflow_param_invalid", "owns"),
        ({"batch": 65}, 400, "invalid_param", "batch"),
        ({"unknown": 1}, 400, "invalid_param", "unknown"),
    ],
)
async def test_a_bad_request_is_told_with_its_field(
    graph: Api, change: dict[str, Any], status: int, code: str, param: str
) -> None:
    answer = await graph.ask("PUT", TRIGGERED, json=STARTER | change)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert ok(await graph.get(NAMED))["data"] == []


async def test_null_is_absent_in_settings(graph: Api) -> None:
    absent = dict.fromkeys(("params", "gate", "budget_usd_per_month", "batch"))

    assert ok(await graph.ask("PUT", TRIGGERED, json=STARTER | absent))["batch"] == 16


async def test_a_deleted_graph_leaves_no_trigger_to_the_next_of_its_name(graph: Api) -> None:
    await write(graph, "a", text="x")
    ok(await graph.ask("PUT", TRIGGERED, json=STARTER))
    await claimed(graph)

    ok(await graph.post("/v1/graph/delete", b"", confirm="main"))
    ok(await graph.post("/v1/graph/create", b""))
    ok(await graph.post(EVOLVE, {"ops": OPS}))
    await write(graph, "b", text="x")

    assert ok(await graph.get(NAMED))["data"] == []
    assert await graph.claimed() is None
    ok(await graph.ask("PUT", TRIGGERED, json=STARTER))
    assert (await claimed(graph))["turn"]["message_id"] == "starter-notes-1"


@pytest.mark.timeout(120)
def test_a_server_that_is_killed_in_the_middle_of_a_pass_sends_each_instance_once(tmp_path: Path) -> None:
    """SIGKILL while messages are being written; the next server goes on where the last transaction ended."""
    dev = Dev(tmp_path, "--port", "0")
    headers = {"authorization": "Bearer lbb_sk_test_local"}
    with httpx.Client(base_url=dev.until(r"listening on (\S+)")[1], headers=headers, timeout=30) as client:
        ok(client.post("/v1/graph/create"))
        ok(client.post(EVOLVE, json={"ops": OPS}))
        rows = [{"type": "Note", "name": f"n{n}", "key": f"n{n}", "properties": {"text": "x"}} for n in range(400)]
        ok(client.post(COMMIT, json={"entity_properties": rows}, headers={"Idempotency-Key": "all"}))
        body = {
            "name": "notes",
            "workflow": STARTER["workflow"],
            "triggers": [{"watch": {"class": "Note"}}],
            "batch": 1,
            "window": 128,
            "shards": 4,
        }
        ok(client.put(NAMED, json=body))
        dev.process.kill()
    dev.ended()

    dev = Dev(tmp_path, "--port", "0")
    with httpx.Client(base_url=dev.until(r"listening on (\S+)")[1], headers=headers, timeout=30) as client:
        sent: list[str] = []
        asked = {"worker": "w", "workflows": [STARTER["workflow"]], "wait_ms": 10_000}
        while len(sent) < 400:
            task = ok(client.post("/v1/workflows/turns/claim", json=asked))["task"]
            assert task is not None, f"only {len(sent)} of 400 came"
            sent += task["turn"]["message"]["instances"]
            ok(client.post("/v1/workflows/turns/complete", json={**lease(task), "state": {}}))
        last = ok(client.post("/v1/workflows/turns/claim", json={**asked, "wait_ms": 0}))["task"]
    dev.end()

    assert last is None
    assert len(set(sent)) == 400
