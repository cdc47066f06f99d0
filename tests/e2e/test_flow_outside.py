"""The activities `chat` and `http` on a real server: what a run may send, once, with secrets that stay there."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.flow_server import FlowServer, Json, component, data, document, flow, flow_server, pipe, text
from tests.unit.local_server import LocalServer, Received
from turnbuckle.operations import key as keys
from turnbuckle.operations.key import DEV_KEY
from turnbuckle.store.database import open_database, write

pytestmark = pytest.mark.slow

SECRET = "s3cret-of-the-crm"
START = component("start", "flow.start")


def _echo(connection: Any, received: Received) -> None:
    body = json.dumps({"line": received.line, "headers": received.headers, "body": received.body.decode()}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


@pytest.fixture(scope="module")
def stub() -> Iterator[LocalServer]:
    server = LocalServer(_echo)
    yield server
    server.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, stub: LocalServer) -> Iterator[FlowServer]:
    folder: Path = tmp_path_factory.mktemp("outside")
    place = stub.url.removeprefix("http://")
    (folder / "crm.txt").write_text(SECRET)
    allowed = f"[http]\nallow_private = ['{place}']\n[secrets.crm]\nfile = 'crm.txt'\nhosts = ['{place}']\n"
    (folder / "outside.toml").write_text(allowed)
    with flow_server(folder, "--outside", str(folder / "outside.toml")) as server:
        yield server


@pytest.fixture(scope="module")
def worker_key(server: FlowServer) -> str:
    database = open_database(str(server.folder / "data" / "turnbuckle.db"))
    try:
        return write(database, lambda tx: keys.create(tx, "a flow worker", "test", "runtime", "write"))
    finally:
        database.close()


def post(server: FlowServer, name: str, body: Json, key: str) -> httpx.Response:
    url = f"{server.url}/v1/workflows/activities/{name}"
    return httpx.post(url, json=body, params={"graph": "hub"}, headers={"authorization": f"Bearer {key}"}, timeout=30)


def calling(url: str, **ports: Any) -> Json:
    lent = {"source_port": "provider_output", "target_port": "provider_input", "target_route": "credential"}
    return document(
        [
            START,
            component("call", "io.http", in_url=text(url), **ports),
            component("crm", "provider.credential", name=text("crm")),
            data("answer", "json"),
        ],
        [
            flow("start", "next", "call"),
            pipe("call.body", "answer"),
            {"id": "lent", "source_id": "crm", "target_id": "call", **lent},
        ],
    )


def test_a_run_asks_an_allowed_host_with_a_secret_that_is_nowhere_kept(server: FlowServer, stub: LocalServer) -> None:
    alias = server.define(calling(f"{stub.url}/orders", method=text("POST"), in_body=text("hi")), "calls-out")

    id = server.execute(alias)
    server.until(id, "completed")

    heard = server.ends_with(id)["answer"]["json"]
    assert (heard["line"], heard["body"]) == ("POST /orders HTTP/1.1", "hi")
    assert heard["headers"]["authorization"].endswith("(a secret)")
    assert stub.received[-1].headers["authorization"].endswith(SECRET)
    kept = json.dumps([server.events(id), server.data(id), server.execution(id), server.log])
    assert SECRET not in kept
    assert SECRET.encode() not in (server.folder / "data" / "turnbuckle.db").read_bytes()


def test_a_host_that_is_not_allowed_is_a_failure(server: FlowServer) -> None:
    id = server.execute(server.define(calling("http://127.0.0.1:9/"), "calls-nobody"))

    assert server.until(id, "failed")["error"]["code"] == "activity_request_refused"


def test_one_effect_id_is_one_request(server: FlowServer, stub: LocalServer, worker_key: str) -> None:
    body = {"method": "POST", "url": f"{stub.url}/pay", "text": "1", "effect_id": "p/pay"}
    before = len(stub.received)

    first, again = (post(server, "http", body, worker_key).json() for _ in range(2))
    other = post(server, "http", {**body, "text": "2"}, worker_key)

    assert len(stub.received) == before + 1
    assert (first["status"], again["status"], again["cached"]) == (200, 200, True)
    assert other.json()["error"]["code"] == "activity_effect_conflict"


def test_a_host_that_cannot_be_reached_is_told(server: FlowServer, worker_key: str, tmp_path: Path) -> None:
    gone = LocalServer(_echo)
    gone.close()
    place = gone.url.removeprefix("http://")
    (tmp_path / "outside.toml").write_text(f"[http]\nallow_private = ['{place}']\n")
    with flow_server(tmp_path, "--outside", str(tmp_path / "outside.toml")) as other:
        id = other.execute(other.define(calling(gone.url).copy() | {"connections": [flow("start", "next", "call")]}))

        assert other.until(id, "failed")["error"]["code"] == "http_unavailable"


def test_a_component_that_does_not_end_is_cut_off_five_seconds_after_a_stop(tmp_path: Path) -> None:
    """Decision 37."""
    silent = LocalServer(lambda connection, received: None)
    (tmp_path / "outside.toml").write_text(f"[http]\nallow_private = ['{silent.url.removeprefix('http://')}']\n")
    with flow_server(tmp_path, "--outside", str(tmp_path / "outside.toml")) as server:
        made = calling(silent.url) | {"connections": [flow("start", "next", "call")]}
        id = server.execute(server.define(made))
        server.until(id, "running")
        while not silent.received:
            server.execution(id)

        server.command("stop_execution", execution_id=id)
        told = server.execution(id)
        ended = server.until(id, "stopped")

        assert told["status"] == "stopping"
        assert 4.5 <= seconds(ended["ended_at"]) - seconds(told["updated_at"]) <= 9
        assert server.events(id)[-1]["type"] == "flow.exited"
    silent.close()


def seconds(at: str) -> float:
    return datetime.datetime.fromisoformat(at).timestamp()


@pytest.mark.parametrize("name", ["chat", "http"])
def test_only_flow_workers_may_ask(server: FlowServer, stub: LocalServer, name: str) -> None:
    bodies: dict[str, Json] = {
        "chat": {"messages": [{"role": "user", "content": "hi"}], "effect_id": "p/s"},
        "http": {"method": "GET", "url": stub.url, "effect_id": "p/s"},
    }

    assert post(server, name, bodies[name], DEV_KEY).status_code == 403


def test_a_model_of_the_server_answers_once(server: FlowServer, worker_key: str) -> None:
    body = {"messages": [{"role": "user", "content": "Where is my order?"}], "effect_id": "p/chat"}

    first, again = (post(server, "chat", body, worker_key).json() for _ in range(2))

    assert (first["text"], first["cached"]) == ("(mock) Where is my order?", False)
    assert (again["text"], again["cached"], again["tokens_in"]) == (first["text"], True, 0)


def test_another_endpoint_for_a_chat_is_under_the_same_list(server: FlowServer, worker_key: str) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "model": "m", "base_url": "http://127.0.0.1:9/v1"}

    refused = post(server, "chat", {**body, "effect_id": "p/other"}, worker_key)

    assert refused.json()["error"]["code"] == "activity_request_refused"
