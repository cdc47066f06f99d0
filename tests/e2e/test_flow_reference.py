"""A deployed definition run with the `blobhub` SDK as its reference document shows, by a server with its worker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import blobhub
from blobhub.types.workflow import Workflow
from tests.e2e.flow_server import FlowServer, Json, flow_server
from turnbuckle.operations.key import DEV_KEY

BOT = Path(__file__).parents[2] / "examples" / "support_bot"
QUESTION = {
    "type": "message",
    "message": {"role": "user", "content": [{"type": "text", "text": "Where is my order?"}]},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowServer]:
    with flow_server(tmp_path_factory.mktemp("bot"), "--models", str(BOT / "models.toml")) as server:
        server.define(json.loads((BOT / "answer-question.json").read_text()), "answer-question")
        yield server


def revision(server: FlowServer) -> blobhub.Revision:
    hub = blobhub.connect(api_key=DEV_KEY, api_url=f"{server.url}/v1")
    return hub.blob("acme", "support-bot").revision()


def test_the_run_completes_and_each_event_is_heard_once(server: FlowServer) -> None:
    heard: list[Json] = []
    run = Workflow(revision(server)).execute("answer-question", input_data={"question": QUESTION}, session="sdk-demo")
    assert (run.status, run.url.startswith(server.url)) == ("creating", True)

    status = run.wait(timeout=60, interval=0.1, on_event=heard.append)

    log = run.events()
    assert status == "completed"
    assert [event["type"] for event in log] == [
        "flow.entered",
        *["processor.entered", "processor.exited"] * 3,
        "flow.exited",
    ]
    assert all(event["message"] for event in log)
    assert [event["id"] for event in heard] == [event["id"] for event in log][: len(heard)]
    answer = server.ends_with(run.id)["answer"]["message"]["content"][0]["text"]
    assert answer == "It left our store this morning and arrives tomorrow."


def test_two_runs_of_a_session_run_side_by_side(server: FlowServer) -> None:
    workflow = Workflow(revision(server))
    runs = [
        workflow.execute("answer-question", input_data={"question": QUESTION}, session="side-by-side") for _ in range(5)
    ]

    assert [run.wait(timeout=60, interval=0.1) for run in runs] == ["completed"] * 5
    assert len({run.session_id for run in runs}) == 1


def test_an_input_that_nobody_waits_for_is_ignored(server: FlowServer) -> None:
    given = {"question": QUESTION, "nobody": {"type": "text", "text": "x"}}
    run = Workflow(revision(server)).execute("answer-question", input_data=given)

    assert run.wait(timeout=60, interval=0.1) == "completed"


def test_a_question_of_another_type_reaches_the_run(server: FlowServer) -> None:
    text = {"type": "text", "text": "Where is my order?"}
    run = Workflow(revision(server)).execute("answer-question", input_data={"question": text})

    assert run.wait(timeout=60, interval=0.1) == "completed"


def test_without_a_question_the_run_fails_with_its_reason(server: FlowServer) -> None:
    run = Workflow(revision(server)).execute("answer-question")

    assert run.wait(timeout=60, interval=0.1) == "failed"
    error = run.refresh().record["error"]
    assert (error["code"], error["component_id"]) == ("bad_input", "chat")
    assert run.events()[-1]["type"] == "flow.error"
