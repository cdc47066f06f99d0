"""A server that is killed in the middle of a run: it goes on after the last finished component (decision 35).

Each component notes in a stub outside that it ran; the stub knows repeats by their Idempotency-Key.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.flow_server import FlowServer, Json, code, component, data, document, flow, flow_server, pipe, text
from tests.unit.local_server import LocalServer, Received

pytestmark = pytest.mark.slow


class Sink:
    """Notes each request by its key; `kill_at` ends the server while the request of that path is under way."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []  # (path, idempotency key)
        self.kill: Any = None
        self.kill_at: str | None = None
        self.silent_at: str | None = None  # the first request of that path gets no answer
        self.server = LocalServer(self._answer)

    def _answer(self, connection: Any, received: Received) -> str | None:
        path = received.line.split()[1]
        self.heard.append((path, received.headers["idempotency-key"]))
        if path == self.silent_at:
            self.silent_at = None
            return None
        if path == self.kill_at:
            self.kill_at = None
            self.kill()
            return "closed"
        body = json.dumps({"path": path}).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        return None


@contextmanager
def crashing(folder: Path) -> Iterator[tuple[FlowServer, Sink]]:
    sink = Sink()
    (folder / "outside.toml").write_text(f"[http]\nallow_private = ['{sink.server.url.removeprefix('http://')}']\n")
    try:
        with flow_server(folder, "--outside", str(folder / "outside.toml")) as server:
            sink.kill = server.kill
            yield server, sink
    finally:
        sink.server.close()


def call(sink: Sink, id: str) -> Json:
    return component(id, "io.http", in_url=text(f"{sink.server.url}/{id}"))


def chain(sink: Sink) -> Json:
    made = [component("start", "flow.start"), *(call(sink, f"call{n}") for n in range(4)), data("last", "json")]
    edges = [flow("start", "next", "call0")] + [flow(f"call{n}", "success", f"call{n + 1}") for n in range(3)]
    return document(made, [*edges, *(pipe(f"call{n}.body", "last") for n in range(4))])


@pytest.mark.parametrize("killed", [0, 1, 3])
def test_a_run_goes_on_after_the_last_finished_component(tmp_path: Path, killed: int) -> None:
    with crashing(tmp_path) as (server, sink):
        alias = server.define(chain(sink))
        sink.kill_at = f"/call{killed}"
        id = server.execute(alias)
        server.ended()
        server.start()

        server.until(id, "completed")

        keys: dict[str, set[str]] = {}
        for path, key in sink.heard:
            keys.setdefault(path, set()).add(key)
        assert {path: len(found) for path, found in keys.items()} == {f"/call{n}": 1 for n in range(4)}
        assert [path for path, _ in sink.heard].count(f"/call{killed}") == 2
        others = [path for path, _ in sink.heard if path != f"/call{killed}"]
        assert len(others) == 3
        assert server.ends_with(id)["last"]["json"] == {"path": "/call3"}
        left = [component for component, _ in server.runs_of(id)]
        assert left == ["start", "call0", "call1", "call2", "call3"]
        assert [e["type"] for e in server.events(id)].count("flow.entered") == 1


def test_branches_go_on_after_a_kill(tmp_path: Path) -> None:
    with crashing(tmp_path) as (server, sink):
        made = [component("start", "flow.start"), component("fork", "flow.parallel"), component("join", "flow.join")]
        made += [call(sink, f"call{n}") for n in range(3)] + [code("after", "pass")]
        edges = [flow("start", "next", "fork"), flow("join", "next", "after")]
        for n in range(3):
            edges += [flow("fork", "next", f"call{n}"), flow(f"call{n}", "success", "join")]
        sink.kill_at = "/call1"
        id = server.execute(server.define(document(made, edges)))
        server.ended()
        server.start()

        server.until(id, "completed")

        runs = [component for component, _ in server.runs_of(id)]
        assert sorted(runs) == ["after", "call0", "call1", "call2", "fork", "join", "start"]
        assert {len({key for path, key in sink.heard if path == f"/call{n}"}) for n in range(3)} == {1}


def test_code_asks_the_session_once_for_each_answer_across_a_kill(tmp_path: Path) -> None:
    with crashing(tmp_path) as (server, sink):
        text_of = """
seen = []
for number in range(5):
    post_session_thread_item('talk', [{'type': 'text', 'text': str(number)}])
    seen.append(time.time())
upload_session_object('done', create_value('json', seen))
"""
        made = [component("start", "flow.start"), code("post", text_of), call(sink, "call")]
        edges = [flow("start", "next", "post"), flow("post", "success", "call")]
        session = server.session()
        thread = {"type": "thread", "thread": {"attributes": {}, "metadata": {}}}
        server.command("upload_session_object", session_id=session, alias="talk", value=thread)
        sink.kill_at = "/call"
        id = server.execute(server.define(document(made, edges)), session)
        server.ended()
        server.start()

        server.until(id, "completed")

        items = server.query("list_session_thread_items", session_id=session, alias="talk", ascending=True)["items"]
        assert [item["content"][0]["text"] for item in items] == [str(number) for number in range(5)]


def test_a_run_that_sleeps_wakes_after_a_kill(tmp_path: Path) -> None:
    with crashing(tmp_path) as (server, _sink):
        nap = component("nap", "io.sleep", seconds={"type": "integer", "integer": 2})
        made = document([component("start", "flow.start"), nap], [flow("start", "next", "nap")])
        id = server.execute(server.define(made))
        server.until(id, "running")
        server.kill()
        server.start()

        server.until(id, "completed")

        assert server.runs_of(id) == [("start", "next"), ("nap", "next")]


def test_a_server_that_stops_hands_back_what_its_worker_cannot_finish(tmp_path: Path) -> None:
    """Decision 42: the worker is drained first, and no attempt is counted."""
    with crashing(tmp_path) as (server, sink):
        made = document([component("start", "flow.start"), call(sink, "slow")], [flow("start", "next", "slow")])
        sink.silent_at = "/slow"
        id = server.execute(server.define(made))
        while not sink.heard:
            server.execution(id)

        began = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - began < 15
        server.start()
        server.until(id, "completed")

        assert len(sink.heard) == 2
        assert len(set(sink.heard)) == 1
