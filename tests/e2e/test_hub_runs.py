"""Executions over HTTP, with the runner's part played by hand (blobhub 3.3, 3.4, 3.6; decisions 35 to 38 and 52)."""

from typing import Any

import pytest

from tests.clock import MovableClock
from tests.e2e.hub_api import ADMIN, RUNTIME, WRITER, Hub, new_id, refusal, taken
from turnbuckle import upkeep
from turnbuckle.wire.limits import DAY_MS

EXITED = {"type": "flow.exited", "message": "done", "key": "end"}


async def started(hub: Hub, **more: Any) -> tuple[str, str, dict[str, Any]]:
    """(session, execution, the runner's lease) of a run that is running."""
    await hub.definition()
    session = await hub.session()
    run = await hub.execute(session, **more)
    return session, run["id"], await hub.held(run["id"])


async def last_event(hub: Hub, execution: str) -> dict[str, Any]:
    return (await hub.events(execution))[-1]


# -- from start to end -------------------------------------------------------------------------------------------


async def test_a_run_goes_from_creating_to_completed(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()

    run = await hub.execute(session)
    assert (run["status"], run["session_id"]) == ("creating", session)
    lease = await hub.held(run["id"])
    assert await hub.status(run["id"]) == "running"
    assert (await hub.completed(lease, events=[EXITED])).status_code == 200

    assert await hub.status(run["id"]) == "completed"
    assert [event["type"] for event in await hub.events(run["id"])] == ["flow.exited"]


async def test_a_run_that_says_so_has_failed(hub: Hub) -> None:
    _, run, lease = await started(hub)
    error = {"code": "dead_end", "message": "nothing leads on", "component_id": "c"}

    await hub.completed(lease, result={"status": "failed", "error": error})

    record = (await hub.query("get_execution", execution_id=run))["execution"]
    assert (record["status"], record["error"]) == ("failed", error)


async def test_a_turn_that_continues_does_not_end_the_run(hub: Hub) -> None:
    _, run, lease = await started(hub)

    await hub.completed(lease, continuation={"message": {"execution_id": run}})
    assert await hub.status(run) == "running"
    await hub.completed(await hub.held(run))

    assert await hub.status(run) == "completed"


async def test_a_run_whose_workers_all_died_has_failed_and_says_so(hub: Hub, clock: MovableClock) -> None:
    _, run, _ = await started(hub)

    for _ in range(5):
        clock.pass_ms(10 * 60_000)
        await upkeep.settle(hub.api.app.store)
        await hub.engine("claim", {"worker": "w", "workflows": [{"workflow_type": "flow", "version": "v1"}]})

    assert await hub.status(run) == "failed"
    event = await last_event(hub, run)
    assert (event["type"], event["attributes"]["code"]) == ("flow.error", "attempts_exhausted")


async def test_a_run_whose_definition_was_deleted_fails_from_creating(hub: Hub) -> None:
    definition = await hub.definition()
    run = await hub.execute(await hub.session())
    await hub.command("delete_definition", definition_id=definition)

    await hub.held(run["id"])

    assert await hub.status(run["id"]) == "failed"
    assert (await last_event(hub, run["id"]))["attributes"]["code"] == "definition_missing"


async def test_the_document_is_fixed_when_the_run_starts(hub: Hub) -> None:
    definition = await hub.definition()
    run = await hub.execute(await hub.session())
    await hub.command("upload_definition", definition_id=definition, definition={"v": 1})
    await hub.held(run["id"])
    await hub.command("upload_definition", definition_id=definition, definition={"v": 2})

    again = taken(await hub.get("hub/executions/run", RUNTIME, id=run["id"]))

    assert again["definition_object"] == {"v": 1}
    assert again["execution"]["status"] == "running"


async def test_the_run_route_gives_all_that_a_run_needs(hub: Hub) -> None:
    given = [{"alias": "question", "value": {"type": "text", "text": "why"}}]
    _, run, _ = await started(hub, input_data=given, pause_before=["c"], dry_run=True)

    answer = taken(await hub.get("hub/executions/run", RUNTIME, id=run))

    assert answer["input_data"] == given
    assert (answer["pause_before"], answer["dry_run"], answer["fork"], answer["pins"]) == (["c"], True, None, [])
    assert answer["blob"] == {"id": hub.blob_id, "org_id": hub.org_id, "alias": "support-bot"}
    assert answer["session"]["alias"] == "sdk-demo"
    assert answer["definition"]["alias"] == "answer-question"


async def test_the_runners_routes_are_closed_to_others(hub: Hub) -> None:
    _, run, lease = await started(hub)

    assert refusal(await hub.get("hub/executions/run", id=run)) == (403, "access_denied")
    told = {**lease, "key": "c", "position": 0, "kind": "step", "timeout_ms": 60_000, "events": [EXITED]}
    answer = await hub.api.post("/v1/workflows/turns/operation", told, graph="hub")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("graph", ["main", "hub", "nobody-used"])
async def test_a_key_of_one_organization_reaches_no_graph(hub: Hub, graph: str) -> None:
    """Its role counts within the organization; the graphs of an environment belong to nobody in particular."""
    for method, path, body in [
        ("GET", "workflows/instances", None),
        ("POST", "workflows/instances", {"id": "a", "workflow_type": "t", "version": "v1"}),
        ("POST", "query/sparql-text", {"query": "ASK {}"}),
    ]:
        answer = await hub.ask(method, f"{path}?graph={graph}", WRITER, json=body)

        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
        assert "scope is org" in answer.json()["error"]["message"]


async def test_other_keys_do_not_see_the_graph_of_executions(hub: Hub) -> None:
    await started(hub)

    answer = await hub.get("workflows/instances", graph="hub")

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


# -- events ------------------------------------------------------------------------------------------------------


async def test_events_are_saved_with_the_step_that_brings_them(hub: Hub) -> None:
    _, run, lease = await started(hub)
    entered = {"type": "processor.entered", "message": "enter", "attributes": {"processor_id": "c"}, "key": "c.0.in"}
    left = {"type": "processor.exited", "message": "leave", "key": "c.0.out", "component_id": "c",
            "component_key": "c.0", "data": {"outputs": {"a": 1}, "route": "next"}}  # fmt: skip

    assert (await hub.begun(lease, events=[entered])).status_code == 200
    assert (await hub.saved(lease, events=[left])).status_code == 200

    first, second = await hub.events(run)
    assert (first["type"], first["message"], first["attributes"]) == (
        "processor.entered", "enter", {"processor_id": "c"})  # fmt: skip
    assert second["execution_id"] == run
    kept = await hub.query("get_execution_data", execution_id=run, data_id=second["data"]["data_id"])
    assert kept["data"][0]["value"] == {"outputs": {"a": 1}, "route": "next"}
    assert (await hub.query("get_execution_data", execution_id=run))["data"] == kept["data"]


async def test_a_repeated_step_tells_its_events_once(hub: Hub, clock: MovableClock) -> None:
    _, run, lease = await started(hub)
    event = {"type": "processor.entered", "key": "c.0.in"}

    for _ in range(2):
        await hub.begun(lease, events=[event])
    clock.pass_ms(10 * 60_000)
    second = await hub.held(run)
    await hub.begun(second, events=[event])
    for _ in range(2):
        await hub.saved(second, events=[{"type": "processor.exited"}])

    assert [event["type"] for event in await hub.events(run)] == ["processor.entered", "processor.exited"]


async def test_a_refused_step_tells_nothing(hub: Hub) -> None:
    _, run, lease = await started(hub)

    answer = await hub.saved({**lease, "token": "lost"}, events=[EXITED])

    assert answer.status_code == 409
    assert await hub.events(run) == []


@pytest.mark.parametrize("event", [{"message": "no type"}, {"type": "a", "more": 1}, 5])
async def test_a_bad_event_is_refused_with_its_step(hub: Hub, event: Any) -> None:
    _, run, lease = await started(hub)

    answer = await hub.saved(lease, events=[event])

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_param")
    assert (await hub.saved(lease)).status_code == 200  # the step was not saved
    assert await hub.events(run) == []


async def test_events_of_one_time_keep_their_order_over_pages(hub: Hub, clock: MovableClock) -> None:
    _, run, _ = await started(hub)
    for piece in range(3):
        clock.pass_ms(0 if piece < 2 else 5)
        events = [{"type": f"e{piece}.{number}"} for number in range(100)]
        taken(await hub.ask("POST", "hub/executions/events", RUNTIME, json={"execution_id": run, "events": events}))
    expected = [f"e{piece}.{number}" for piece in range(3) for number in range(100)]

    up = await read_all(hub, run, ascending=True, limit=7)
    down = await read_all(hub, run, limit=33)

    assert [event["type"] for event in up] == expected
    assert [event["type"] for event in down] == expected[::-1]
    assert len({event["id"] for event in up}) == 300


async def read_all(hub: Hub, run: str, **args: Any) -> list[dict[str, Any]]:
    """All pages; no cursor comes twice."""
    found: list[dict[str, Any]] = []
    cursors: list[str] = []
    more: dict[str, str] = {}
    while True:
        answer = await hub.query("list_execution_events", execution_id=run, **args, **more)
        found += answer["execution_events"]
        if answer["cursor"] is None:
            return found
        assert answer["cursor"] not in cursors
        cursors.append(answer["cursor"])
        more = {"cursor": answer["cursor"]}


async def test_event_times_never_fall_when_the_clock_does(hub: Hub, clock: MovableClock) -> None:
    _, run, _ = await started(hub)
    for step_ms in (1_000, -700, 200):
        clock.pass_ms(step_ms)
        event = {"execution_id": run, "events": [{"type": "t"}]}
        taken(await hub.ask("POST", "hub/executions/events", RUNTIME, json=event))

    times = [event["created_at"] for event in await hub.events(run)]

    assert times == sorted(times)
    assert times[0] == times[1] == times[2]


# -- stopping ----------------------------------------------------------------------------------------------------


async def test_stop_is_refused_while_the_run_is_creating(hub: Hub) -> None:
    await hub.definition()
    run = await hub.execute(await hub.session())

    assert await hub.refused("stop_execution", execution_id=run["id"]) == (400, "invalid_execution_status")
    assert await hub.status(run["id"]) == "creating"


async def test_stop_gives_a_running_component_five_seconds(hub: Hub, clock: MovableClock) -> None:
    _, run, lease = await started(hub)
    await hub.begun(lease)

    await hub.command("stop_execution", execution_id=run)
    await hub.settle()
    assert await hub.status(run) == "stopping"
    clock.pass_ms(5_000)
    await hub.settle()

    assert await hub.status(run) == "stopped"
    event = await last_event(hub, run)
    assert (event["type"], event["attributes"]["reason"]) == ("flow.exited", "stopped")
    assert (await hub.saved(lease)).status_code == 409


async def test_a_stopped_run_begins_no_further_component(hub: Hub) -> None:
    _, run, lease = await started(hub)
    await hub.begun(lease)
    await hub.command("stop_execution", execution_id=run)

    assert (await hub.saved(lease, events=[{"type": "processor.exited"}])).status_code == 200
    answer = await hub.begun(lease, "c.1", 1)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "turn_lease_lost")
    await hub.settle()

    assert await hub.status(run) == "stopped"
    assert [event["type"] for event in await hub.events(run)] == ["processor.exited", "flow.exited"]


async def test_a_run_that_completes_while_it_is_stopped_is_stopped(hub: Hub) -> None:
    _, run, lease = await started(hub)
    await hub.begun(lease)
    await hub.command("stop_execution", execution_id=run)
    await hub.saved(lease)

    await hub.completed(lease, events=[EXITED])

    assert await hub.status(run) == "stopped"
    ends = [event["attributes"] for event in await hub.events(run) if event["type"] == "flow.exited"]
    assert [end["reason"] for end in ends] == ["stopped"]


async def test_a_parked_run_stops_at_once(hub: Hub) -> None:
    _, run, lease = await started(hub)
    asleep = await hub.engine("checkpoint", {**lease, "key": "s", "position": 0, "kind": "sleep", "delay_ms": 60_000})
    assert asleep.status_code == 200

    answer = await hub.command("stop_execution", execution_id=run)

    assert answer["execution"]["status"] == "stopped"
    assert await hub.refused("stop_execution", execution_id=run) == (400, "invalid_execution_status")


async def test_a_child_is_stopped_with_its_parent(hub: Hub) -> None:
    session, run, lease = await started(hub)
    child = await child_of(hub, session, run, lease)
    await hub.engine("checkpoint", {**lease, "key": "s", "position": 0, "kind": "sleep", "delay_ms": 60_000})

    await hub.command("stop_execution", execution_id=run)

    assert await hub.status(child) == "stopped"


async def child_of(hub: Hub, session: str, run: str, lease: dict[str, Any], effect: str = "e-1") -> str:
    mark = f"hub/{lease['workflow_id']}/{lease['turn']}/c.0/{effect}"
    body = {
        "command": "create_execution",
        "target": {"session": session},
        "workflow": {"definition": "answer-question"},
    }
    path = f"revisions/{hub.revision_id}/data/command"
    answer = taken(await hub.ask("POST", path, RUNTIME, json=body, headers={"lbb-effect": mark}))
    record: dict[str, Any] = answer["execution"]
    assert (record["parent_id"], record["trigger"]) == (run, {"type": "workflow", "execution_id": run})
    return str(record["id"])


async def test_a_repeated_step_starts_one_child(hub: Hub) -> None:
    session, run, lease = await started(hub)

    first = await child_of(hub, session, run, lease)

    assert await child_of(hub, session, run, lease) == first
    assert await child_of(hub, session, run, lease, "e-2") != first


async def test_executions_are_nested_five_deep_at_most(hub: Hub) -> None:
    session, run, _ = await started(hub)
    for _ in range(5):
        run = await child_of(hub, session, run, {"workflow_id": f"exec.{run}", "turn": 1})

    mark = f"hub/exec.{run}/1/c.0/e"
    body = {
        "command": "create_execution",
        "target": {"session": session},
        "workflow": {"definition": "answer-question"},
    }
    path = f"revisions/{hub.revision_id}/data/command"
    answer = await hub.ask("POST", path, RUNTIME, json=body, headers={"lbb-effect": mark})

    assert refusal(answer) == (400, "limit_exceeded")


async def test_a_parent_is_told_when_its_child_has_ended(hub: Hub) -> None:
    session, run, lease = await started(hub)
    child = await child_of(hub, session, run, lease)
    wait = {"execution_id": run, "workflow_id": lease["workflow_id"], "turn": 1, "signal": "child", "on": "execution"}
    taken(await hub.ask("POST", "hub/executions/wait", RUNTIME, json={**wait, "target": child}))
    listen = {**lease, "key": "w", "position": 0, "name": "child", "timeout_ms": 60_000}
    assert (await hub.engine("wait-signal", listen)).status_code == 200

    await hub.completed(await hub.held(child))
    await hub.settle()

    task = (await hub.engine("claim", CLAIM)).json()["task"]
    heard = task["turn"]["steps"][0]["output"]
    assert heard == {"received": True, "value": {"execution_id": child, "status": "completed"}}


CLAIM = {"worker": "w", "workflows": [{"workflow_type": "flow", "version": "v1"}]}


async def test_a_run_waits_at_a_breakpoint_until_it_is_continued(hub: Hub) -> None:
    _, run, lease = await started(hub)
    assert await hub.refused("continue_execution", execution_id=run) == (409, "execution_not_paused")
    wait = {"execution_id": run, "workflow_id": lease["workflow_id"], "turn": 1, "signal": "go", "on": "breakpoint"}
    taken(await hub.ask("POST", "hub/executions/wait", RUNTIME, json=wait))
    await hub.engine("wait-signal", {**lease, "key": "w", "position": 0, "name": "go", "timeout_ms": 60_000})

    await hub.command("continue_execution", execution_id=run, pause_before=["d"])

    steps = (await hub.engine("claim", CLAIM)).json()["task"]["turn"]["steps"]
    assert steps[0]["output"]["value"] == {"pause_before": ["d"]}
    assert await hub.refused("continue_execution", execution_id=run) == (409, "execution_not_paused")


async def test_a_fork_takes_over_what_was_done_up_to_a_component(hub: Hub) -> None:
    _, run, lease = await started(hub)
    for position in range(2):
        key = f"c.{position}"
        event = {"type": "processor.exited", "key": key, "component_key": key, "data": {"route": "next", "n": position}}
        await hub.saved(lease, key, position, events=[event])
    unknown = await hub.refused("fork_execution", execution_id=run, component_key="nowhere")

    value = {"type": "text", "text": "edited"}
    edited = [{"route": "out", "value": value}]
    answer = await hub.command("fork_execution", execution_id=run, component_key="c.0", outputs=edited)

    assert unknown == (409, "execution_not_finished")
    fork = taken(await hub.get("hub/executions/run", RUNTIME, id=answer["execution"]["id"]))
    assert [pin["component_key"] for pin in fork["pins"]] == ["c.0"]
    assert fork["fork"]["outputs"] == edited
    original = (await hub.query("get_execution", execution_id=run))["execution"]
    assert fork["execution"]["document_sha256"] == original["document_sha256"]


# -- sessions ----------------------------------------------------------------------------------------------------


async def test_closing_a_session_stops_runs_that_nobody_has_in_hand(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()
    run = await hub.execute(session)

    answer = await hub.command("close_session", session_id="sdk-demo")

    assert answer["session"]["status"] == "closed"
    assert await hub.status(run["id"]) == "stopped"
    assert (await last_event(hub, run["id"]))["attributes"] == {
        "status": "stopped", "reason": "stopped", "cause": "session_closed"}  # fmt: skip
    assert await hub.refused("create_execution", target={"session": session}, workflow={"definition": "x-y-z-1"}) == (
        409, "session_not_open")  # fmt: skip


async def test_a_session_is_closing_while_a_component_runs(hub: Hub, clock: MovableClock) -> None:
    session, run, lease = await started(hub)
    await hub.begun(lease)

    assert (await hub.command("close_session", session_id=session))["session"]["status"] == "closing"
    assert await hub.refused("delete_session", session_id=session) == (409, "session_not_open")
    clock.pass_ms(5_001)
    await hub.settle()

    assert (await hub.query("get_session", session_id=session))["session"]["status"] == "closed"
    assert await hub.status(run) == "stopped"
    feed = await hub.query("list_session_events", session_id=session, ascending=True, limit=100)
    types = [event["type"] for event in feed["session_events"]]
    assert types == ["execution_started", "session_closing", "execution_ended", "session_closed"]
    opened = await hub.command("open_session", session_id=session)
    assert opened["session"]["status"] == "open"


async def test_a_deleted_session_is_gone_with_its_runs(hub: Hub, clock: MovableClock) -> None:
    session, run, lease = await started(hub)

    await hub.command("delete_session", session_id=session)
    clock.pass_ms(5_001)
    await hub.settle()

    assert await hub.refused("get_session", "query", session_id="sdk-demo") == (403, "access_denied")
    assert await hub.refused("get_execution", "query", execution_id=run) == (403, "access_denied")
    assert await hub.session() != session  # the alias is free again
    assert (await hub.saved(lease)).status_code == 404  # the engine's instance went too


async def test_a_session_without_alias_expires_a_week_after_its_last_run(hub: Hub, clock: MovableClock) -> None:
    await hub.definition()
    named, nameless, busy = await hub.session(), await hub.session(None), await hub.session(None)
    await hub.completed(await hub.held((await hub.execute(nameless))["id"]))
    run = (await hub.execute(busy))["id"]
    await hub.settle()

    clock.pass_ms(7 * DAY_MS + 1_000)
    await hub.clean()

    assert await hub.refused("get_session", "query", session_id=nameless) == (403, "access_denied")
    assert (await hub.query("get_session", session_id=busy))["session"]["status"] == "open"
    assert (await hub.query("get_session", session_id=named))["session"]["status"] == "open"
    assert await hub.status(run) == "creating"


async def test_a_session_shows_what_it_holds(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()
    for _ in range(3):
        await hub.execute(session)

    record = (await hub.query("get_session", session_id=session))["session"]

    assert record["held"] == {"workflow.executions_per_session": 3}


async def test_executions_are_listed_newest_first(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()
    made = [(await hub.execute(session))["id"] for _ in range(12)]

    first = await hub.query("list_executions", session_id="sdk-demo")
    rest = await hub.query("list_executions", session_id=session, cursor=first["cursor"])
    up = await hub.query("list_executions", session_id=session, ascending=True, limit=12)

    assert [run["id"] for run in first["executions"] + rest["executions"]] == made[::-1]
    assert rest["cursor"] is None
    assert [run["id"] for run in up["executions"]] == made


async def test_a_revision_with_open_runs_cannot_be_committed(hub: Hub) -> None:
    _, run, lease = await started(hub)

    path = f"revisions/{hub.revision_id}/commit"
    assert refusal(await hub.ask("POST", path, json={})) == (409, "revision_in_use")
    await hub.completed(lease)
    taken(await hub.ask("POST", path, json={}))

    assert await hub.status(run) == "completed"
    assert await hub.refused("create_session", alias="another-one") == (409, "revision_not_writable")


async def test_a_run_whose_instance_an_admin_deletes_is_stopped(hub: Hub) -> None:
    _, run, lease = await started(hub)

    body = {"workflow_id": lease["workflow_id"]}
    answer = await hub.ask("POST", "workflows/instances/delete?graph=hub", ADMIN, json=body)

    assert answer.json() == {"deleted": True}
    assert await hub.status(run) == "stopped"


async def test_an_absent_execution_is_a_403(hub: Hub) -> None:
    assert await hub.refused("stop_execution", execution_id=new_id()) == (403, "access_denied")
