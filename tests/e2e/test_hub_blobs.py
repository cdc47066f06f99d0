"""Credentials, blobs, revisions, definitions and limits of the second API (blobhub 2.2 to 2.4, 3.2, 7.2)."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.clock import MovableClock
from tests.e2e.hub_api import ADMIN, OTHERS, READER, WRITER, Hub, new_id, refusal, taken
from turnbuckle.http.hub.routes import ROUTES, Route
from turnbuckle.operations import hub_blob
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store.database import write
from turnbuckle.wire.limits import DAY_MS, HOUR_MS

BOT = "blobs/acme/support-bot"


# -- credentials -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "nobody", "anon_nobody"])
async def test_without_a_valid_credential_it_is_401(hub: Hub, key: str | None) -> None:
    for path in (BOT, "users/me", f"revisions/{hub.revision_id}"):
        assert refusal(await hub.get(path, key)) == (401, "unauthorized")
    assert refusal(await hub.data("query", "nothing", key or "")) == (401, "unauthorized")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_two_routes_are_open_without_a_credential(hub: Hub, route: Route) -> None:
    path = route.path.replace("{", "").replace("}", "").removeprefix("/v1/")

    answer = await hub.ask(route.method, path, None)

    is_open = answer.status_code != 401 or "refresh token" in answer.json()["message"]
    assert is_open == (route.path in ("/v1/auth/core/anonymous", "/v1/auth/core/refresh"))


async def test_one_key_works_as_bearer_and_as_api_key(hub: Hub) -> None:
    answer = await hub.ask("GET", BOT, None, headers={"authorization": f"Bearer {WRITER}"})

    assert taken(answer) == taken(await hub.get(BOT))


async def anonymous(hub: Hub) -> dict[str, Any]:
    return taken(await hub.ask("GET", "auth/core/anonymous", None))


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def test_an_anonymous_caller_reads_public_blobs_only(hub: Hub) -> None:
    token = bearer((await anonymous(hub))["access_token"])

    public = taken(await hub.ask("GET", "blobs/acme/faq-bot", None, headers=token))
    assert public["blob"]["visibility"] == "public"
    assert refusal(await hub.ask("GET", BOT, None, headers=token)) == (403, "access_denied")
    assert refusal(await hub.ask("GET", f"revisions/{hub.revision_id}", None, headers=token)) == (403, "access_denied")
    path = f"revisions/{hub.public_revision_id}/data"
    listed = await hub.ask("POST", f"{path}/query", None, headers=token,
                           json={"command": "list_definitions", "category": "workflow"})  # fmt: skip
    assert taken(listed)["definitions"] == []
    made = await hub.ask("POST", f"{path}/command", None, headers=token, json={"command": "create_session"})
    assert refusal(made) == (403, "access_denied")
    revision = await hub.ask("POST", "blobs/acme/faq-bot/revisions", None, headers=token, json={"comment": "x"})
    assert refusal(revision) == (403, "access_denied")
    assert refusal(await hub.ask("GET", "users/me/orgs", None, headers=token)) == (403, "access_denied")


async def test_a_token_ends_on_time_and_is_refreshed(hub: Hub, clock: MovableClock) -> None:
    tokens = await anonymous(hub)
    assert tokens["expires_at"] == clock.now_ms + HOUR_MS
    old = bearer(tokens["access_token"])
    taken(await hub.ask("GET", "users/me", None, headers=old))

    clock.pass_ms(HOUR_MS)

    assert refusal(await hub.ask("GET", "users/me", None, headers=old)) == (401, "unauthorized")
    body = {"refresh_token": tokens["refresh_token"]}
    fresh = taken(await hub.ask("POST", "auth/core/refresh", None, json=body))
    assert set(fresh) == {"status", "access_token", "expires_at"}
    taken(await hub.ask("GET", "users/me", None, headers=bearer(fresh["access_token"])))
    clock.pass_ms(DAY_MS)
    assert refusal(await hub.ask("POST", "auth/core/refresh", None, json=body)) == (401, "unauthorized")


async def test_a_refresh_token_reads_nothing_and_an_access_token_refreshes_nothing(hub: Hub) -> None:
    tokens = await anonymous(hub)

    wrong = await hub.ask("GET", "users/me", None, headers=bearer(tokens["refresh_token"]))
    assert refusal(wrong) == (401, "unauthorized")
    body = {"refresh_token": tokens["access_token"]}
    assert refusal(await hub.ask("POST", "auth/core/refresh", None, json=body)) == (401, "unauthorized")


async def test_tokens_are_stored_as_hashes_and_removed_when_they_end(hub: Hub, clock: MovableClock) -> None:
    tokens = await anonymous(hub)
    rows = await hub.rows("anonymous_token")
    assert len(rows) == 2
    assert tokens["access_token"].encode() not in repr(rows).encode()

    clock.pass_ms(DAY_MS + 1)
    await hub.clean()

    assert await hub.rows("anonymous_token") == []


async def test_a_scoped_key_is_known_by_a_403_on_the_organizations(hub: Hub) -> None:
    assert refusal(await hub.get("users/me/orgs")) == (403, "access_denied")

    answer = taken(await hub.get("users/me/orgs", ADMIN))

    assert [org["alias"] for org in answer["organizations"]] == ["acme", "other"]


async def test_everybody_has_an_id_of_their_own(hub: Hub) -> None:
    ids = {taken(await hub.get("users/me", key))["user"]["id"] for key in (WRITER, READER, ADMIN)}

    assert len(ids) == 3


async def test_absent_and_out_of_reach_answer_alike(hub: Hub) -> None:
    absent, hidden = await hub.get("blobs/acme/no-such-bot", OTHERS), await hub.get(BOT, OTHERS)
    texts = [answer.json()["message"].replace("no-such-bot", "support-bot") for answer in (absent, hidden)]

    assert (absent.status_code, hidden.status_code) == (403, 403)
    assert texts[0] == texts[1]
    assert refusal(await hub.get(f"revisions/{hub.revision_id}", OTHERS)) == (403, "access_denied")
    assert refusal(await hub.get(f"revisions/{new_id()}")) == (403, "access_denied")


async def test_a_reader_reads_and_changes_nothing(hub: Hub) -> None:
    taken(await hub.get(BOT, READER))
    taken(await hub.data("query", "list_definitions", READER, category="workflow"))

    assert refusal(await hub.data("command", "create_session", READER)) == (403, "access_denied")
    assert refusal(await hub.ask("POST", f"revisions/{hub.revision_id}/commit", READER, json={})) == (
        403, "access_denied")  # fmt: skip


@pytest.mark.parametrize("scope", ["orgs", "blobs"])
async def test_an_admin_makes_keys_for_an_organization_or_a_blob(hub: Hub, scope: str) -> None:
    name = hub.org_id if scope == "orgs" else hub.blob_id
    path = f"{scope}/{name}/api_keys"

    made = taken(await hub.ask("POST", path, ADMIN, json={"role": "read", "description": "for CI"}))["api_key"]

    taken(await hub.get(BOT, made["key"]))
    assert (await hub.get("blobs/acme/faq-bot", made["key"])).status_code == 200  # public
    assert refusal(await hub.data("command", "create_session", made["key"])) == (403, "access_denied")
    assert refusal(await hub.ask("POST", path, WRITER, json={"role": "read"})) == (403, "access_denied")
    assert refusal(await hub.ask("POST", path, ADMIN, json={"role": "owner"})) == (400, "invalid_request_body")


# -- blobs -------------------------------------------------------------------------------------------------------


async def test_a_blob_is_found_by_id_or_alias_of_both(hub: Hub) -> None:
    by_name = taken(await hub.get(BOT))["blob"]

    for org in ("acme", hub.org_id, hub.blob_id, "nowhere"):  # with a blob's id the first part is not looked at
        assert taken(await hub.get(f"blobs/{org}/{hub.blob_id}"))["blob"] == by_name
    assert taken(await hub.get(f"blobs/{hub.org_id}/support-bot"))["blob"] == by_name
    assert by_name["id"] == hub.blob_id
    assert by_name["default_revision_id"] == hub.revision_id
    assert by_name["type"] == "blobhub.compute.workflow"


async def test_limits_come_in_groups(hub: Hub) -> None:
    groups = taken(await hub.get(f"{BOT}/limits"))["groups"]

    shown = {limit["id"]: (limit["value"], limit["source"]) for group in groups for limit in group["limits"]}
    assert shown["workflow.executions_per_session"] == (1_000, "default")
    assert shown["workflow.code_imports"] == ([], "default")


async def set_limits(hub: Hub, **values: int) -> None:
    def change(tx: Any) -> None:
        blob = blobs.get(tx, hub.graph_id, hub.blob_id)
        assert blob is not None
        hub_blob.set_limits(tx, blob, {f"workflow.{name}": value for name, value in values.items()})

    await asyncio.to_thread(write, hub.api.store.database, change)


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("definitions_per_revision", "definition"),
        ("playgrounds_per_revision", "playground"),
        ("sessions_per_revision", "session"),
        ("executions_per_session", "execution"),
    ],
)
async def test_a_limit_that_is_reached_says_so(hub: Hub, limit: str, what: str) -> None:
    async def make(number: int) -> httpx.Response:
        match what:
            case "definition":
                return await hub.data("command", "create_definition", alias=f"alias-{number}", category="workflow")
            case "playground":
                return await hub.data("command", "create_definition", alias=f"alias-{number}", category="playground")
            case "session":
                return await hub.data("command", "create_session")
        target, workflow = {"session": "sdk-demo"}, {"definition": "answer-question"}
        return await hub.data("command", "create_execution", target=target, workflow=workflow)

    if what == "execution":
        await hub.definition()
        await hub.session()
    await set_limits(hub, **{limit: 2})
    taken(await make(1))
    taken(await make(2))

    answer = await make(3)

    assert refusal(answer) == (400, "limit_exceeded")
    assert answer.json()["limit"] == {"id": f"workflow.{limit}", "value": 2, "held": 2}


# -- revisions ---------------------------------------------------------------------------------------------------


async def test_a_revision_is_named_by_id_or_as_the_default(hub: Hub) -> None:
    by_id = taken(await hub.get(f"{BOT}/revisions/{hub.revision_id}"))["revision"]

    assert taken(await hub.get(f"{BOT}/revisions/default"))["revision"] == by_id
    assert taken(await hub.get(f"revisions/{hub.revision_id}"))["revision"] == by_id
    assert (by_id["phase"], by_id["status"], by_id["blob_id"]) == ("draft", "ready", hub.blob_id)
    for ref in (new_id(), hub.public_revision_id, "latest"):
        assert refusal(await hub.get(f"{BOT}/revisions/{ref}")) == (404, "revision_not_found")


async def test_a_new_revision_copies_the_committed_default(hub: Hub) -> None:
    definition = await hub.definition()
    await hub.definition("a-screen", "playground")
    await hub.command("upload_definition", definition_id=definition, definition={"v": 1})
    make = ("POST", f"{BOT}/revisions")
    assert refusal(await hub.ask(*make, json={"comment": "next"})) == (409, "revision_not_committed")
    committed = taken(await hub.ask("POST", f"revisions/{hub.revision_id}/commit", json={"comment": "first"}))

    made = taken(await hub.ask(*make, json={"comment": "next"}))["revision_id"]

    record = taken(await hub.get(f"revisions/{made}"))["revision"]
    assert (record["phase"], record["parent_id"], record["comment"]) == ("draft", hub.revision_id, "next")
    copy = (await hub.query("list_definitions", revision=made, category="workflow"))["definitions"][0]
    assert (copy["alias"], copy["id"] != definition) == ("answer-question", True)
    answer = await hub.query("download_definition", revision=made, definition_id="answer-question")
    assert answer["definition_object"] == {"v": 1}
    assert len((await hub.query("list_definitions", revision=made, category="playground"))["definitions"]) == 1
    assert taken(await hub.get(BOT))["blob"]["default_revision_id"] == hub.revision_id  # it did not move
    job = taken(await hub.get(f"operations/{committed['operation_id']}"))["operation"]
    assert (job["status"], job["type"], job["revision_id"]) == ("completed", "commit", hub.revision_id)
    taken(await hub.ask("POST", f"{BOT}/default_revision", json={"revision_id": made}))
    assert taken(await hub.get(BOT))["blob"]["default_revision_id"] == made


async def test_the_default_moves_to_a_revision_of_the_blob_only(hub: Hub) -> None:
    for revision in (new_id(), hub.public_revision_id, "default"):
        answer = await hub.ask("POST", f"{BOT}/default_revision", json={"revision_id": revision})
        assert refusal(answer) == (404, "revision_not_found")


async def test_revisions_are_listed_newest_first(hub: Hub) -> None:
    taken(await hub.ask("POST", f"revisions/{hub.revision_id}/commit", json={}))
    made = [hub.revision_id]
    for number in range(4):
        answer = await hub.ask("POST", f"{BOT}/revisions", json={"comment": f"number {number}"})
        made.append(taken(answer)["revision_id"])

    first = taken(await hub.get(f"{BOT}/revisions", limit=3))
    rest = taken(await hub.get(f"{BOT}/revisions", limit=3, cursor=first["cursor"]))

    assert [one["id"] for one in first["revisions"] + rest["revisions"]] == made[::-1]
    assert rest["cursor"] is None


@pytest.mark.parametrize("query", ["limit=", "limit=0", "limit=201", "cursor=None", "cursor=", "page=2"])
async def test_bad_query_parameters_are_400(hub: Hub, query: str) -> None:
    answer = await hub.ask("GET", f"{BOT}/revisions?{query}")

    assert refusal(answer) in ((400, "invalid_request_body"), (400, "invalid_cursor"))


async def test_a_readme_is_there_and_nothing_else(hub: Hub) -> None:
    path = f"revisions/{hub.revision_id}/metadata"

    assert taken(await hub.get(f"{path}/readme"))["metadata"]["value"].startswith("# support-bot")
    assert refusal(await hub.get(f"{path}/license")) == (404, "not_found")


async def test_a_committed_revision_is_read_and_not_written(hub: Hub) -> None:
    definition = await hub.definition()
    taken(await hub.ask("POST", f"revisions/{hub.revision_id}/commit", json={}))

    await hub.query("download_definition", definition_id=definition)
    for command, args in (
        ("create_session", {}),
        ("upload_definition", {"definition_id": definition, "definition": {}}),
        ("no_such_command", {}),  # the phase is looked at first
    ):
        assert await hub.refused(command, **args) == (409, "revision_not_writable")
    again = await hub.ask("POST", f"revisions/{hub.revision_id}/commit", json={})
    assert refusal(again) == (409, "revision_not_writable")


# -- definitions -------------------------------------------------------------------------------------------------


async def test_a_document_comes_back_byte_for_byte(hub: Hub) -> None:
    definition = await hub.definition()
    document = b'{"z": 1.50,  "a":[3,\n1,2], "u": "\\u00e9", "big": 123456789012345678901234567890}'
    body = b'{"command":"upload_definition","definition_id":"' + definition.encode() + b'","definition":' + document
    path = f"revisions/{hub.revision_id}/data"
    taken(await hub.ask("POST", f"{path}/command", content=body + b"}"))

    answer = await hub.data("query", "download_definition", definition_id=definition)

    assert document in answer.content
    assert taken(answer)["definition_object"] == json.loads(document)


async def test_a_large_document_is_taken(hub: Hub) -> None:
    definition = await hub.definition()
    document = {"components": [{"id": str(number), "text": "x" * 1_000} for number in range(5_000)]}

    await hub.command("upload_definition", definition_id=definition, definition=document)

    answer = await hub.query("download_definition", definition_id=definition)
    assert answer["definition_object"] == document


async def test_an_alias_is_unique_in_its_category(hub: Hub) -> None:
    workflow = await hub.definition("same-alias")
    playground = await hub.definition("same-alias", "playground")

    answer = await hub.refused("create_definition", alias="same-alias", category="workflow")

    assert answer == (400, "alias_in_use")
    assert workflow != playground
    found = await hub.query("download_definition", definition_id="same-alias")  # an alias is a workflow's
    assert found["definition"]["id"] == workflow


async def test_a_new_definition_has_an_empty_document(hub: Hub) -> None:
    workflow, playground = await hub.definition(), await hub.definition("a-screen", "playground")

    empty = (await hub.query("download_definition", definition_id=workflow))["definition_object"]
    assert empty == {"type": "workflow_definition", "version": "1.0.1", "components": [], "connections": []}
    screen = await hub.query("download_definition", definition_id=playground)
    assert screen["definition_object"]["layout"] == screen["definition"]["layout"] == {"type": "free_form"}


async def test_a_deleted_definition_is_gone_and_makes_room(hub: Hub) -> None:
    await set_limits(hub, definitions_per_revision=1)
    definition = await hub.definition()

    await hub.command("delete_definition", definition_id=definition)

    assert await hub.refused("delete_definition", definition_id=definition) == (403, "access_denied")
    assert await hub.definition() != definition


@pytest.mark.parametrize(
    ("layout", "document", "code"),
    [
        ({"type": "free_form"}, {"layout": {"type": "grid", "columns": 12}}, "invalid_layout"),
        (
            {"type": "grid", "columns": 4},
            {"layout": {"type": "grid", "columns": 4}, "components": [{"id": "c", "position": {"x": 3, "y": 0, "w": 2,
             "h": 1}}]},
            "invalid_component_position",
        ),
    ],
)  # fmt: skip
async def test_a_playground_keeps_its_layout(hub: Hub, layout: Any, document: Any, code: str) -> None:
    screen = await hub.definition("a-screen", "playground", layout=layout)

    assert await hub.refused("upload_definition", definition_id=screen, definition=document) == (400, code)


async def test_documents_that_nothing_names_go_after_a_day(hub: Hub, clock: MovableClock) -> None:
    definition = await hub.definition()
    await hub.command("upload_definition", definition_id=definition, definition={"v": 1})
    run = await hub.execute(await hub.session())
    await hub.held(run["id"])
    await hub.command("upload_definition", definition_id=definition, definition={"v": 2})
    await hub.command("upload_definition", definition_id=definition, definition={"v": 3})

    clock.pass_ms(DAY_MS + 1_000)
    await hub.clean()

    documents = {bytes(row[2]) for row in await hub.rows("hub_document")}
    assert documents == {b'{"v":1}', b'{"v":3}'}  # that of the run, and the newest
