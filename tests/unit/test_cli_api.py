"""How commands talk to a server: JSON goes out and comes back as it is written, and failures are one line."""

import io
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.unit.local_server import Received, answer, local_server
from turnbuckle.cli.api import Api, Verbatim, json_argument
from turnbuckle.cli.failure import Failure

NUMBERS = '{"n": 12345678901234567890123, "f": 1.10, "e": 1e2}'
UNKNOWN = {"error": {"type": "not_found_error", "code": "instance_not_found", "message": "there is no instance 'a'"}}


@contextmanager
def served(reply: str, status: str = "200 OK") -> Iterator[tuple[Api, list[Received]]]:
    """A server that answers everything with `reply`, and the commands' view of it."""

    def behave(connection: socket.socket, received: Received) -> None:
        answer(connection, reply.encode(), status=status)

    with local_server(behave) as server, closing(Api(server.url, "lbb_sk_test_x", "shop")) as api:
        yield api, server.received


def test_an_answer_keeps_its_text() -> None:
    """--json prints it: a decimal that Python would respell is what the server said."""
    with served(NUMBERS) as (api, _):
        assert api.get("instances/get", id="a").text == NUMBERS


def test_given_json_is_sent_as_it_is_written() -> None:
    with served("{}") as (api, received):
        api.post("instances/message", workflow_id="a", message=Verbatim(NUMBERS), turn=None)

    assert received[0].body.decode() == '{"workflow_id":"a","message":' + NUMBERS + "}"
    assert json.loads(received[0].body)["message"]["n"] == 12345678901234567890123


def test_key_and_graph_are_sent() -> None:
    with served("{}") as (api, received):
        api.get("instances", after=None, limit=3)

    assert received[0].line.split()[1] == "/v1/workflows/instances?graph=shop&limit=3"
    assert received[0].headers["authorization"] == "bearer lbb_sk_test_x"


def test_a_refusal_is_the_servers_message_with_its_code() -> None:
    with served(json.dumps(UNKNOWN), "404 Not Found") as (api, _), pytest.raises(Failure) as failed:
        api.get("instances/get", id="a")

    assert failed.value.message == "there is no instance 'a' (instance_not_found)"


def test_a_refused_connection_says_where_and_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with closing(Api(url, None, "main")) as api, pytest.raises(Failure) as failed:
        api.get("instances")

    assert url in failed.value.message
    assert "`turnbuckle dev`" in failed.value.message
    assert "LBB_URL" in failed.value.message


def test_a_refused_key_says_where_the_command_takes_it_from() -> None:
    refused = '{"error": {"type": "auth_error", "code": "unauthorized", "message": "the request carries no key."}}'
    with (
        served(refused, "401 Unauthorized") as (api, _),
        pytest.raises(Failure, match=r"LBB_API_KEY.*\(unauthorized\)$"),
    ):
        api.get("instances")


def test_another_program_on_that_port_is_told() -> None:
    with served("<html>hello</html>") as (api, _), pytest.raises(Failure, match="is no server of ours"):
        api.get("instances")


def test_a_url_that_is_none_is_told() -> None:
    with pytest.raises(Failure, match="LBB_URL or LBB_API_KEY cannot be used"):
        Api("localhost:7400", None, "main")


def test_a_key_is_not_shown_in_a_failure() -> None:
    with pytest.raises(Failure) as failed:
        Api("http://127.0.0.1:1", "lbb_sk_secret\n", "main")

    assert "secret" not in failed.value.message


def from_argument(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return NUMBERS


def from_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "message.json").write_text(NUMBERS, "utf-8")
    return f"@{folder}/message.json"


def from_stdin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NUMBERS.encode())))
    return "-"


@pytest.mark.parametrize("give", [from_argument, from_file, from_stdin])
def test_json_comes_from_three_places(
    give: Callable[[Path, pytest.MonkeyPatch], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json_argument(give(tmp_path, monkeypatch)) == NUMBERS


@pytest.mark.parametrize("text", ["hello", "{bad", "", '1}, "turn": {', "[" * 100_000])
def test_what_is_no_json_is_not_sent(text: str) -> None:
    """Nor can it break out of the body it is put into."""
    with pytest.raises(Failure, match="that is no JSON"):
        json_argument(text)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "message.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(Failure, match=r"cannot read .*message\.json"):
        json_argument(f"@{file}")
