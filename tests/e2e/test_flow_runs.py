"""Executions on a real server with its flow worker: every component family, and how runs end (blobhub 5)."""

from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.flow_server import (
    FlowServer,
    HubFailure,
    Json,
    code,
    component,
    data,
    document,
    flow,
    flow_server,
    pipe,
    text,
)
from turnbuckle.operations.key import DEV_KEY

_numbers = count(1)
START = component("start", "flow.start")
UPPER = "set_data_output('out', create_value('text', get_data_input('in')['text'].upper()))"
APPEND = """
seen = get_data_input('seen')
known = seen['json'] if seen else []
set_data_output('out', create_value('json', known + [get_data_input('item')['json']]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlowServer]:
    with flow_server(tmp_path_factory.mktemp("flow")) as server:
        yield server


def run(server: FlowServer, made: Json, *, inputs: Json | None = None, session: str | None = None, **more: Any) -> str:
    """An execution of the document, not waited for."""
    alias = server.define(made, f"definition-{next(_numbers)}")
    return server.execute(alias, session, inputs, **more)


def types_of(server: FlowServer, id: str) -> list[str]:
    return [event["type"] for event in server.events(id)]


def line(*components: Json) -> Json:
    """`flow.start` and then one after the other, by `success` or `next`."""
    row = [START, *components]
    edges = []
    for before, after in pairwise(row):
        edges += [flow(before["id"], result, after["id"]) for result in ("next", "success")]
    return document(row, edges)


def with_pipes(made: Json, *ends: tuple[str, str]) -> Json:
    return {**made, "connections": [*made["connections"], *(pipe(a, b) for a, b in ends)]}


# -- one after the other -----------------------------------------------------------------------------------------


def test_a_run_tells_each_component_in_order_and_keeps_its_last_values(server: FlowServer) -> None:
    made = line(code("think", UPPER), component("end", "flow.end"))
    made["components"] += [data("question", "text"), data("answer", "text")]
    made = with_pipes(made, ("question", "think.in"), ("think.out", "answer"))

    id = run(server, made, inputs={"question": text("where")})
    server.until(id, "completed")

    assert types_of(server, id) == [
        "flow.entered",
        *["processor.entered", "processor.exited"] * 3,
        "flow.exited",
    ]
    assert server.runs_of(id) == [("start", "next"), ("think", "success"), ("end", None)]
    assert server.ends_with(id) == {"question": text("where"), "answer": text("WHERE")}
    assert all(event["message"] for event in server.events(id))


def test_what_a_component_took_and_gave_is_kept(server: FlowServer) -> None:
    made = with_pipes(line(code("think", UPPER)), ("question", "think.in"))
    made["components"].append(data("question", "text"))

    id = run(server, made, inputs={"question": text("a")})
    server.until(id, "completed")

    (kept,) = [one for one in server.data(id) if one["component_id"] == "think"]
    assert kept["value"]["inputs"] == {"in": text("a")}
    assert kept["value"]["outputs"] == {"out": text("A")}
    assert (kept["value"]["route"], kept["value"]["duration_ms"] >= 0) == ("success", True)


def test_large_outputs_go_through_blobs_and_arrive_whole(server: FlowServer) -> None:
    make = "set_data_output('out', create_value('text', 'x' * 200000))"
    size = "set_data_output('out', create_value('integer', len(get_data_input('in')['text'])))"
    made = line(code("make", make), code("size", size))
    made["components"].append(data("answer", "integer"))
    made = with_pipes(made, ("make.out", "size.in"), ("size.out", "answer"))

    id = run(server, made)
    server.until(id, "completed")

    assert server.ends_with(id)["answer"] == {"type": "integer", "integer": 200_000}


def test_conditions_and_switches_choose_the_way(server: FlowServer) -> None:
    cases = {"type": "json", "json": [{"route": "big", "equals": 7}, {"route": "small", "equals": 1}]}
    five = {"type": "integer", "integer": 5}
    made = document(
        [
            START,
            data("n", "integer"),
            component("is-large", "logic.condition", operator={"type": "choice", "id": "gt"}, in_right=five),
            component("which", "logic.switch", cases=cases),
            code("yes", "pass"),
            code("no", "pass"),
        ],
        [
            flow("start", "next", "is-large"),
            flow("is-large", "true", "which"),
            flow("is-large", "false", "no"),
            flow("which", "big", "yes"),
            flow("which", "default", "no"),
            pipe("n", "is-large.left"),
            pipe("n", "which.value"),
        ],
    )
    alias = server.define(made, "which-way")

    ways = {}
    for number in (7, 6, 1):
        id = server.execute(alias, inputs={"n": {"type": "integer", "integer": number}})
        server.until(id, "completed")
        ways[number] = [component for component, _ in server.runs_of(id)][1:]

    assert ways == {7: ["is-large", "which", "yes"], 6: ["is-large", "which", "no"], 1: ["is-large", "no"]}


# -- loops and long runs -----------------------------------------------------------------------------------------


def looping(body: list[Json], edges: list[Json]) -> Json:
    loop = component("loop", "logic.loop")
    made = [START, data("items", "json"), data("seen", "json"), loop, *body]
    return document(made, [flow("start", "next", "loop"), pipe("items", "loop.items"), *edges])


def test_a_loop_longer_than_a_turn_goes_on_in_the_next_ones(server: FlowServer) -> None:
    made = looping(
        [code("add", APPEND)],
        [flow("loop", "item", "add"), pipe("loop.item", "add.item"), pipe("seen", "add.seen"), pipe("add.out", "seen")],
    )

    id = run(server, made, inputs={"items": {"type": "json", "json": list(range(150))}})
    server.until(id, "completed")

    assert server.ends_with(id)["seen"] == {"type": "json", "json": list(range(150))}
    keys = [one["component_key"] for one in server.data(id)]
    assert len(set(keys)) == len(keys)


def test_loops_in_loops_have_keys_of_their_own(server: FlowServer) -> None:
    pair = """
seen = get_data_input('seen')
known = seen['json'] if seen else []
both = [get_data_input('a')['json'], get_data_input('b')['json']]
set_data_output('out', create_value('json', known + [both]))
"""
    letters = {"type": "json", "json": ["x", "y", "z"]}
    made = looping(
        [component("inner", "logic.loop", in_items=letters), code("add", pair)],
        [
            flow("loop", "item", "inner"),
            flow("inner", "item", "add"),
            pipe("loop.item", "add.a"),
            pipe("inner.item", "add.b"),
            pipe("seen", "add.seen"),
            pipe("add.out", "seen"),
        ],
    )

    id = run(server, made, inputs={"items": {"type": "json", "json": [1, 2]}})
    server.until(id, "completed")

    assert server.ends_with(id)["seen"]["json"] == [[n, x] for n in (1, 2) for x in "xyz"]
    keys = [one["component_key"] for one in server.data(id) if one["component_id"] == "add"]
    assert len(set(keys)) == 6


def test_a_cycle_without_an_end_fails_at_the_limit_of_entries(server: FlowServer) -> None:
    made = document(
        [START, component("a", "logic.condition", operator={"type": "choice", "id": "empty"})],
        [flow("start", "next", "a"), flow("a", "true", "a")],
    )

    id = run(server, made)

    assert server.until(id, "failed")["error"]["code"] == "too_many_entries"
    assert types_of(server, id)[-1] == "flow.error"
    assert types_of(server, id).count("processor.exited") <= 1000


def test_code_with_more_questions_than_a_turn_has_steps(server: FlowServer) -> None:
    text_of = """
for number in range(100):
    upload_session_object(f'n/{number}', create_value('integer', number))
found = [download_session_object(f'n/{number}')['integer'] for number in range(100)]
set_data_output('out', create_value('json', found))
"""
    made = with_pipes(line(code("many", text_of)), ("many.out", "answer"))
    made["components"].append(data("answer", "json"))

    id = run(server, made)
    server.until(id, "completed")

    assert server.ends_with(id)["answer"]["json"] == list(range(100))


# -- side by side ------------------------------------------------------------------------------------------------


def forked(*branches: Json) -> Json:
    made = [START, component("fork", "flow.parallel"), component("join", "flow.join"), component("end", "flow.end")]
    edges = [flow("start", "next", "fork"), flow("join", "next", "end")]
    for branch in branches:
        edges += [flow("fork", "next", branch["id"]), flow(branch["id"], "success", "join")]
        edges += [flow(branch["id"], "next", "join")]
    return document([*made, *branches], edges)


def test_branches_run_side_by_side_and_join_once(server: FlowServer) -> None:
    naps = [component(f"nap{n}", "io.sleep", seconds={"type": "integer", "integer": 2}) for n in range(3)]

    id = run(server, forked(*naps))
    server.until(id, "completed")

    runs = server.runs_of(id)
    assert sorted(runs[2:5]) == [(f"nap{n}", "next") for n in range(3)]
    assert runs[5:] == [("join", "next"), ("end", None)]
    entered = [e["created_at"] for e in server.events(id) if e["message"].startswith("Entered nap")]
    left = [e["created_at"] for e in server.events(id) if e["message"].startswith("nap")]
    assert max(entered) < min(left)


def test_branches_keep_all_outputs_and_merge_in_the_order_of_the_document(server: FlowServer) -> None:
    branches = [code(f"b{n}", f"set_data_output('out', create_value('integer', {n}))") for n in range(3)]
    made = forked(*branches)
    made["components"] += [data("last", "integer"), *(data(f"value{n}", "integer") for n in range(3))]
    made = with_pipes(made, *((f"b{n}.out", target) for n in range(3) for target in ("last", f"value{n}")))

    id = run(server, made)
    server.until(id, "completed")

    kept = {alias: value["integer"] for alias, value in server.ends_with(id).items()}
    assert kept == {"last": 2, "value0": 0, "value1": 1, "value2": 2}


def test_a_failure_in_a_branch_fails_the_run_while_another_sleeps(server: FlowServer) -> None:
    nap = component("nap", "io.sleep", seconds={"type": "integer", "integer": 3_600})

    id = run(server, forked(nap, code("bad", "1 / 0")))

    assert server.until(id, "failed")["error"]["component_id"] == "bad"


def test_branches_in_branches(server: FlowServer) -> None:
    inner = [component("fork2", "flow.parallel"), component("join2", "flow.join"), code("c", "pass"), code("d", "pass")]
    made = document(
        [START, component("fork", "flow.parallel"), component("join", "flow.join"), code("a", "pass"), *inner],
        [
            flow("start", "next", "fork"),
            flow("fork", "next", "a"),
            flow("fork", "next", "fork2"),
            flow("fork2", "next", "c"),
            flow("fork2", "next", "d"),
            flow("c", "success", "join2"),
            flow("d", "success", "join2"),
            flow("join2", "next", "join"),
            flow("a", "success", "join"),
        ],
    )

    id = run(server, made)
    server.until(id, "completed")

    ran = [component for component, _ in server.runs_of(id)]
    assert sorted(ran) == sorted(["start", "fork", "a", "fork2", "c", "d", "join2", "join"])
    assert ran[-1] == "join"


# -- waiting -----------------------------------------------------------------------------------------------------


def test_a_sleeping_run_holds_no_worker(server: FlowServer) -> None:
    naps = [
        run(server, line(component("nap", "io.sleep", seconds={"type": "integer", "integer": 3}))) for _ in range(40)
    ]
    quick = run(server, line(code("quick", "pass")))

    server.until(quick, "completed")
    assert {server.execution(id)["status"] for id in naps} <= {"running", "creating"}
    for id in naps:
        server.until(id, "completed")


def test_waiting_for_input_posts_the_prompt_and_goes_on_with_the_reply(server: FlowServer) -> None:
    session = server.session()
    ask = component("ask", "io.wait_input", alias=text("talk"), in_prompt=message("assistant", "Which order?"))
    made = with_pipes(line(ask), ("ask.reply", "answer"))
    made["components"].append(data("answer", "message"))
    id = run(server, made, session=session)
    server.until(id, "running")
    items = until_items(server, session, 1)

    assert items[0]["content"] == [{"type": "text", "text": "Which order?"}]
    server.command("post_session_thread_item", session_id=session, alias="talk", content=[block("42")])
    server.until(id, "completed")

    assert server.ends_with(id)["answer"]["message"]["content"] == [block("42")]


def test_waiting_for_input_has_an_end(server: FlowServer) -> None:
    made = line(component("ask", "io.wait_input", alias=text("talk"), timeout_s={"type": "integer", "integer": 1}))
    id = run(server, made)

    server.until(id, "completed")
    assert server.runs_of(id)[-1] == ("ask", "timeout")


def test_a_person_is_asked_and_the_run_goes_where_the_answer_says(server: FlowServer) -> None:
    options = {"type": "json", "json": [{"id": "refund", "label": "Refund"}, {"id": "deny", "label": "Deny"}]}
    made = document(
        [
            START,
            component("ask", "review.ask", options=options, in_question=text("Refund order 42?")),
            code("pay", "pass"),
            data("answer", "json"),
        ],
        [flow("start", "next", "ask"), flow("ask", "refund", "pay"), pipe("ask.answer", "answer")],
    )
    id = run(server, made)
    reviews = Reviews(server)
    item = reviews.until_open()

    assert (item["title"], item["kind"]) == ("Refund order 42?", "choice")
    reviews.answer(item["id"], {"decision": "choose", "option": "refund"})
    server.until(id, "completed")

    assert server.runs_of(id)[1:] == [("ask", "refund"), ("pay", "success")]
    assert server.ends_with(id)["answer"]["json"]["option"] == "refund"


# -- children and the session ------------------------------------------------------------------------------------


def test_a_child_runs_in_the_same_session_and_gives_its_values(server: FlowServer) -> None:
    child = with_pipes(line(code("think", UPPER)), ("question", "think.in"), ("think.out", "answer"))
    child["components"] += [data("question", "text"), data("answer", "text")]
    server.define(child, "child-1")
    made = line(component("call", "workflow.execute", reference=text("child-1"), in_question=text("hello")))
    made["components"].append(data("heard", "text"))
    session = server.session()

    id = run(server, with_pipes(made, ("call.answer", "heard")), session=session)
    server.until(id, "completed")

    assert server.ends_with(id)["heard"] == text("HELLO")
    executions = server.query("list_executions", session_id=session)["executions"]
    assert [(one["parent_id"], one["trigger"]["type"]) for one in executions] == [(id, "workflow"), (None, "api")]


def test_children_are_at_most_five_deep(server: FlowServer) -> None:
    server.define(line(component("again", "workflow.execute", reference=text("itself"))), "itself")
    session = server.session()

    id = server.execute("itself", session)
    server.until(id, "failed")

    assert len(server.query("list_executions", session_id=session)["executions"]) == 6


def test_session_data_is_read_at_the_start_and_saved_with_each_write(server: FlowServer) -> None:
    count_up = "n = get_data_input('n'); set_data_output('out', create_value('integer', n['integer'] + 1))"
    made = line(code("add", count_up))
    made["components"].append(data("counter", "integer", "session", {"type": "integer", "integer": 0}))
    alias = server.define(with_pipes(made, ("counter", "add.n"), ("add.out", "counter")), "counting")
    session = server.session()

    for _ in range(3):
        server.until(server.execute(alias, session), "completed")

    kept = server.query("download_session_object", session_id=session, alias="counter")["object"]["value"]
    assert kept == {"type": "integer", "integer": 3}


def test_session_objects_without_code(server: FlowServer) -> None:
    made = document(
        [
            START,
            component("first", "session.object_read", alias=text("note")),
            component("write", "session.object_write", alias=text("note"), in_value=text("hi")),
            component("second", "session.object_read", alias=text("note")),
            data("answer", "text"),
        ],
        [
            flow("start", "next", "first"),
            flow("first", "missing", "write"),
            flow("write", "success", "second"),
            pipe("second", "answer"),
        ],
    )
    id = run(server, made)
    server.until(id, "completed")

    assert server.runs_of(id)[1:] == [("first", "missing"), ("write", "success"), ("second", "success")]
    assert server.ends_with(id)["answer"] == text("hi")


# -- models ------------------------------------------------------------------------------------------------------


def test_the_echo_answers_with_the_last_text_of_the_user(server: FlowServer) -> None:
    made = with_pipes(
        line(component("chat", "genai.chat.echo")), ("question", "chat.message"), ("chat.message", "answer")
    )
    made["components"] += [data("question", "message"), data("answer", "message")]

    id = run(server, made, inputs={"question": message("user", "hi")})
    server.until(id, "completed")

    assert server.ends_with(id)["answer"]["message"]["content"] == [block("hi")]


# -- failing -----------------------------------------------------------------------------------------------------


def test_a_failure_follows_its_edge(server: FlowServer) -> None:
    made = line(code("bad", "raise ValueError('no')"))
    made["components"].append(code("mend", "pass"))
    made["connections"].append(flow("bad", "failure", "mend"))

    id = run(server, made)
    server.until(id, "completed")

    assert server.runs_of(id)[1:] == [("bad", "failure"), ("mend", "success")]
    assert "processor.error" in types_of(server, id)


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (document([], []), "no_start"),
        (document([START, {**START, "id": "other"}], []), "several_starts"),
        (line(component("what", "data.nothing")), "unknown_component_type"),
        (document([START], [flow("start", "next", "nobody")]), "dangling_connection"),
        (line(code("bad", "1 / 0")), "code_error"),
        (line(code("bad", "import os")), "code_refused"),
        (line(code("bad", "while True: pass\nfoo(")), "code_refused"),
        (line(component("nap", "io.sleep")), "missing_setting"),
    ],
)
def test_what_fails_a_run(server: FlowServer, made: Json, code: str) -> None:
    id = run(server, made)

    assert server.until(id, "failed")["error"]["code"] == code
    assert types_of(server, id)[-1] == "flow.error"


def test_an_end_may_be_a_failure(server: FlowServer) -> None:
    made = line(component("end", "flow.end", status={"type": "choice", "id": "failed"}))
    assert server.until(run(server, made), "failed")["error"]["code"] == "ended_as_failed"


def test_code_that_tells_and_takes_a_lot(server: FlowServer) -> None:
    """Requests of a turn are bounded: what does not fit goes by itself, or as blobs."""
    tell = "for number in range(150): post_output_event('x' * 7000, {'more': 'y' * 20000})"
    give = "for n in range(40): set_data_output(f'o{n}', create_value('text', 'z' * 30000))"
    take = (
        "set_data_output('out', create_value('integer', sum(len(get_data_input(f'i{n}')['text']) for n in range(40))))"
    )
    made = line(code("tell", tell), code("give", give), code("take", take))
    made["components"].append(data("answer", "integer"))
    made["components"][2]["ports"] += [{"category": "data_output", "route": f"o{n}", "value": None} for n in range(40)]
    made = with_pipes(made, ("take.out", "answer"), *((f"give.o{n}", f"take.i{n}") for n in range(40)))

    id = run(server, made)
    server.until(id, "completed")

    assert server.ends_with(id)["answer"]["integer"] == 40 * 30_000
    assert types_of(server, id).count("processor.output") == 150


# -- stopping ----------------------------------------------------------------------------------------------------


def test_a_parked_run_is_stopped_at_once_with_its_branches_and_children(server: FlowServer) -> None:
    nap = component("nap", "io.sleep", seconds={"type": "integer", "integer": 3_600})
    server.define(line(nap), "long-nap")
    session = server.session()
    id = run(server, forked(nap, component("call", "workflow.execute", reference=text("long-nap"))), session=session)
    while len(server.query("list_executions", session_id=session)["executions"]) < 2:
        server.execution(id)
    child = server.query("list_executions", session_id=session)["executions"][0]["id"]
    server.until(child, "running")

    server.command("stop_execution", execution_id=id)
    server.until(id, "stopped")
    server.until(child, "stopped")

    last = server.events(id)[-1]
    assert (last["type"], last["attributes"]["reason"]) == ("flow.exited", "stopped")
    with pytest.raises(HubFailure) as refused:
        server.command("stop_execution", execution_id=id)
    assert refused.value.code == "invalid_execution_status"


def test_a_running_component_ends_before_its_run_is_stopped(server: FlowServer) -> None:
    made = line(code("slow", "import_free = [0]\nfor n in range(3000000): import_free[0] += n"), code("next", "pass"))
    id = run(server, made)
    server.until(id, "running")

    server.command("stop_execution", execution_id=id)
    server.until(id, "stopped")

    assert ("next", "success") not in server.runs_of(id)


def test_closing_the_session_stops_its_runs(server: FlowServer) -> None:
    session = server.session()
    nap = component("nap", "io.sleep", seconds={"type": "integer", "integer": 3_600})
    id = run(server, line(nap), session=session)
    server.until(id, "running")

    server.command("close_session", session_id=session)

    assert server.until(id, "stopped")["stop_reason"] == "session_closed"


# -- debugging ---------------------------------------------------------------------------------------------------


def two_codes() -> Json:
    made = line(code("first", "set_data_output('out', create_value('text', 'a'))"), code("second", UPPER))
    made["components"].append(data("answer", "text"))
    return with_pipes(made, ("first.out", "second.in"), ("second.out", "answer"))


def test_a_breakpoint_parks_the_run_until_it_is_continued(server: FlowServer) -> None:
    id = run(server, two_codes(), pause_before=["first", "second"])
    paused = server.until_event(id, "processor.paused")
    assert paused["attributes"]["processor_id"] == "first"

    go_on(server, id, pause_before=[])
    server.until(id, "completed")

    assert types_of(server, id).count("processor.paused") == 1


def test_a_fork_takes_over_what_came_before_and_goes_on_with_edited_outputs(server: FlowServer) -> None:
    origin = run(server, two_codes())
    server.until(origin, "completed")
    (kept,) = [one for one in server.data(origin) if one["component_id"] == "first"]

    edits = [{"route": "out", "value": text("edited")}]
    made = server.command("fork_execution", execution_id=origin, component_key=kept["component_key"], outputs=edits)
    fork = made["execution"]["id"]
    server.until(fork, "completed")

    assert server.ends_with(fork)["answer"] == text("EDITED")
    pinned = [e["attributes"]["processor_id"] for e in server.events(fork) if e.get("attributes", {}).get("pinned")]
    assert pinned == ["start", "first"]


def test_a_dry_run_tells_of_effects_instead_of_having_them(server: FlowServer) -> None:
    made = line(
        component("write", "session.object_write", alias=text("note"), in_value=text("hi")),
        component("nap", "io.sleep", seconds={"type": "integer", "integer": 3_600}),
        component("call", "io.http", in_url=text("http://127.0.0.1:9/pay")),
        component("ask", "review.ask", in_question=text("Really?")),
    )
    session = server.session()
    id = run(server, made, session=session, dry_run=True)
    server.until(id, "completed")

    told = [event["message"] for event in server.events(id) if event["type"] == "processor.output"]
    assert len(told) == 4
    assert all(line.startswith("Dry run: would") for line in told)
    with pytest.raises(HubFailure):
        server.query("download_session_object", session_id=session, alias="note")


# -- what the tests need -----------------------------------------------------------------------------------------


def message(role: str, contents: str) -> Json:
    return {"type": "message", "message": {"role": role, "content": [block(contents)]}}


def block(contents: str) -> Json:
    return {"type": "text", "text": contents}


def until_items(server: FlowServer, session: str, number: int) -> list[Json]:
    while True:
        try:
            items: list[Json] = server.query("list_session_thread_items", session_id=session, alias="talk")["items"]
        except HubFailure:  # the thread is not made yet
            continue
        if len(items) >= number:
            return items


def go_on(server: FlowServer, id: str, **arguments: Any) -> None:
    """Continue, as soon as the run waits: the event comes a moment before."""
    while True:
        try:
            server.command("continue_execution", execution_id=id, **arguments)
            return
        except HubFailure as failure:
            if failure.code != "execution_not_paused":
                raise


class Reviews:
    def __init__(self, server: FlowServer) -> None:
        self._client = httpx.Client(
            base_url=server.url, params={"graph": "hub"}, headers={"Authorization": f"Bearer {DEV_KEY}"}
        )

    def until_open(self) -> Json:
        while True:
            items: list[Json] = self._client.get("/v1/reviews", params={"status": "open"}).json()["data"]
            if items:
                return items[0]

    def answer(self, id: str, answer: Json) -> None:
        self._client.post("/v1/reviews/answer", params={"id": id}, json={"answer": answer}).raise_for_status()


def test_the_server_stops_with_its_worker_within_seconds(tmp_path: Path) -> None:
    with flow_server(tmp_path) as server:
        server.until(run(server, two_codes()), "completed")

        assert server.end() == 0
