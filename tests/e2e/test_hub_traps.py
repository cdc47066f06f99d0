"""The compatibility traps that are told by the protocol alone, in the order of blobhub 9.1.

Not here: 9's tail, which is the SDK's; 16, since this server throttles nothing and a refused connection ran nothing.
"""

import re

import pytest

from tests.clock import MovableClock
from tests.e2e.hub_api import RUNTIME, Hub, new_id, refusal, taken
from turnbuckle.wire.limits import HOUR_MS

TEXT = {"type": "text", "text": "why?"}
SIX_DIGITS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


async def test_1_an_absent_session_is_a_403_by_alias_and_by_id(hub: Hub) -> None:
    for name in ("sdk-demo", new_id()):
        assert await hub.refused("get_session", "query", session_id=name) == (403, "access_denied")


async def test_2_a_session_alias_that_is_taken_is_a_400(hub: Hub) -> None:
    await hub.session()

    assert await hub.refused("create_session", alias="sdk-demo") == (400, "alias_in_use")


async def test_3_a_new_session_says_that_it_is_open(hub: Hub) -> None:
    session = (await hub.command("create_session", alias="sdk-demo", description="demo"))["session"]

    assert (session["status"], session["alias"], session["description"]) == ("open", "sdk-demo", "demo")
    assert (await hub.query("get_session", session_id="sdk-demo"))["session"] == session
    assert (await hub.query("get_session", session_id=f" {session['id'].upper()} "))["session"] == session


async def test_4_what_is_a_400_and_what_a_409(hub: Hub) -> None:
    """Limits and the commit are in test_hub_blobs.py."""
    screen = await hub.definition("a-screen", "playground")
    await hub.definition()
    session = await hub.session()
    run = await hub.execute(session)
    target = {"session": session}

    category = await hub.refused("create_execution", target=target, workflow={"definition": screen})
    status = await hub.refused("stop_execution", execution_id=run["id"])
    await hub.command("close_session", session_id=session)
    closed = await hub.refused("create_execution", target=target, workflow={"definition": "answer-question"})

    assert [category, status, closed] == [
        (400, "invalid_definition_category"), (400, "invalid_execution_status"), (409, "session_not_open")]  # fmt: skip


async def test_5_times_have_six_digits_and_bounds_may_have_none(hub: Hub, clock: MovableClock) -> None:
    await hub.definition()
    clock.now_ms = clock.now_ms // 1_000 * 1_000
    session = await hub.session()
    run = await hub.execute(session)
    for _ in range(3):
        event = {"execution_id": run["id"], "events": [{"type": "t"}]}
        taken(await hub.ask("POST", "hub/executions/events", RUNTIME, json=event))
        clock.pass_ms(1_000)
    events = await hub.events(run["id"])
    records = [run, (await hub.query("get_session", session_id=session))["session"], *events]

    assert all(SIX_DIGITS.fullmatch(record["created_at"]) for record in records)
    at = events[1]["created_at"]
    assert at.endswith(".000000Z")
    for since in (at, at.replace(".000000", ""), at.replace(".000000", ".000")):
        assert await hub.events(run["id"], created_since=since) == events[2:]
        assert await hub.events(run["id"], created_before=since) == events[:1]


async def test_6_pages_are_stable_and_end_with_a_null_cursor(hub: Hub) -> None:
    await hub.definition()
    run = (await hub.execute(await hub.session()))["id"]
    path = "hub/executions/events"
    taken(await hub.ask("POST", path, RUNTIME, json={"execution_id": run, "events": [{"type": "a"}] * 20}))
    first = await hub.query("list_execution_events", execution_id=run, ascending=True)
    taken(await hub.ask("POST", path, RUNTIME, json={"execution_id": run, "events": [{"type": "b"}] * 3}))
    second = await hub.query("list_execution_events", execution_id=run, ascending=True, cursor=first["cursor"])
    third = await hub.query("list_execution_events", execution_id=run, ascending=True, cursor=second["cursor"])

    pages = [first, second, third]
    ids = [event["id"] for page in pages for event in page["execution_events"]]
    assert (len(ids), len(set(ids))) == (23, 23)
    assert len({page["cursor"] for page in pages}) == 3
    assert third["cursor"] is None


async def test_6_a_full_last_page_has_no_cursor(hub: Hub) -> None:
    for number in range(10):
        await hub.session(f"session-{number}")

    answer = await hub.query("list_sessions")

    assert (len(answer["sessions"]), answer["cursor"]) == (10, None)


async def test_7_a_page_without_a_limit_has_ten_rows(hub: Hub) -> None:
    made = [await hub.session(f"session-{number:02}") for number in range(12)]

    first = await hub.query("list_sessions", ascending=True)
    rest = await hub.query("list_sessions", ascending=True, cursor=first["cursor"])

    assert len(first["sessions"]) == 10
    assert sorted(one["id"] for one in first["sessions"] + rest["sessions"]) == sorted(made)


@pytest.mark.parametrize("args", [{"alias": None}, {"more": 1}, {"description": None}])
async def test_8_unknown_and_null_arguments_are_a_400(hub: Hub, args: dict[str, object]) -> None:
    assert await hub.refused("create_session", **args) == (400, "invalid_request_body")


async def test_9_closing_a_session_stops_its_runs_and_the_log_has_the_last_event(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()
    waiting, running = await hub.execute(session), await hub.execute(session)
    del waiting
    lease = await hub.held()
    await hub.command("close_session", session_id="sdk-demo")
    await hub.settle()

    for run in (await hub.query("list_executions", session_id=session))["executions"]:
        assert run["status"] == "stopped"
        assert (await hub.events(run["id"]))[-1]["attributes"]["reason"] == "stopped"
    assert (await hub.saved(lease)).status_code == 409
    assert running["status"] == "creating"


async def test_10_stop_straight_after_create_is_a_400(hub: Hub) -> None:
    await hub.definition()
    run = await hub.execute(await hub.session())

    assert await hub.refused("stop_execution", execution_id=run["id"]) == (400, "invalid_execution_status")
    await hub.held(run["id"])
    await hub.command("stop_execution", execution_id=run["id"])


async def test_11_a_document_comes_back_equal(hub: Hub) -> None:
    definition = await hub.definition()
    document = {"b": [3, 1, 2], "a": {"z": None, "y": 1.5, "x": True}, "": "ü"}

    await hub.command("upload_definition", definition_id=definition, definition=document)

    answer = await hub.query("download_definition", definition_id="answer-question")
    assert list(answer["definition_object"]) == ["b", "a", ""]
    assert answer["definition_object"] == document
    assert answer["definition"]["id"] == definition


async def test_12_inputs_are_not_compared_with_components(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()
    given = [{"alias": "nobody has it", "value": TEXT}, {"alias": "question", "value": {"type": "made-up", "x": 1}}]

    run = await hub.execute(session, input_data=given)

    assert run["input_data"] == given
    target, workflow = {"session": session}, {"definition": "answer-question"}
    bad = [{"alias": "question", "value": {"text": "no type"}}]
    answer = await hub.refused("create_execution", target=target, workflow=workflow, input_data=bad)
    assert answer == (400, "invalid_request_body")


async def test_13_a_playground_by_id_and_by_alias(hub: Hub) -> None:
    screen = await hub.definition("a-screen", "playground")
    target = {"session": await hub.session()}

    codes = [
        await hub.refused("create_execution", target=target, workflow={"definition": name})
        for name in (screen, "a-screen")
    ]

    assert codes == [(400, "invalid_definition_category"), (403, "access_denied")]


async def test_14_a_blob_is_read_with_its_id_in_both_segments(hub: Hub) -> None:
    blob = taken(await hub.get(f"blobs/{hub.blob_id}/{hub.blob_id}"))["blob"]

    assert (blob["org_id"], blob["alias"]) == (hub.org_id, "support-bot")


async def test_15_an_expired_token_is_told_before_the_command_runs(hub: Hub, clock: MovableClock) -> None:
    token = taken(await hub.ask("GET", "auth/core/anonymous", None))["access_token"]
    clock.pass_ms(HOUR_MS)
    before = await hub.rows("hub_session")

    path = f"revisions/{hub.public_revision_id}/data/command"
    headers = {"authorization": f"Bearer {token}"}
    answer = await hub.ask("POST", path, None, headers=headers, json={"command": "create_session"})

    assert refusal(answer) == (401, "unauthorized")
    assert await hub.rows("hub_session") == before
