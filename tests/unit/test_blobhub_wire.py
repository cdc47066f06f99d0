"""The client on real sockets: what httpx's own exceptions become, and the reference document's example."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

import blobhub
from blobhub import NetworkError, RequestNotSent
from blobhub.settings import Settings
from blobhub.types.workflow import Workflow
from tests.unit.blobhub_scripted import BLOB, ORG, REVISION, MovedTime, revision_of
from tests.unit.local_server import CLOSED, Received, answer, local_server


def drop(connection: socket.socket, received: Received) -> str:
    return CLOSED


def client_on(url: str) -> blobhub.Client:
    return blobhub.Client(Settings(api_url=f"{url}/v1", source="argument", api_key="k"), sleep=MovedTime().sleep)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("BLOBHUB_PROFILE", "BLOBHUB_API_KEY", "BLOBHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_write_whose_reply_is_lost_is_sent_once() -> None:
    with local_server(drop) as server, client_on(server.url) as hub:
        with pytest.raises(NetworkError) as caught:
            revision_of(hub).command("create_session")

        assert type(caught.value) is NetworkError
        assert len(server.received) == 1


def test_a_read_whose_reply_is_lost_is_sent_three_times() -> None:
    with local_server(drop) as server, client_on(server.url) as hub:
        with pytest.raises(NetworkError):
            revision_of(hub).query("get_session", session_id="s")

        assert len(server.received) == 3


def test_a_server_that_is_not_there_got_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with client_on(f"http://127.0.0.1:{port}") as hub, pytest.raises(RequestNotSent):
        revision_of(hub).command("create_session")


class Hub:
    """Answers one run of the example: it completes when its status is read for the second time."""

    SESSION = {"id": "s1", "status": "open", "alias": "sdk-demo"}  # noqa: RUF012

    def __init__(self) -> None:
        self.commands: list[Any] = []
        self.keys: set[str] = set()
        self.reads = 0

    def __call__(self, connection: socket.socket, received: Received) -> None:
        self.keys.add(received.headers["x-api-key"])
        method, path, _ = received.line.split()
        keys = self.page(path) if method == "GET" else self.data(json.loads(received.body))
        answer(connection, json.dumps({"status": "success", **keys}).encode())

    def page(self, path: str) -> dict[str, Any]:
        if path == "/v1/blobs/acme/support-bot":
            return {"blob": {"id": BLOB, "org_id": ORG, "type": "blobhub.compute.workflow"}}
        assert path == f"/v1/blobs/{ORG}/{BLOB}/revisions/default"
        return {"revision": {"id": REVISION, "status": "ready", "phase": "draft"}}

    def data(self, body: dict[str, Any]) -> dict[str, Any]:
        self.commands.append(body)
        run = {"id": "e1", "session_id": "s1", "status": "creating"}
        match body["command"]:
            case "get_session":
                return {"session": self.SESSION}
            case "create_execution":
                return {"execution": run}
            case "list_execution_events":
                made = {"id": "v1", "created_at": "2026-01-31T09:05:00.000000Z", "type": "execution_started"}
                return {"execution_events": [made], "cursor": None}
        self.reads += 1
        return {"execution": run | {"status": "completed" if self.reads > 1 else "running"}}


def test_the_reference_documents_example_runs_with_a_bare_connect(home: Path) -> None:
    behave = Hub()
    with local_server(behave) as server:
        profile = home / ".blobhub" / "credentials.yaml"
        profile.parent.mkdir()
        profile.write_text(f"default: local\nprofiles: {{local: {{key: k1, url: '{server.url}/v1'}}}}\n")
        profile.chmod(0o600)

        hub = blobhub.connect()
        revision = hub.blob("acme", "support-bot").revision()
        question = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Where?"}]}}
        run = Workflow(revision).execute("answer-question", input_data={"question": question}, session="sdk-demo")
        events: list[dict[str, Any]] = []
        status = run.wait(timeout=900, interval=0, on_event=events.append)

        assert run.url == f"{server.url}/{ORG}/{BLOB}/debugger/s1/e1?revision={REVISION}"
        assert (status, [event["type"] for event in events]) == ("completed", ["execution_started"])
        assert behave.keys == {"k1"}
        assert behave.commands[1]["input_data"] == [{"alias": "question", "value": question}]
        hub.close()
