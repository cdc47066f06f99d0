"""What a session holds: objects, files, threads, graphs, and the feed of its changes (blobhub 2.5, 3.7 to 3.10)."""

import json
from typing import Any

import pytest

from tests.clock import MovableClock
from tests.e2e.hub_api import RUNTIME, Hub, new_id, refusal, taken
from turnbuckle.wire import hub_limits

TEXT = {"type": "text", "text": "hello"}
THREAD = {"type": "thread", "thread": {"attributes": {"name": "chat"}, "metadata": {}}}
GRAPH = {"type": "graph", "graph": {"attributes": {}, "metadata": {}}}


@pytest.fixture
async def session(hub: Hub) -> str:
    return await hub.session()


async def put(hub: Hub, session: str, alias: str = "notes", value: Any = TEXT) -> None:
    await hub.command("upload_session_object", session_id=session, alias=alias, value=value)


async def feed(hub: Hub, session: str, **args: Any) -> list[dict[str, Any]]:
    args = {"ascending": True, "limit": 1_000, **args}
    found: list[dict[str, Any]] = (await hub.query("list_session_events", session_id=session, **args))["session_events"]
    return found


# -- objects -----------------------------------------------------------------------------------------------------


async def test_an_object_is_kept_replaced_and_deleted(hub: Hub, session: str) -> None:
    await put(hub, session)
    await put(hub, session, value={"type": "odd", "anything": [1]})

    found = (await hub.query("download_session_object", session_id=session, alias="notes"))["object"]
    await hub.command("delete_session_object", session_id=session, alias="notes")

    assert found["value"] == {"type": "odd", "anything": [1]}
    assert (found["session_id"], found["alias"], found["revision_id"]) == (session, "notes", hub.revision_id)
    for command, channel in (("download_session_object", "query"), ("delete_session_object", "command")):
        assert await hub.refused(command, channel, session_id=session, alias="notes") == (404, "not_found")
    assert [(event["type"], event["session_object"]) for event in await feed(hub, session)] == [
        ("session_object_modified", {"alias": "notes", "type": "text"}),
        ("session_object_modified", {"alias": "notes", "type": "odd"}),
        ("session_object_deleted", {"alias": "notes", "type": "odd"}),
    ]


@pytest.mark.parametrize("alias", ["", "a b", "/a", "a/", "a//b", "a/../b", ".", "ä", "a" * 257])
async def test_a_bad_object_alias_is_refused(hub: Hub, session: str, alias: str) -> None:
    answer = await hub.refused("upload_session_object", session_id=session, alias=alias, value=TEXT)

    assert answer == (400, "invalid_session_object_alias")


@pytest.mark.parametrize("value", [5, None, {}, {"type": 5}, []])
async def test_a_value_is_an_object_with_a_type(hub: Hub, session: str, value: Any) -> None:
    answer = await hub.refused("upload_session_object", session_id=session, alias="a", value=value)

    assert answer == (400, "invalid_request_body")


async def test_data_commands_take_a_sessions_id_only(hub: Hub, session: str) -> None:
    answer = await hub.refused("upload_session_object", session_id="sdk-demo", alias="a", value=TEXT)

    assert answer == (403, "access_denied")


async def test_objects_are_listed_by_prefix_and_folder(hub: Hub, session: str) -> None:
    for alias in ("a", "in/1", "in/2", "in/deep/3", "out/1", "z"):
        await put(hub, session, alias)

    async def listed(**args: Any) -> tuple[list[str], Any, Any]:
        answer = await hub.query("list_session_objects", session_id=session, **args)
        return [one["alias"] for one in answer["objects"]], answer.get("prefixes"), answer["cursor"]

    assert await listed() == (["a", "in/1", "in/2", "in/deep/3", "out/1", "z"], None, None)
    assert await listed(prefix="in/") == (["in/1", "in/2", "in/deep/3"], None, None)
    assert await listed(delimiter="/") == (["a", "z"], ["in/", "out/"], None)
    assert await listed(prefix="in/", delimiter="/") == (["in/1", "in/2"], ["in/deep/"], None)
    first = await listed(delimiter="/", limit=2)
    assert first[:2] == (["a"], ["in/"])
    assert await listed(delimiter="/", limit=2, cursor=first[2]) == (["z"], ["out/"], None)
    page = await listed(limit=4)
    assert await listed(limit=4, cursor=page[2]) == (["out/1", "z"], None, None)


async def test_a_closed_session_is_read_and_not_written(hub: Hub, session: str) -> None:
    await put(hub, session)
    await put(hub, session, "chat", THREAD)
    await hub.command("close_session", session_id=session)

    await hub.query("download_session_object", session_id=session, alias="notes")
    for command, args in (
        ("upload_session_object", {"alias": "a", "value": TEXT}),
        ("delete_session_object", {"alias": "notes"}),
        ("post_session_thread_item", {"alias": "chat", "content": []}),
        ("apply_session_graph_mutations", {"alias": "g", "operations": []}),
        ("update_session", {"description": "new"}),
    ):
        assert await hub.refused(command, session_id=session, **args) == (409, "session_not_open")


# -- files -------------------------------------------------------------------------------------------------------


async def send_file(hub: Hub, session: str, data: bytes, **more: Any) -> Any:
    named = {"session_id": session, "alias": "in/report.txt", "name": "report.txt", "content_type": "text/plain"}
    command = {"command": "upload_session_file", **named, "size": len(data), **more}
    headers = {"content-type": "application/octet-stream", "x-request-body": json.dumps(command)}
    path = f"revisions/{hub.revision_id}/data/command"
    return await hub.ask("POST", path, headers=headers, content=data)


async def test_a_file_comes_back_with_its_record_in_a_header(hub: Hub, session: str) -> None:
    data = bytes(range(256)) * 100
    made = taken(await send_file(hub, session, data))["object"]
    body = {"command": "download_session_file", "session_id": session, "alias": "in/report.txt"}
    path = f"revisions/{hub.revision_id}/data/query"

    answer = await hub.ask("POST", path, json=body, headers={"accept": "application/octet-stream"})

    assert answer.content == data
    assert answer.headers["content-type"] == "application/octet-stream"
    envelope = json.loads(answer.headers["x-response-body"])
    assert (envelope["status"], envelope["object"]) == ("success", made)
    assert made["value"]["file"] == {
        "alias": "in/report.txt", "name": "report.txt", "content_type": "text/plain", "size": len(data)}  # fmt: skip
    assert refusal(await hub.ask("POST", path, json=body)) == (400, "invalid_request_body")
    absent = await hub.ask("POST", path, json={**body, "alias": "x"}, headers={"accept": "application/octet-stream"})
    assert refusal(absent) == (404, "not_found")


async def test_a_file_of_another_size_or_without_bytes_is_refused(hub: Hub, session: str) -> None:
    assert refusal(await send_file(hub, session, b"abc", size=4)) == (400, "invalid_request_body")
    too_large = await send_file(hub, session, b"abc", size=hub_limits.FILE_BYTES + 1)
    assert refusal(too_large) == (400, "invalid_request_body")
    args = {"session_id": session, "alias": "a", "name": "a", "content_type": "a/b", "size": 0}
    assert await hub.refused("upload_session_file", **args) == (400, "invalid_request_body")


# -- threads -----------------------------------------------------------------------------------------------------


async def post(hub: Hub, session: str, text: str = "hi", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    answer = await hub.command("post_session_thread_item", session_id=session, alias="chat", content=content, **more)
    item: dict[str, Any] = answer["item"]
    return item


async def test_items_are_read_in_both_orders_and_by_time(hub: Hub, session: str, clock: MovableClock) -> None:
    await put(hub, session, "chat", THREAD)
    posted = []
    for number in range(12):
        clock.pass_ms(10 if number % 3 == 0 else 0)
        posted.append(await post(hub, session, str(number), metadata={"n": number}, parent_id="anything"))

    async def texts(**args: Any) -> tuple[list[str], Any]:
        answer = await hub.query("list_session_thread_items", session_id=session, alias="chat", **args)
        return [item["content"][0]["text"] for item in answer["items"]], answer["cursor"]

    first, cursor = await texts()
    assert first == [str(number) for number in range(11, 1, -1)]
    assert await texts(cursor=cursor) == (["1", "0"], None)
    assert (await texts(ascending=True, limit=100))[0] == [str(number) for number in range(12)]
    since, before = posted[2]["created_at"], posted[9]["created_at"]
    between = await texts(ascending=True, limit=100, created_since=since, created_before=before)
    assert between[0] == [str(number) for number in range(3, 9)]  # both bounds are exclusive
    one = await hub.query("get_session_thread_item", session_id=session, alias="chat", item_id=posted[4]["id"])
    assert one["item"] == posted[4]
    assert (one["item"]["metadata"], one["item"]["parent_id"]) == ({"n": 4}, "anything")


async def test_an_item_that_is_not_there_is_404(hub: Hub, session: str) -> None:
    await put(hub, session, "chat", THREAD)
    item = await post(hub, session)

    for alias, id in (("chat", new_id()), ("other", item["id"])):
        answer = await hub.refused("get_session_thread_item", "query", session_id=session, alias=alias, item_id=id)
        assert answer == (404, "not_found")


async def test_a_post_needs_a_thread_and_known_blocks_of_bounded_size(hub: Hub, session: str) -> None:
    await put(hub, session, "notes")
    await put(hub, session, "chat", THREAD)

    async def refused(alias: str, content: Any) -> tuple[int, str]:
        return await hub.refused("post_session_thread_item", session_id=session, alias=alias, content=content)

    assert await refused("nowhere", []) == (400, "invalid_thread_envelope")
    assert await refused("notes", []) == (400, "invalid_thread_envelope")
    assert await refused("chat", [{"type": "image", "id": "x"}]) == (400, "invalid_request_body")
    large = [{"type": "text", "text": "x" * 65_300}]
    assert await refused("chat", large) == (400, "thread_item_too_large")
    file = {"type": "file", "file": {"alias": "in/a.txt"}}
    await hub.command("post_session_thread_item", session_id=session, alias="chat",
                      content=[{"type": "json", "json": None}, file])  # fmt: skip


async def test_a_new_envelope_keeps_the_items_and_a_deletion_takes_them(hub: Hub, session: str) -> None:
    await put(hub, session, "chat", THREAD)
    await post(hub, session)

    await put(hub, session, "chat", {**THREAD, "thread": {"attributes": {}, "metadata": {"a": 1}}})
    kept = await hub.query("list_session_thread_items", session_id=session, alias="chat")
    await hub.command("delete_session_object", session_id=session, alias="chat")
    await put(hub, session, "chat", THREAD)
    gone = await hub.query("list_session_thread_items", session_id=session, alias="chat")

    assert (len(kept["items"]), len(gone["items"])) == (1, 0)


async def test_a_post_is_told_twice_in_its_event(hub: Hub, session: str) -> None:
    await put(hub, session, "chat", THREAD)
    item = await post(hub, session)

    event = (await feed(hub, session))[-1]

    assert event["type"] == "session_thread_item_posted"
    assert (event["session_object"], event["alias"], event["item_id"]) == ({"alias": "chat"}, "chat", item["id"])


async def test_a_run_that_waits_hears_of_an_item_by_somebody_else(hub: Hub, session: str) -> None:
    await put(hub, session, "chat", THREAD)
    await hub.definition()
    run = (await hub.execute(session))["id"]
    lease = await hub.held(run)
    own = {"command": "post_session_thread_item", "session_id": session, "alias": "chat",
           "content": [{"type": "text", "text": "what now?"}]}  # fmt: skip
    mark = {"lbb-effect": f"hub/{lease['workflow_id']}/1/c.0/e-1"}
    path = f"revisions/{hub.revision_id}/data/command"
    prompt = taken(await hub.ask("POST", path, RUNTIME, json=own, headers=mark))["item"]
    again = taken(await hub.ask("POST", path, RUNTIME, json=own, headers=mark))["item"]
    wait = {"execution_id": run, "workflow_id": lease["workflow_id"], "turn": 1, "signal": "reply", "on": "thread",
            "target": "chat", "after": prompt["id"]}  # fmt: skip
    taken(await hub.ask("POST", "hub/executions/wait", RUNTIME, json=wait))
    await hub.engine("wait-signal", {**lease, "key": "w", "position": 0, "name": "reply", "timeout_ms": 60_000})

    reply = await post(hub, session, "go on")

    assert (again["id"], prompt["user_id"]) == (prompt["id"], run)
    task = (
        await hub.engine("claim", {"worker": "w", "workflows": [{"workflow_type": "flow", "version": "v1"}]})
    ).json()
    assert task["task"]["turn"]["steps"][0]["output"]["value"] == {"item_id": reply["id"]}


async def test_a_wait_for_an_item_that_has_come_is_over_at_once(hub: Hub, session: str) -> None:
    await put(hub, session, "chat", THREAD)
    await hub.definition()
    run = (await hub.execute(session))["id"]
    lease = await hub.held(run)
    first = await post(hub, session, "one")
    second = await post(hub, session, "two")

    wait = {"execution_id": run, "workflow_id": lease["workflow_id"], "turn": 1, "signal": "reply", "on": "thread",
            "target": "chat", "after": first["id"]}  # fmt: skip
    taken(await hub.ask("POST", "hub/executions/wait", RUNTIME, json=wait))

    listen = {**lease, "key": "w", "position": 0, "name": "reply", "timeout_ms": 60_000}
    turn = (await hub.engine("wait-signal", listen)).json()
    assert turn["steps"][0]["output"]["value"] == {"item_id": second["id"]}


# -- graphs ------------------------------------------------------------------------------------------------------


async def mutate(hub: Hub, session: str, *operations: dict[str, Any]) -> list[dict[str, Any]]:
    answer = await hub.command(
        "apply_session_graph_mutations", session_id=session, alias="net", operations=list(operations)
    )
    results: list[dict[str, Any]] = answer["results"]
    return results


def vertex(id: str, *labels: str, **props: Any) -> dict[str, Any]:
    return {"op": "add_vertex", "element_id": id, "labels": list(labels) or ["Node"], "props": props}


def edge(id: str, source: str, target: str, label: str = "knows", **props: Any) -> dict[str, Any]:
    return {"op": "add_edge", "element_id": id, "label": label, "from_id": source, "to_id": target, "props": props}


@pytest.fixture
async def net(hub: Hub, session: str) -> str:
    await put(hub, session, "net", GRAPH)
    await mutate(
        hub, session, vertex("ann", "Person", age=40), vertex("bob", "Person"), vertex("cat", "Pet"),
        edge("e1", "ann", "bob"), edge("e2", "ann", "cat", "owns"), edge("e3", "bob", "ann"),
    )  # fmt: skip
    return session


async def element(hub: Hub, session: str, id: str) -> dict[str, Any]:
    answer = await hub.query("get_session_graph_element", session_id=session, alias="net", element_id=id)
    found: dict[str, Any] = answer["element"]
    return found


async def test_elements_change_and_count_their_revisions(hub: Hub, net: str) -> None:
    results = await mutate(
        hub, net,
        {"op": "set_vertex_props", "element_id": "ann", "props": {"age": 41, "city": "x"}, "if_rev": 1},
        {"op": "remove_vertex_props", "element_id": "ann", "keys": ["city", "none"], "if_rev": 2},
        {"op": "set_edge_props", "element_id": "e1", "props": {"since": 2020}},
        {"op": "remove_edge_props", "element_id": "e1", "keys": ["since"]},
    )  # fmt: skip

    assert [result["rev"] for result in results] == [2, 3, 2, 3]
    ann = await element(hub, net, "ann")
    assert (ann["props"], ann["labels"], ann["rev"], ann["type"]) == ({"age": 41}, ["Person"], 3, "vertex")
    e1 = await element(hub, net, "e1")
    assert (e1["label"], e1["from_id"], e1["to_id"], e1["props"]) == ("knows", "ann", "bob", {})
    assert (await feed(hub, net))[-1]["changes"][0] == {
        "element_id": "ann", "type": "vertex", "op": "set_vertex_props", "rev": 2}  # fmt: skip


async def test_a_deleted_vertex_takes_its_edges(hub: Hub, net: str) -> None:
    await mutate(hub, net, {"op": "delete_vertex", "element_id": "ann"})

    answer = await hub.query("list_session_graph_elements", session_id=net, alias="net", ascending=True, ids_only=True)

    assert [one["element_id"] for one in answer["element_ids"]] == ["bob", "cat"]
    refused = await hub.refused("get_session_graph_element", "query", session_id=net, alias="net", element_id="e1")
    assert refused == (404, "not_found")


@pytest.mark.parametrize(
    "operation",
    [
        vertex("ann"),
        edge("e9", "ann", "nobody"),
        edge("e9", "ann", "e1"),
        {"op": "set_vertex_props", "element_id": "nobody", "props": {}},
        {"op": "set_vertex_props", "element_id": "e1", "props": {}},
        {"op": "set_vertex_props", "element_id": "ann", "props": {}, "if_rev": 7},
        {"op": "delete_edge", "element_id": "ann"},
        {**vertex("new"), "if_rev": 0},
    ],
)
async def test_a_conflict_undoes_the_whole_call(hub: Hub, net: str, operation: dict[str, Any]) -> None:
    operations = [vertex("dan"), operation]

    answer = await hub.refused("apply_session_graph_mutations", session_id=net, alias="net", operations=operations)

    assert answer == (409, "graph_mutation_conflict")
    assert await hub.refused("get_session_graph_element", "query", session_id=net, alias="net", element_id="dan") == (
        404, "not_found")  # fmt: skip


async def test_graph_calls_need_a_graph(hub: Hub, session: str) -> None:
    await put(hub, session, "notes")

    for alias in ("notes", "nowhere"):
        args = {"session_id": session, "alias": alias}
        for command, channel, more in (
            ("apply_session_graph_mutations", "command", {"operations": []}),
            ("list_session_graph_elements", "query", {}),
            ("get_session_graph_element", "query", {"element_id": "a"}),
            ("get_session_graph_elements", "query", {"element_ids": ["a"]}),
            ("list_session_graph_neighbors", "query", {"from": ["a"]}),
            ("query_session_graph", "query", {"query": {"start": ["V"]}}),
        ):
            assert await hub.refused(command, channel, **args, **more) == (400, "invalid_graph_envelope")


async def test_elements_are_listed_by_creation_and_by_change(hub: Hub, net: str, clock: MovableClock) -> None:
    before = (await element(hub, net, "e3"))["updated_at"]
    clock.pass_ms(5)
    await mutate(hub, net, {"op": "set_vertex_props", "element_id": "cat", "props": {"n": 1}})
    await mutate(hub, net, {"op": "set_vertex_props", "element_id": "ann", "props": {"n": 1}})

    async def ids(**args: Any) -> tuple[list[str], Any]:
        answer = await hub.query("list_session_graph_elements", session_id=net, alias="net", **args)
        return [one["element_id"] for one in answer["elements"]], answer["cursor"]

    assert await ids(ascending=True) == (["ann", "bob", "cat", "e1", "e2", "e3"], None)
    first, cursor = await ids(limit=4)
    assert (first, await ids(limit=4, cursor=cursor)) == (["e3", "e2", "e1", "cat"], (["bob", "ann"], None))
    assert (await ids(type="edge", ascending=True))[0] == ["e1", "e2", "e3"]
    assert (await ids(updated_since=before))[0] == ["ann", "cat"]
    assert (await ids(updated_since=before, ascending=True))[0] == ["cat", "ann"]


async def test_some_elements_are_got_and_missing_ones_left_out(hub: Hub, net: str) -> None:
    ids = ["e2", "nobody", "ann", "e2"]

    answer = await hub.query("get_session_graph_elements", session_id=net, alias="net", element_ids=ids)

    assert [one["element_id"] for one in answer["elements"]] == ["e2", "ann"]


@pytest.mark.parametrize(
    ("args", "edges", "vertices"),
    [
        ({}, ["e1", "e2", "e3"], ["bob", "cat"]),
        ({"direction": "out"}, ["e1", "e2"], ["bob", "cat"]),
        ({"direction": "in"}, ["e3"], ["bob"]),
        ({"label": "owns"}, ["e2"], ["cat"]),
        ({"neighbor_label": "Person"}, ["e1", "e3"], ["bob"]),
    ],
)
async def test_neighbors_by_direction_and_label(
    hub: Hub, net: str, args: dict[str, Any], edges: list[str], vertices: list[str]
) -> None:
    where = {"session_id": net, "alias": "net", "from": ["ann"]}

    answer = await hub.query("list_session_graph_neighbors", **where, **args)

    assert [one["element_id"] for one in answer["edges"]] == edges
    assert [one["element_id"] for one in answer["vertices"]] == vertices


async def test_neighbors_come_in_pages(hub: Hub, net: str) -> None:
    where = {"session_id": net, "alias": "net", "from": ["ann"], "limit": 2}

    first = await hub.query("list_session_graph_neighbors", **where)
    rest = await hub.query("list_session_graph_neighbors", **where, cursor=first["cursor"])

    assert [one["element_id"] for one in first["edges"] + rest["edges"]] == ["e1", "e2", "e3"]
    assert rest["cursor"] is None


# -- the feed ----------------------------------------------------------------------------------------------------


async def test_the_feed_is_read_from_after_a_time_in_pages(hub: Hub, session: str, clock: MovableClock) -> None:
    for number in range(14):
        clock.pass_ms(1 if number % 2 else 0)
        await put(hub, session, f"o{number:02}")
    whole = await feed(hub, session)

    first = await hub.query("list_session_events", session_id=session, ascending=True)
    rest = await hub.query("list_session_events", session_id=session, ascending=True, cursor=first["cursor"])

    assert len(first["session_events"]) == 10
    assert first["session_events"] + rest["session_events"] == whole
    since = whole[4]["created_at"]
    later = await feed(hub, session, created_since=since)
    assert later == [event for event in whole if event["created_at"] > since]
    assert await feed(hub, session, ascending=False) == whole[::-1]
