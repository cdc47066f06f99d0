"""The client `blobhub` against a real server: each row of the reference document's error table, and what it promises.

The server has no flow worker, so that a run stays `creating` until the test plays the runner.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

import blobhub
from blobhub.types.workflow import Workflow
from tests.live_server import live_server
from tests.open_store import OpenStore
from turnbuckle.operations import graph, hub_blob
from turnbuckle.operations import key as keys
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store.database import write
from turnbuckle.store.key import Grant
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import SCHEDULER_BLOB, WORKFLOW_BLOB

KEY, READER, RUNTIME = "k-writer", "k-reader", "k-runtime"
QUESTION = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Where is my order?"}]}}


@dataclass(frozen=True)
class Server:
    url: str
    store: OpenStore

    def connect(self, key: str = KEY) -> blobhub.Client:
        return blobhub.connect(api_key=key, api_url=f"{self.url}/v1")

    def revision(self, key: str = KEY, blob: str = "support-bot") -> blobhub.Revision:
        return self.connect(key).blob("acme", blob).revision()

    # -- the runner's part ---------------------------------------------------------------------------------------

    def runner(self, method: str, path: str, **more: Any) -> Any:
        answer = httpx.request(method, f"{self.url}/v1/{path}", headers={"x-api-key": RUNTIME}, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def start(self) -> dict[str, Any]:
        """The lease of the next run, started."""
        claim = {"worker": "flow", "workflows": [{"workflow_type": "flow", "version": "v1"}]}
        task = self.runner("POST", "workflows/turns/claim?graph=hub", json=claim)["task"]
        self.runner("GET", "hub/executions/run", params={"id": task["turn"]["message"]["execution_id"]})
        return {"workflow_id": task["turn"]["workflow_id"], "turn": task["turn"]["number"], "token": task["token"]}

    def tell(self, execution: str, *types: str) -> None:
        events = [{"type": type, "message": type} for type in types]
        self.runner("POST", "hub/executions/events", json={"execution_id": execution, "events": events})

    def complete(self, lease: dict[str, Any]) -> None:
        self.runner("POST", "workflows/turns/complete?graph=hub", json={**lease, "state": None})


@pytest.fixture
def server(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Server]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BLOBHUB_API_KEY", raising=False)
    write(open_store.database, _prepare)
    with live_server(open_store.database) as url:
        yield Server(url, open_store)


def _prepare(tx: Transaction) -> None:
    acme = hub_blob.create_org(tx, graph.use(tx, "test", graph.HUB), "acme")
    hub_blob.create_blob(tx, acme, "support-bot", WORKFLOW_BLOB)
    hub_blob.create_blob(tx, acme, "clock", SCHEDULER_BLOB)
    hub_blob.create_blob(tx, acme, "faq-bot", WORKFLOW_BLOB, visibility="public")
    keys.add(tx, KEY, "writer", Grant("test", "org", "write", acme.org_id))
    keys.add(tx, READER, "reader", Grant("test", "org", "read", acme.org_id))
    keys.add(tx, RUNTIME, "runner", Grant("test", "runtime", "write"))


@pytest.fixture
def revision(server: Server) -> blobhub.Revision:
    """A draft with the definition `answer-question`."""
    revision = server.revision()
    revision.command("create_definition", alias="answer-question", category="workflow")
    return revision


def test_a_run_is_followed_to_its_end(server: Server, revision: blobhub.Revision) -> None:
    run = Workflow(revision).execute("answer-question", input_data={"question": QUESTION}, session="sdk-demo")
    assert run.status == "creating"
    lease = server.start()
    server.tell(run.id, "flow.entered", "flow.exited")
    server.complete(lease)

    seen: list[str] = []
    status = run.wait(timeout=20, interval=0.01, on_event=lambda event: seen.append(event["type"]))

    assert (status, seen) == ("completed", ["flow.entered", "flow.exited"])
    assert [event["type"] for event in run.events()] == seen
    assert run.record["input_data"] == [{"alias": "question", "value": QUESTION}]
    assert run.url == (
        f"{server.url}/{revision.blob.org_id}/{revision.blob.id}/debugger/{run.session_id}/{run.id}"
        f"?revision={revision.id}"
    )


def test_3000_events_of_one_time_come_once_each_in_order(server: Server, revision: blobhub.Revision) -> None:
    run = Workflow(revision).execute("answer-question")
    lease = server.start()
    names = [f"e{number}" for number in range(3_000)]
    for piece in range(0, 3_000, 1_000):
        server.tell(run.id, *names[piece : piece + 1_000])
    seen: list[str] = []

    def note(event: dict[str, Any]) -> None:
        seen.append(event["type"])
        if len(seen) == 5:
            raise RuntimeError("the callback fails on the fifth")

    with pytest.raises(RuntimeError):
        run.wait(timeout=20, interval=0.01, on_event=note)
    with pytest.raises(blobhub.WaitTimeout):
        run.wait(timeout=0, on_event=note)
    server.complete(lease)
    run.wait(timeout=20, interval=0.01, on_event=note)

    assert seen == names
    assert len({event["created_at"] for event in run.events()}) == 1


def test_a_session_alias_is_found_or_made(revision: blobhub.Revision) -> None:
    workflow = Workflow(revision)

    first, second = (workflow.execute("answer-question", session="sdk-demo") for _ in range(2))
    by_id = workflow.execute("answer-question", session=first.session_id)
    alone = workflow.execute("answer-question")

    assert first.session_id == second.session_id == by_id.session_id != alone.session_id
    runs = revision.query("list_executions", session_id=first.session_id)["executions"]
    assert [one["id"] for one in runs] == [by_id.id, second.id, first.id]


def test_an_id_that_no_session_has_is_never_made(revision: blobhub.Revision) -> None:
    with pytest.raises(blobhub.PermissionDenied):
        Workflow(revision).execute("answer-question", session="5f2c0c9e-3f7b-4b43-9a55-6a3b7f0d2c11")


def test_a_session_closed_meanwhile_stops_the_run(server: Server, revision: blobhub.Revision) -> None:
    run = Workflow(revision).execute("answer-question", session="sdk-demo")
    revision.command("close_session", session_id="sdk-demo")

    assert run.wait(timeout=20, interval=0.01) == "stopped"
    assert run.events()[-1]["type"] == "flow.exited"
    with pytest.raises(blobhub.Conflict) as closed:
        Workflow(revision).execute("answer-question", session="sdk-demo")
    assert closed.value.error == "session_not_open"


def test_stop_before_running_is_refused_and_then_works(server: Server, revision: blobhub.Revision) -> None:
    run = Workflow(revision).execute("answer-question")

    with pytest.raises(blobhub.CommandError) as early:
        run.stop()
    lease = server.start()
    assert run.refresh().status == "running"
    run.stop()
    server.complete(lease)

    assert (early.value.error, early.value.status) == ("invalid_execution_status", 400)
    assert run.wait(timeout=20, interval=0.01) == "stopped"


@pytest.mark.parametrize("reference", ["no-such-name", "acme/no-such-blob/default/answer-question"])
def test_a_definition_that_does_not_resolve(revision: blobhub.Revision, reference: str) -> None:
    with pytest.raises(blobhub.PermissionDenied):
        Workflow(revision).execute(reference)


def test_a_playground_by_id(revision: blobhub.Revision) -> None:
    screen = revision.command("create_definition", alias="a-screen", category="playground")["definition"]["id"]

    with pytest.raises(blobhub.CommandError) as refused:
        Workflow(revision).execute(screen)

    assert refused.value.error == "invalid_definition_category"


def test_a_reader_may_not_run(server: Server, revision: blobhub.Revision) -> None:
    with pytest.raises(blobhub.PermissionDenied):
        Workflow(server.revision(READER)).execute("answer-question")


def test_a_limit_that_is_reached(server: Server, revision: blobhub.Revision) -> None:
    def limit(tx: Transaction) -> None:
        blob = blobs.get(tx, graph.look(tx, "test", graph.HUB), revision.blob.id)
        assert blob is not None
        hub_blob.set_limits(tx, blob, {"workflow.executions_per_session": 1})

    write(server.store.database, limit)
    Workflow(revision).execute("answer-question", session="sdk-demo")

    with pytest.raises(blobhub.CommandError) as refused:
        Workflow(revision).execute("answer-question", session="sdk-demo")

    assert refused.value.error == "limit_exceeded"


def test_a_committed_revision_runs_nothing_and_can_be_run(server: Server, revision: blobhub.Revision) -> None:
    revision.commit("first")
    assert (revision.phase, revision.status) == ("commit", "ready")
    with pytest.raises(blobhub.Conflict) as refused:
        Workflow(revision).execute("answer-question")

    draft = revision.blob.create_revision("second")
    run = Workflow(draft).execute(f"{revision.blob.id}/{revision.id}/answer-question")

    assert refused.value.error == "revision_not_writable"
    assert run.record["revision_id"] == draft.id
    assert [one.id for one in revision.blob.revisions()] == [draft.id, revision.id]


def test_another_type_of_blob_is_no_workflow(server: Server) -> None:
    with pytest.raises(blobhub.TypeMismatch):
        Workflow(server.revision(blob="clock"))


def test_an_anonymous_caller_reads_what_is_public(server: Server) -> None:
    hub = blobhub.connect(anonymous=True, api_url=f"{server.url}/v1")

    public = hub.blob("acme", "faq-bot").revision()
    assert public.query("list_definitions", category="workflow")["definitions"] == []
    with pytest.raises(blobhub.PermissionDenied, match="anonymous"):
        Workflow(public).execute("answer-question")
    with pytest.raises(blobhub.PermissionDenied, match="anonymous"):
        hub.blob("acme", "support-bot")


def test_a_key_that_is_unknown_is_final(server: Server) -> None:
    with pytest.raises(blobhub.AuthError):
        server.connect("nobody").blob("acme", "support-bot")


def test_bytes_go_in_and_out(server: Server, revision: blobhub.Revision) -> None:
    session = revision.command("create_session")["session"]["id"]
    named = {"session_id": session, "alias": "in/a.bin"}
    data = bytes(range(256))

    revision.command_bytes("upload_session_file", data, name="a.bin", content_type="a/b", size=256, **named)

    envelope, back = revision.query_bytes("download_session_file", **named)
    assert (back, envelope["object"]["value"]["file"]["size"]) == (data, 256)
