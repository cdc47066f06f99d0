"""A model is called once for a step, whatever kills the worker; a server that is killed pays again (decision 31)."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lbb import AsyncLbbClient
from tests.faults.deployment import Deployment, start, turn, until_status
from tests.faults.processes import Child, Nursery
from tests.faults.waiting import wait_until
from tests.faults.workflows import CRASHED
from tests.unit import model_stub as stub
from tests.unit.local_server import LocalServer, local_server
from turnbuckle.wire import limits

INSTANCES = 6
GOOD = stub.always(stub.chat({"code": "A"}))


@pytest.fixture
def model() -> Iterator[LocalServer]:
    with local_server(GOOD) as server:
        yield server


@pytest.fixture
def asking(nursery: Nursery, model: LocalServer, tmp_path: Path) -> Deployment:
    """A server whose `reason` is served by the stub."""
    file = tmp_path / "models.toml"
    file.write_text(
        'activities.reason = "big"\nprices.large-1.usd_per_million_in = 1.0\n'
        f'[providers.big]\nkind = "openai"\nurl = "{model.url}/v1"\nreason_model = "large-1"\n'
    )
    deployment = Deployment(nursery, tmp_path, TURNBUCKLE_MODELS=str(file))
    deployment.start_server()
    return deployment


def worker(deployment: Deployment) -> Child:
    return deployment.start_worker("w", "reasoned", claim_wait_ms=5_000)


@contextlib.contextmanager
def slow(model: LocalServer) -> Iterator[threading.Event]:
    """The model answers when the event is set."""
    release = threading.Event()
    model.behave = stub.held(release, GOOD)
    try:
        yield release
    finally:
        release.set()


def wait_for_calls(model: LocalServer, count: int, within_s: float = 20) -> None:
    wait_until(lambda: len(model.received) >= count, within_s, f"the model was called {count} times")


def spent(deployment: Deployment) -> Any:
    return deployment.select("select sum(micro_usd) from environment_spend")[0][0]


@pytest.mark.timeout(120)
async def test_a_worker_killed_between_answer_and_save_costs_no_second_call(
    asking: Deployment, model: LocalServer, note: Callable[[str], None]
) -> None:
    crashes = 0
    async with asking.client() as client:
        for number in range(INSTANCES):
            handle = await start(client, f"ask-{number}", "reasoned", None)
            await handle.send({"crashes": number % 3}, id="m-1")
        running = worker(asking)
        for number in range(INSTANCES):
            while (await turn(client, f"ask-{number}"))["status"] != "completed":
                if not running.is_alive:
                    assert running.code == CRASHED, running.said()
                    crashes += 1
                    running = worker(asking)

    prompts = [body["messages"][0]["content"] for body in stub.asked(model)]
    asked = len(asking.sink.effects())
    note(f"model calls: steps {INSTANCES}, workers killed {crashes}, requests {asked}, calls {len(prompts)}")
    assert sorted(prompts) == [f"which code has ask-{number}?" for number in range(INSTANCES)]
    assert asked == INSTANCES + sum(number % 3 for number in range(INSTANCES))
    assert spent(asking) == INSTANCES * 11


@pytest.mark.timeout(120)
async def test_a_worker_killed_while_the_model_thinks_costs_no_second_call(
    asking: Deployment, model: LocalServer
) -> None:
    """The server goes on with the call; the next attempt waits for it."""
    async with asking.client() as client:
        await (await start(client, "ask", "reasoned", None)).send({"crashes": 0}, id="m-1")
        with slow(model) as release:
            first = worker(asking)
            wait_for_calls(model, 1)
            first.kill()
            worker(asking)
            wait_until(lambda: len(asking.sink.effects()) == 2, 20, "the step runs again")
            release.set()
            await until_status(client, "ask", "completed")

    assert len(model.received) == 1
    assert asking.state_of("ask") == {"code": "A"}


@pytest.mark.timeout(120)
async def test_a_server_killed_while_the_model_thinks_leaves_a_reservation_that_is_taken_over(
    asking: Deployment, model: LocalServer
) -> None:
    """Meanwhile the ledger says that nobody knows, and the log keeps the call that was lost."""
    async with asking.client() as client:
        await (await start(client, "ask", "reasoned", None)).send({"crashes": 0}, id="m-1")
        with slow(model) as release:
            worker(asking)
            wait_for_calls(model, 1)
            asking.restart_server()
            assert (await ledger(client))["confirmed_at_ms"] is None
            wait_for_calls(model, 2, within_s=limits.CALL_LEASE_MS / 1_000 + 30)
            release.set()
            await until_status(client, "ask", "completed")
        assert (await ledger(client))["state"] == "confirmed"
        calls = (await client.raw_request("GET", "/v1/models/calls")).data["calls"]

    assert len(model.received) == 2
    assert asking.select("select calls from activity") == [(2,)]
    assert spent(asking) == 11  # what this server knows of
    assert [call["ok"] for call in calls] == [True, False]
    assert "may have answered" in calls[1]["error"]


async def ledger(client: AsyncLbbClient) -> dict[str, Any]:
    """What the effect ledger has of the step."""
    answer = await client.raw_request("GET", "/v1/workflows/effects", params={"id": "ask"})
    (effect,) = [found for found in answer.data["effects"] if found["kind"] == "model"]
    found: dict[str, Any] = effect
    return found
