"""What the server gives the debugger page: the page itself, without a key, and the document that a run is fixed to."""

import re
from typing import Any

from tests.e2e.hub_api import DOCUMENT, OTHERS, READER, Hub, refusal, taken

CHANGED: dict[str, Any] = {**DOCUMENT, "components": [{"id": "s", "type": "flow.start"}]}


async def document_of(hub: Hub, execution: str) -> dict[str, Any]:
    answer = await hub.query("get_execution_definition", execution_id=execution)
    document: dict[str, Any] = answer["definition_object"]
    return document


async def test_the_page_and_its_files_are_served_without_a_key(hub: Hub) -> None:
    page = f"/{hub.org_id}/{hub.blob_id}/debugger/s/e"
    shown = await hub.api.ask("GET", page, headers={"authorization": ""}, params={"revision": hub.revision_id})
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")

    for link in re.findall(r'"\.\./\.\./\.\./\.\./(\S+?)"', shown.text):
        file = await hub.api.ask("GET", f"/{link}", headers={"authorization": ""})
        assert file.status_code == 200
        assert "immutable" in file.headers["cache-control"]
        assert file.headers["content-security-policy"] == shown.headers["content-security-policy"]


async def test_other_paths_and_methods_of_the_page_are_refused_as_everywhere(hub: Hub) -> None:
    unknown = await hub.api.ask("GET", "/console/0/page.js")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")

    posted = await hub.api.ask("POST", f"/{hub.org_id}/{hub.blob_id}/debugger/s/e", content=b"{}")

    assert (posted.status_code, posted.headers["allow"]) == (405, "GET")


async def test_a_run_keeps_the_document_it_started_with(hub: Hub) -> None:
    definition = await hub.definition()
    await hub.command("upload_definition", definition_id=definition, definition=DOCUMENT)
    run = (await hub.execute(await hub.session()))["id"]
    await hub.held(run)

    await hub.command("upload_definition", definition_id=definition, definition=CHANGED)

    assert await document_of(hub, run) == DOCUMENT


async def test_a_run_that_waits_for_a_worker_shows_what_it_would_run_now(hub: Hub) -> None:
    definition = await hub.definition()
    await hub.command("upload_definition", definition_id=definition, definition=DOCUMENT)
    run = (await hub.execute(await hub.session()))["id"]

    await hub.command("upload_definition", definition_id=definition, definition=CHANGED)

    assert await document_of(hub, run) == CHANGED


async def test_the_document_of_a_definition_that_is_gone_before_the_start_is_not_found(hub: Hub) -> None:
    definition = await hub.definition()
    run = (await hub.execute(await hub.session()))["id"]
    await hub.command("delete_definition", definition_id=definition)

    answer = await hub.data("query", "get_execution_definition", execution_id=run)

    assert refusal(answer) == (404, "not_found")


async def test_the_document_is_for_those_who_may_read_its_blob(hub: Hub) -> None:
    """A run of a public blob's session may run the definition of a private one, whose code is nobody's business."""
    definition = await hub.definition()
    await hub.command("upload_definition", definition_id=definition, definition=DOCUMENT)
    public = hub.public_revision_id
    session = await hub.command("create_session", alias="public", revision=public)
    made = await hub.command(
        "create_execution",
        revision=public,
        target={"session": session["session"]["id"]},
        workflow={"org": hub.org_id, "blob": hub.blob_id, "revision": hub.revision_id, "definition": definition},
    )
    run = made["execution"]["id"]

    for key in (OTHERS, READER):
        taken(await hub.data("query", "get_execution", key, public, execution_id=run))
    mine = await hub.data("query", "get_execution_definition", READER, public, execution_id=run)
    theirs = await hub.data("query", "get_execution_definition", OTHERS, public, execution_id=run)

    assert taken(mine)["definition_object"] == DOCUMENT
    assert refusal(theirs) == (403, "access_denied")
