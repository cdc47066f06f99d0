"""`turnbuckle doctor --url`: a server that lets anybody in is found out."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.local_server import LocalServer, Received, answer, local_server
from turnbuckle.cli.main import cli
from turnbuckle.http.endpoints import ENDPOINTS

HEALTH = json.dumps({"status": "ok", "mode": "dev", "store": "sqlite"}).encode()
OPEN = "/v1/workflows/instances/delete"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No store in the folder and no server in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LBB_URL", raising=False)
    monkeypatch.delenv("TURNBUCKLE_MODELS", raising=False)


@pytest.fixture
def careless() -> Iterator[LocalServer]:
    """A server that refuses all calls without a key but one."""

    def behave(connection: socket.socket, received: Received) -> None:
        path = received.line.split()[1]
        is_open = path in ("/health", OPEN)
        answer(connection, HEALTH if path == "/health" else b"{}", status="200 OK" if is_open else "401 Unauthorized")

    with local_server(behave) as server:
        yield server


def doctor(*words: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *words])


def test_an_open_endpoint_is_named(careless: LocalServer) -> None:
    result = doctor("--url", careless.url)

    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"server {careless.url}: dev mode, store sqlite, ok",
        f"  PROBLEM  POST {OPEN} answered 200 to a call without a key, expected 401",
    ]


def test_every_endpoint_that_needs_a_key_is_tried_without_one(careless: LocalServer) -> None:
    doctor("--url", careless.url)

    tried = {tuple(received.line.split()[:2]) for received in careless.received}
    assert tried == {("GET", "/health")} | {(e.method, e.path) for e in ENDPOINTS if e.roles is not None}
    assert not any({"authorization", "x-api-key"} & received.headers.keys() for received in careless.received)


def test_the_server_of_the_environment_is_checked(careless: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LBB_URL", careless.url)

    assert json.loads(doctor("--json").stdout)["checked"][0]["problems"]


def test_a_named_server_that_is_not_there_is_a_problem() -> None:
    result = doctor("--url", "http://127.0.0.1:1")

    assert result.exit_code == 1
    assert "it does not answer as a server of ours" in result.stdout


def test_a_server_of_the_environment_that_is_not_there_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is set for daily work; a store can be checked while its server is down."""
    monkeypatch.setenv("LBB_URL", "http://127.0.0.1:1")
    CliRunner().invoke(cli, ["keys", "create"])

    result = doctor()

    assert result.exit_code == 0
    assert "server" not in result.stdout


def test_a_models_file_is_read_as_the_server_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        'activities.reason = "big"\n[providers.big]\nkind = "openai"\nurl = "https://x"\n'
        'reason_model = "m"\nkey_env = "BIG"\n'
    )

    missing = doctor("--models", str(file))
    monkeypatch.setenv("BIG", "sk-do-not-tell")
    there = doctor("--models", str(file))

    assert (missing.exit_code, there.exit_code) == (1, 0)
    assert "providers.big.key_env: got 'BIG', expected an environment variable that is set" in missing.stdout
    assert "ok       reason: m of big at https://x, no price: its calls are charged nothing" in there.stdout
    assert "sk-do-not-tell" not in there.stdout
