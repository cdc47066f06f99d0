"""The SPARQL index of a whole server process: over its death, and over a store that was replaced by an older one."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.slow

HEADERS = {"authorization": "Bearer lbb_sk_test_local"}


class Server:
    """`turnbuckle dev` over a data folder."""

    def __init__(self, data: Path) -> None:
        command = [sys.executable, "-m", "turnbuckle.cli", "dev", "--port", "0", "--data", str(data)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        line = next(line for line in self.process.stdout if line.startswith("listening on "))
        self._client = httpx.Client(base_url=line.removeprefix("listening on ").strip(), headers=HEADERS, timeout=30)
        self._keys = iter(range(1_000))

    def post(self, path: str, body: Any, **headers: str) -> Any:
        answer = self._client.post(path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def declare(self) -> None:
        self.post("/v1/graph/create", {})
        ops = [{"op": "add_entity_type", "name": "Note"}, {"op": "add_property", "name": "text"}]
        self.post("/v1/ontology/evolve", {"ops": ops})

    def write(self, text: str) -> int:
        row = {"type": "Note", "name": text, "properties": {"text": text}}
        headers = {"idempotency-key": f"{id(self)}-{next(self._keys)}"}
        return int(self.post("/v1/graph/commit", {"entity_properties": [row]}, **headers)["commit_seq"])

    def texts(self, **body: Any) -> list[str]:
        query = "SELECT ?t { ?s <https://littlebigbrain.com/p/text> ?t } ORDER BY ?t"
        found = self.post("/v1/query/sparql-text", {"query": query, **body})["results"]
        return [one["t"]["value"] for one in json.loads(found)["results"]["bindings"]]

    def end(self, number: int) -> None:
        self._client.close()
        self.process.send_signal(number)
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.contextmanager
def serving(data: Path, end: int = signal.SIGTERM) -> Iterator[Server]:
    server = Server(data)
    try:
        yield server
    finally:
        server.end(end)


def index_folders(data: Path) -> list[str]:
    """The graph's stores: a new one for each time that its index was made anew."""
    return sorted(path.name for path in (data / "index" / "0").glob("*/[0-9]*") if len(path.parent.name) == 16)


def test_the_index_goes_on_where_a_killed_server_left_it(tmp_path: Path) -> None:
    with serving(tmp_path, signal.SIGKILL) as server:
        server.declare()
        seqs = [server.write(text) for text in "abc"]
        assert server.texts() == ["a", "b", "c"]
        server.write("d")

    with serving(tmp_path) as server:
        assert server.texts() == ["a", "b", "c", "d"]
        assert server.texts(as_of_commit_seq=seqs[1]) == ["a", "b"]

    assert index_folders(tmp_path) == ["00000001"]


def test_an_older_store_in_its_place_is_seen(tmp_path: Path) -> None:
    """Its numbers go on differently from there, so the index must not go on from its own."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    with serving(data) as server:
        server.declare()
        server.write("a")
    shutil.copytree(data, copy)
    with serving(data) as server:
        server.write("b")
        server.write("c")
        assert server.texts() == ["a", "b", "c"]
    shutil.copytree(data / "index", copy / "index", dirs_exist_ok=True)

    with serving(copy) as server:
        assert server.texts() == ["a"]
        server.write("x")
        server.write("y")
        server.write("z")
        assert server.texts() == ["a", "x", "y", "z"]


def test_a_fresh_store_forgets_the_old_one(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.declare()
        server.write("a")
        assert server.texts() == ["a"]
    for path in tmp_path.glob("turnbuckle.db*"):
        path.unlink()

    with serving(tmp_path) as server:
        assert server.texts() == []
        server.declare()
        server.write("b")
        assert server.texts() == ["b"]
    with serving(tmp_path) as server:
        assert server.texts() == ["b"]
    assert len(index_folders(tmp_path)) == 1
