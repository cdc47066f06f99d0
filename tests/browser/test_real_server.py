"""The debugger page on a real server: runs are started with the client `blobhub`, and `run.url` is opened."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import blobhub
from blobhub.types.workflow import Workflow
from blobhub.types.workflow.execution import Execution
from tests.browser.documents import message
from tests.browser.test_debugger import expect_state, inspector, node
from tests.e2e.flow_server import BLOB_TYPE, FlowServer, Json, code, component, data, document, flow, flow_server, pipe
from turnbuckle.operations import graph, hub_blob
from turnbuckle.operations.key import DEV_KEY
from turnbuckle.store import hub_blob as hub_orgs
from turnbuckle.store.database import open_database, write
from turnbuckle.store.transaction import Transaction

Look = Callable[..., Page]
QUESTION = message("Where is my order?\x00<b>bold</b>")
ANSWER = """
words = get_data_input('question')['message']['content'][0]['text']
print('asked:', words)
set_data_output('found', create_value('json', {'big': 12345678901234567890, 'words': words}))
set_data_output('answer', create_message('assistant', 'It is on its way.'))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowServer]:
    with flow_server(tmp_path_factory.mktemp("flow")) as server:
        server.define(_answering(), "answer-question")
        server.define(_sleeping(), "sleep-long")
        yield server


def _answering() -> Json:
    made = document(
        [component("start", "flow.start"), code("think", ANSWER), component("last", "flow.end")],
        [flow("start", "next", "think"), flow("think", "success", "last")],
    )
    made["components"] += [data("question", "message"), data("answer", "message")]
    made["connections"] += [pipe("question", "think.question"), pipe("think.answer", "answer")]
    return made


def _sleeping() -> Json:
    seconds = {"type": "integer", "integer": 600}
    return document(
        [component("start", "flow.start"), component("nap", "io.sleep", seconds=seconds)],
        [flow("start", "next", "nap")],
    )


def execute(server: FlowServer, alias: str = "answer-question", blob: str = "support-bot", **more: Any) -> Execution:
    hub = blobhub.connect(api_key=DEV_KEY, api_url=f"{server.url}/v1")
    revision = hub.blob("acme", blob).revision(server.revision_id)
    return Workflow(revision).execute(alias, input_data={"question": QUESTION}, session="sdk-demo", **more)


def opened(look: Look, run: Execution) -> Page:
    page = look(run.url)
    page.get_by_label("API key").fill(DEV_KEY)
    page.keyboard.press("Enter")
    return page


def test_a_run_is_followed_to_its_end(server: FlowServer, look: Look) -> None:
    page = opened(look, execute(server))

    expect(page.locator("#status")).to_have_text("completed", timeout=30_000)
    for component_id in ("start", "think", "last"):
        expect_state(page, component_id, "done")
    expect(page.locator("#events")).to_contain_text("asked: Where is my order?\\u0000<b>bold</b>")
    node(page, "think").click()
    expect(inspector(page)).to_contain_text('"big": 12345678901234567890')
    node(page, "answer").click()
    expect(inspector(page).locator(".payload .prose")).to_have_text("It is on its way.")


def test_a_run_is_continued_from_a_breakpoint_and_forked(server: FlowServer, look: Look) -> None:
    run = execute(server, pause_before=["last"])
    page = opened(look, run)
    expect(page.locator("#status")).to_have_text("paused", timeout=30_000)
    expect_state(page, "last", "paused")

    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#status")).to_have_text("completed", timeout=30_000)
    node(page, "think").click()
    page.get_by_role("button", name="Fork from here…").click()
    box = page.get_by_label("Output answer")
    box.fill(box.input_value().replace("It is on its way.", "It arrived yesterday."))
    page.get_by_role("button", name="Start the fork").click()

    page.wait_for_url(lambda address: run.id not in address)
    expect(page.locator("#status")).to_have_text("completed", timeout=30_000)
    expect(inspector(page).get_by_text("It arrived yesterday.").first).to_be_visible()
    node(page, "think").click()
    expect(inspector(page)).to_contain_text("from the run that this one was forked from")


def test_a_run_is_stopped_from_the_page(server: FlowServer, look: Look) -> None:
    run = execute(server, "sleep-long")
    page = opened(look, run)
    expect_state(page, "nap", "running")

    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop the run").click()

    expect(page.locator("#status")).to_have_text("stopped", timeout=30_000)
    assert run.refresh().status == "stopped"
    expect_state(page, "nap", "stopped")


def test_a_run_of_a_public_blob_needs_no_key(tmp_path: Path, look: Look) -> None:
    with flow_server(tmp_path) as server:
        server.revision_id = _public(tmp_path / "data")
        server.define(_sleeping(), "sleep-long")
        run = execute(server, "sleep-long", blob="open-bot")

        page = look(run.url)
        expect_state(page, "nap", "running")
        page.get_by_role("button", name="Stop…").click()
        page.get_by_role("button", name="Stop the run").click()

        expect(page.locator("dialog")).to_contain_text("This needs a key")


def _public(data: Path) -> str:
    """A public blob in the server's store; its draft revision."""

    def make(tx: Transaction) -> str:
        where = graph.use(tx, "test", "hub")
        org = hub_orgs.org_by_alias(tx, where, "acme")
        assert org is not None
        return hub_blob.create_blob(tx, org, "open-bot", BLOB_TYPE, visibility="public")[1].revision_id

    with contextlib.closing(open_database(str(data / "turnbuckle.db"))) as database:
        return write(database, make)


def test_a_wrong_key_and_an_unknown_run_are_told(server: FlowServer, look: Look) -> None:
    run = execute(server)
    page = look(run.url.replace(run.id, "00000000-0000-4000-8000-000000000000"))
    expect(page.get_by_role("heading", name="A key is needed")).to_be_visible()

    page.get_by_label("API key").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The key was not accepted")).to_be_visible()
    page.get_by_label("API key").fill(DEV_KEY)
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="This run is unknown here")).to_be_visible()


def test_the_page_goes_on_when_the_server_was_killed_and_comes_back(tmp_path: Path, look: Look) -> None:
    with flow_server(tmp_path) as server:
        server.define(_answering(), "answer-question")
        page = opened(look, execute(server, pause_before=["last"]))
        expect(page.locator("#status")).to_have_text("paused", timeout=30_000)

        server.kill()
        expect(page.locator("#banner")).to_contain_text("The server does not answer.")
        server.start()

        expect(page.locator("#banner")).to_be_hidden(timeout=30_000)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#status")).to_have_text("completed", timeout=30_000)
