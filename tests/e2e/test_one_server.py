"""One server per SQLite store, and what `--fresh` removes."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx

TURNBUCKLE = [sys.executable, "-m", "turnbuckle.cli"]
INSTANCES = "/v1/workflows/instances"
INSTANCE = {"id": "a", "workflow_type": "t", "version": "v1"}
HEADERS = {"authorization": "Bearer lbb_sk_test_local"}
WAIT_S = 20


@contextlib.contextmanager
def dev(data: Path, *options: str) -> Iterator[httpx.Client]:
    """A client of `turnbuckle dev` over the folder."""
    command = [*TURNBUCKLE, "dev", "--port", "0", "--data", str(data), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(line for line in server.stdout if line.startswith("listening on ")).split()[-1]
            with httpx.Client(base_url=address, headers=HEADERS) as client:
                yield client
        finally:
            server.send_signal(signal.SIGTERM)


def ids(client: httpx.Client) -> list[str]:
    return [str(one["id"]) for one in client.get(INSTANCES).json()["instances"]]


def test_a_second_server_is_refused_and_removes_nothing(tmp_path: Path) -> None:
    """`dev --fresh` emptied the folder of a running server, which went on to answer writes that nobody kept."""
    with dev(tmp_path) as client:
        assert client.post(INSTANCES, json=INSTANCE).status_code == 200
        for options in ([], ["--fresh"]):
            command = [*TURNBUCKLE, "dev", "--port", "0", "--data", str(tmp_path), *options]
            second = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
            store = tmp_path / "turnbuckle.db"
            assert second.returncode == 1
            said = f"turnbuckle: another server has the store {store} open; stop it, or give another --data\n"
            assert second.stderr == said

    with dev(tmp_path) as client:
        assert ids(client) == ["a"]


def test_fresh_removes_the_store_and_no_other_file(tmp_path: Path) -> None:
    """It removed the folder with all that was in it: `--data .` cost a person their project."""
    (tmp_path / "notes.txt").write_text("mine")
    with dev(tmp_path) as client:
        assert client.post(INSTANCES, json=INSTANCE).status_code == 200

    with dev(tmp_path, "--fresh") as client:
        assert ids(client) == []
    assert (tmp_path / "notes.txt").read_text() == "mine"
