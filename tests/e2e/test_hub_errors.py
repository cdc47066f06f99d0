"""Every row of the error tables (blobhub 2.8, and the reference document's own), each over the wire.

Rows of other areas are where their area is: 401 and tokens, limits, layouts and revisions in test_hub_blobs.py, threads
and graphs in test_hub_objects.py, stops and sessions that end in test_hub_runs.py.
"""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from tests.e2e.hub_api import OTHERS, RUNTIME, Hub, new_id, refusal, taken
from turnbuckle.http.hub.commands import TABLE
from turnbuckle.http.hub.routes import ROUTES
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store.database import write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import COMMANDS, WORKFLOW_BLOB

BAD = (400, "invalid_request_body")
AN_ID = "0a4f1c1e-3c1c-4d1e-9d53-6f1f6f1a2b3c"


# -- 400 invalid_request_body ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b'"text"',
        b"{}",
        b'{"command": 5}',
        b'{"command": null}',
        b'{"command": "create_session", "alias": NaN}',
        b'{"command": "create_session", "alias": "\\ud800"}',
        b'{"command": "create_session", "command": "create_session"}',
        b'{"command": "create_session", "alias": "\xff"}',
        b'{"command": "create_session", "x": ' + b"[" * 300 + b"]" * 300 + b"}",
    ],
)
async def test_a_body_that_is_no_command_is_refused(hub: Hub, body: bytes) -> None:
    answer = await hub.ask("POST", f"revisions/{hub.revision_id}/data/command", content=body)

    assert refusal(answer) == BAD


@pytest.mark.parametrize(
    "command", [one for one in TABLE if one.blob_type == WORKFLOW_BLOB], ids=lambda command: command.name
)
async def test_every_command_is_closed(hub: Hub, command: Any) -> None:
    """An unknown key is refused, and so is a null where a key may be left out."""
    fields = msgspec.structs.fields(command.request)
    optional = [field.encode_name for field in fields if not field.required]
    changes: list[dict[str, Any]] = [{"no_such_key": 1}, *({name: None} for name in optional)]

    for more in changes:
        body = {**_filled(command), **more}
        if command.takes_bytes:
            headers = {"content-type": "application/octet-stream", "x-request-body": json.dumps(body)}
            sent: dict[str, Any] = {"headers": headers, "content": b""}
        else:
            sent = {"json": body}
        answer = await hub.ask("POST", f"revisions/{hub.revision_id}/data/{command.channel}", **sent)
        assert refusal(answer) == BAD, more


def _filled(command: Any) -> dict[str, Any]:
    """A body with all that is required, of the right shape."""
    values = {
        "session_id": new_id(),
        "execution_id": new_id(),
        "definition_id": new_id(),
        "element_id": "a",
        "element_ids": ["a"],
        "item_id": "a",
        "component_key": "c",
        "from": ["a"],
        "alias": "an-alias",
        "category": "workflow",
        "definition": {},
        "target": {"session": new_id()},
        "workflow": {"definition": "a"},
        "value": {"type": "text"},
        "content": [],
        "operations": [],
        "query": {"start": ["V"]},
        "name": "n",
        "content_type": "a/b",
        "size": 0,
    }
    required = [field.encode_name for field in msgspec.structs.fields(command.request) if field.required]
    return {"command": command.name, **{name: values[name] for name in required}}


@pytest.mark.parametrize("alias", ["", "fives", "a" * 43, "Upper-case", "with space", "ä-umlaut", AN_ID])
@pytest.mark.parametrize("command", ["create_session", "create_definition", "update_session"])
async def test_a_bad_alias_is_refused(hub: Hub, command: str, alias: str) -> None:
    session = await hub.session()
    more = {"category": "workflow"} if command == "create_definition" else {}
    more |= {"session_id": session} if command == "update_session" else {}

    assert await hub.refused(command, alias=alias, **more) == BAD


async def test_aliases_of_6_and_42_characters_are_taken(hub: Hub) -> None:
    for alias in ("sixsix", "a" * 42, "0_-9-_"):
        assert (await hub.command("create_session", alias=alias))["session"]["alias"] == alias


@pytest.mark.parametrize(
    "workflow",
    [
        {},
        {"definition": ""},
        {"definition": "   "},
        {"definition": "a" * 65},
        {"definition": None},
        {"definition": 5},
        {"blob": new_id(), "definition": "a-name"},
        {"blob": "support-bot", "revision": "default", "definition": "a-name"},
        {"org": "acme", "revision": "default", "definition": "a-name"},
        {"org": "acme", "blob": "support-bot", "revision": "latest", "definition": "a-name"},
        {"definition": "a-name", "more": 1},
    ],
)
async def test_a_malformed_reference_is_refused(hub: Hub, workflow: Any) -> None:
    session = await hub.session()

    assert await hub.refused("create_execution", target={"session": session}, workflow=workflow) == BAD


@pytest.mark.parametrize(
    "entry",
    [
        {"alias": "a"},
        {"alias": "a", "value": None},
        {"alias": "a", "value": "text"},
        {"alias": "a", "value": {}},
        {"alias": "a", "value": {"type": None}},
        {"alias": 5, "value": {"type": "text"}},
        {"value": {"type": "text"}},
        {"alias": "a", "value": {"type": "text"}, "more": 1},
    ],
)
async def test_an_input_without_alias_or_typed_value_is_refused(hub: Hub, entry: Any) -> None:
    await hub.definition()
    target, workflow = {"session": await hub.session()}, {"definition": "answer-question"}

    answer = await hub.refused("create_execution", target=target, workflow=workflow, input_data=[entry])

    assert answer == BAD


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-01-31", "2026-01-31T09:05:00", "2026-01-31T09:05:00+00:00"])
async def test_a_time_in_another_form_is_refused(hub: Hub, moment: str) -> None:
    await hub.definition()
    run = await hub.execute(await hub.session())

    answer = await hub.refused("list_execution_events", "query", execution_id=run["id"], created_since=moment)

    assert answer == BAD


@pytest.mark.parametrize("limit", [0, -1, 1_001, "ten", 1.5, True])
async def test_a_limit_is_a_number_from_1_to_1000(hub: Hub, limit: Any) -> None:
    assert await hub.refused("list_sessions", "query", limit=limit) == BAD


# -- the other 400 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["query", "command"])
@pytest.mark.parametrize("name", ["no_such_command", "", "get_session", "create_session", "create_schedule"])
async def test_a_command_that_is_none_of_its_channel_is_refused(hub: Hub, channel: str, name: str) -> None:
    known = COMMANDS[WORKFLOW_BLOB][channel]  # type: ignore[index]
    if name in known:
        return

    assert await hub.refused(name, channel) == (400, "unknown_command")


async def test_the_engine_of_older_clients_is_ignored(hub: Hub) -> None:
    await hub.query("list_definitions", engine="workflow_blobhub", category="workflow")


@pytest.mark.parametrize(
    "cursor", ["x", "MTI", "!!!!", "////", "a" * 512, "MTIzOg", "OjEyMw", "MTIzOnh4", "LTE6MQ", "ÄÄÄÄ"]
)
async def test_a_cursor_that_nobody_gave_is_refused(hub: Hub, cursor: str) -> None:
    await hub.definition()
    run = await hub.execute(await hub.session())

    answer = await hub.refused("list_execution_events", "query", execution_id=run["id"], cursor=cursor)

    assert answer == (400, "invalid_cursor")


async def test_an_alias_in_use_is_a_400(hub: Hub) -> None:
    await hub.session()
    other = await hub.session("another-one")

    assert await hub.refused("create_session", alias="sdk-demo") == (400, "alias_in_use")
    assert await hub.refused("update_session", session_id=other, alias="sdk-demo") == (400, "alias_in_use")
    await hub.command("update_session", session_id=other, alias="another-one", description="the same")


async def test_a_playground_is_told_by_id_and_unknown_by_alias(hub: Hub) -> None:
    screen = await hub.definition("a-screen", "playground")
    target = {"session": await hub.session()}

    by_id = await hub.refused("create_execution", target=target, workflow={"definition": screen})
    by_alias = await hub.refused("create_execution", target=target, workflow={"definition": "a-screen"})

    assert (by_id, by_alias) == ((400, "invalid_definition_category"), (403, "access_denied"))


# -- 403 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "command", "args"),
    [
        ("query", "get_session", {"session_id": "no-such-session"}),
        ("query", "get_session", {"session_id": new_id()}),
        ("query", "list_executions", {"session_id": "no-such-session"}),
        ("query", "get_execution", {"execution_id": new_id()}),
        ("query", "get_execution", {"execution_id": "not an id"}),
        ("query", "list_execution_events", {"execution_id": new_id()}),
        ("query", "download_definition", {"definition_id": "no-such-name"}),
        ("query", "check_definition", {"definition_id": new_id()}),
        ("command", "stop_execution", {"execution_id": new_id()}),
        ("command", "close_session", {"session_id": "no-such-session"}),
        ("command", "upload_definition", {"definition_id": new_id(), "definition": {}}),
        ("command", "create_execution", {"target": {"session": new_id()}, "workflow": {"definition": "a"}}),
    ],
)
async def test_what_is_absent_is_a_403(hub: Hub, channel: str, command: str, args: dict[str, Any]) -> None:
    assert await hub.refused(command, channel, **args) == (403, "access_denied")


async def test_a_record_of_another_revision_is_a_403(hub: Hub) -> None:
    definition, session = await hub.definition(), await hub.session()
    run = await hub.execute(session)

    for command, args in (
        ("get_session", {"session_id": session}),
        ("get_session", {"session_id": "sdk-demo"}),
        ("get_execution", {"execution_id": run["id"]}),
        ("download_definition", {"definition_id": definition}),
    ):
        answer = await hub.data("query", command, revision=hub.public_revision_id, **args)
        assert refusal(answer) == (403, "access_denied")


@pytest.mark.parametrize(
    "workflow",
    [
        {"definition": "no-such-name"},
        {"definition": new_id()},
        {"blob": new_id(), "revision": "default", "definition": "answer-question"},
        {"org": "acme", "blob": "no-such-blob", "revision": "default", "definition": "answer-question"},
        {"org": "no-such-org", "blob": "support-bot", "revision": "default", "definition": "answer-question"},
        {"org": "acme", "blob": "support-bot", "revision": new_id(), "definition": "answer-question"},
    ],
)
async def test_a_definition_that_does_not_resolve_is_a_403(hub: Hub, workflow: dict[str, str]) -> None:
    await hub.definition()
    session = await hub.session()

    answer = await hub.refused("create_execution", target={"session": session}, workflow=workflow)

    assert answer == (403, "access_denied")


async def test_an_organization_beside_a_blobs_id_must_own_it(hub: Hub) -> None:
    await hub.definition()
    target = {"session": await hub.session()}
    workflow = {"blob": hub.blob_id, "revision": "default", "definition": "answer-question"}

    await hub.command("create_execution", target=target, workflow={"org": "acme", **workflow})
    other = await hub.refused("create_execution", target=target, workflow={"org": "other", **workflow})

    assert other == (403, "access_denied")


async def test_a_run_uses_a_definition_of_any_revision_it_can_read(hub: Hub) -> None:
    """Committed ones included; the run lives in its session's own revision."""
    where = f"revisions/{hub.public_revision_id}"
    body = {"command": "create_definition", "alias": "answer-question", "category": "workflow"}
    definition = taken(await hub.ask("POST", f"{where}/data/command", json=body))["definition"]["id"]
    taken(await hub.ask("POST", f"{where}/commit", json={}))
    session = await hub.session()

    for named in ("answer-question", definition):
        workflow = {"org": "acme", "blob": "faq-bot", "revision": "default", "definition": named}
        run = (await hub.command("create_execution", target={"session": session}, workflow=workflow))["execution"]
        assert (run["revision_id"], run["definition_id"]) == (hub.revision_id, definition)
        assert run["workflow_source"]["revision_id"] == hub.public_revision_id
        assert run["workflow"] == workflow


# -- 404, 405, 409, 413 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["blobs", "blobs/a/b/c/d", "users/you", "revisions/x/data/other", "hub/nothing"])
async def test_an_unknown_route_is_a_404_in_the_envelope(hub: Hub, path: str) -> None:
    assert refusal(await hub.ask("GET", path)) == (404, "not_found")


async def test_an_empty_segment_is_no_name(hub: Hub) -> None:
    assert refusal(await hub.ask("GET", "blobs/acme//revisions")) == (404, "not_found")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_another_method_is_a_405_that_says_which(hub: Hub, route: Any) -> None:
    path = route.path.replace("{", "").replace("}", "").removeprefix("/v1/")

    answer = await hub.ask("DELETE", path)

    assert refusal(answer) == (405, "method_not_allowed")
    assert route.method in answer.headers["allow"].split(", ")


async def test_the_data_channel_takes_posts_only(hub: Hub) -> None:
    answer = await hub.ask("GET", f"revisions/{hub.revision_id}/data/query")

    assert (refusal(answer), answer.headers["allow"]) == ((405, "method_not_allowed"), "POST")


async def set_status(hub: Hub, status: str) -> None:
    def change(tx: Transaction) -> None:
        revision = revisions.lock(tx, hub.graph_id, hub.revision_id)
        assert revision is not None
        revisions.save(tx, revision, msgspec.structs.replace(revision, status=status))

    await asyncio.to_thread(write, hub.api.store.database, change)


@pytest.mark.parametrize("status", ["creating", "committing", "deleting", "failed"])
async def test_reads_too_need_a_revision_that_is_ready(hub: Hub, status: str) -> None:
    await set_status(hub, status)

    for channel, command in (("query", "list_sessions"), ("command", "create_session"), ("query", "no_such_query")):
        assert await hub.refused(command, channel) == (409, "revision_not_ready")
    assert taken(await hub.get(f"revisions/{hub.revision_id}"))["revision"]["status"] == status
    assert refusal(await hub.ask("POST", f"revisions/{hub.revision_id}/commit", json={})) == (409, "revision_not_ready")
    assert refusal(await hub.data("query", "list_sessions", OTHERS)) == (403, "access_denied")  # looked at before


async def test_a_session_that_is_not_open_takes_no_execution(hub: Hub) -> None:
    """Before the definition is looked at."""
    session = await hub.session()
    await hub.command("close_session", session_id=session)

    answer = await hub.refused("create_execution", target={"session": session}, workflow={"definition": "nowhere"})

    assert answer == (409, "session_not_open")


async def test_a_document_over_10_mib_is_refused(hub: Hub) -> None:
    definition = await hub.definition()
    document = {"text": "x" * (10 * 1024 * 1024 + 1)}

    answer = await hub.refused("upload_definition", definition_id=definition, definition=document)

    assert answer == (413, "request_too_large")
    huge = await hub.refused("upload_definition", definition_id=definition, definition={"text": "x" * 12_000_000})
    assert huge == (413, "request_too_large")


async def test_a_refusal_changes_nothing(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()
    await hub.execute(session)
    before = {table: await hub.rows(table) for table in ("hub_session", "hub_execution", "hub_revision", "instance")}

    await hub.refused("create_execution", target={"session": session}, workflow={"definition": "nowhere"})
    await hub.refused("create_session", alias="sdk-demo")
    await hub.refused("create_definition", alias="answer-question", category="workflow")

    assert {table: await hub.rows(table) for table in before} == before


async def test_the_runners_key_is_no_way_into_other_environments(hub: Hub) -> None:
    assert refusal(await hub.get("hub/executions/run", RUNTIME, id=new_id())) == (403, "access_denied")
