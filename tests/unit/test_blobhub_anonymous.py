"""The token of a client without a key (blobhub 2.3)."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from blobhub import AuthError, Client, NetworkError, PermissionDenied, ServerError
from tests.unit.blobhub_scripted import KEY, START_UNIX, MovedTime, Script, client_of, ok, refused, revision_of

START_MS = START_UNIX * 1000


class TokenServer:
    """Gives tokens a1, a2 ... that live `life_ms`, and takes only the newest."""

    def __init__(self, time: MovedTime, life_ms: float | None = 600_000) -> None:
        self.log: list[str] = []
        self.time = time
        self.life_ms = life_ms
        self.newest = 0
        self.refresh: Callable[[], httpx.Response] = self.token
        self.answer: Callable[[], httpx.Response] = ok

    def token(self) -> httpx.Response:
        self.newest += 1
        keys: dict[str, Any] = {"access_token": f"a{self.newest}"}
        if self.life_ms is not None:
            keys["expires_at"] = int(START_MS + self.time.now * 1000 + self.life_ms)
        return ok(**keys)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1/")
        bearer = request.headers.get("authorization")
        self.log.append(path if bearer is None else f"{path} {bearer}")
        assert "x-api-key" not in request.headers
        if path == "auth/core/anonymous":
            minted = json.loads(self.token().content)
            return ok(**minted | {"refresh_token": f"r{self.newest}"})
        if path == "auth/core/refresh":
            assert json.loads(request.content) == {"refresh_token": "r1"}
            return self.refresh()
        return self.answer() if bearer == f"Bearer a{self.newest}" else refused(401, "expired")


@pytest.fixture
def time() -> MovedTime:
    return MovedTime()


@pytest.fixture
def server(time: MovedTime) -> TokenServer:
    return TokenServer(time)


@pytest.fixture
def client(server: TokenServer) -> Client:
    return client_of(server, server.time, key=None)


def test_the_token_is_minted_with_the_first_request(client: Client, server: TokenServer) -> None:
    assert server.log == []

    client.request("GET", "x")
    client.request("GET", "x")

    assert server.log == ["auth/core/anonymous", "x Bearer a1", "x Bearer a1"]


@pytest.mark.parametrize(("seconds", "refreshed"), [(539, False), (540, True), (601, True)])
def test_it_is_refreshed_a_minute_before_it_ends(
    client: Client, server: TokenServer, time: MovedTime, seconds: int, refreshed: bool
) -> None:
    client.request("GET", "x")
    time.now += seconds

    client.request("GET", "x")

    assert server.log[2:] == (["auth/core/refresh", "x Bearer a2"] if refreshed else ["x Bearer a1"])


@pytest.mark.parametrize("send", [Client.request, lambda client, method, path: revision_of(client).command("c")])
def test_a_401_is_met_by_one_refresh_and_one_repeat(client: Client, server: TokenServer, send: Any) -> None:
    """Of writes too: a 401 is answered before anything runs."""
    client.request("GET", "x")
    server.newest = 7  # the server has forgotten a1

    send(client, "GET", "x")

    paths = [line.partition(" ")[0].rpartition("/")[2] for line in server.log[2:]]
    assert paths[1:] == ["refresh", paths[0]]


def test_a_second_401_is_final(client: Client, server: TokenServer) -> None:
    server.answer = lambda: refused(401, "no")

    with pytest.raises(AuthError) as caught:
        client.request("GET", "x")

    assert server.log == ["auth/core/anonymous", "x Bearer a1", "auth/core/refresh", "x Bearer a2"]
    assert (caught.value.error, caught.value.__context__) == ("no", None)


def test_the_repeat_has_its_own_three_attempts(client: Client, server: TokenServer) -> None:
    answers = [refused(503), refused(503), refused(401), refused(503), refused(503), ok(a=1)]
    server.answer = lambda: answers.pop(0)

    assert client.request("GET", "x")["a"] == 1


def test_a_refresh_that_is_refused_leads_to_a_new_token(client: Client, server: TokenServer, time: MovedTime) -> None:
    client.request("GET", "x")
    server.refresh = lambda: refused(401)
    time.now += 600

    client.request("GET", "x")

    assert server.log[2:] == ["auth/core/refresh", "auth/core/anonymous", "x Bearer a2"]


def test_any_other_failure_of_a_refresh_is_raised(client: Client, server: TokenServer, time: MovedTime) -> None:
    client.request("GET", "x")
    server.refresh = lambda: refused(500, "down")
    time.now += 600

    with pytest.raises(ServerError, match="down"):
        client.request("GET", "x")

    assert server.log[2:] == ["auth/core/refresh"]  # a POST: what it did is unknown


def test_a_token_without_an_end_is_kept(time: MovedTime) -> None:
    server = TokenServer(time, life_ms=None)
    client = client_of(server, time, key=None)
    client.request("GET", "x")
    time.now += 1e9

    client.request("GET", "x")

    assert server.log == ["auth/core/anonymous", "x Bearer a1", "x Bearer a1"]


def test_a_refresh_may_leave_out_the_new_end(client: Client, server: TokenServer, time: MovedTime) -> None:
    client.request("GET", "x")
    server.life_ms = None
    time.now += 600
    client.request("GET", "x")

    client.request("GET", "x")

    assert server.log[2:] == ["auth/core/refresh", "x Bearer a2", "x Bearer a2"]


@pytest.mark.parametrize(
    "minted",
    [{}, {"refresh_token": "r"}, {"access_token": "a"}, {"refresh_token": "", "access_token": "a"},
     {"refresh_token": "r", "access_token": 5}],
)  # fmt: skip
def test_an_answer_without_a_token_is_no_answer(minted: dict[str, Any]) -> None:
    with pytest.raises(ServerError) as caught:
        client_of(Script(ok(**minted)), key=None).request("GET", "x")

    assert caught.value.error == "invalid_response"


def test_a_refresh_without_a_token_is_no_answer(client: Client, server: TokenServer, time: MovedTime) -> None:
    client.request("GET", "x")
    server.refresh = ok
    time.now += 600

    with pytest.raises(ServerError) as caught:
        client.request("GET", "x")

    assert caught.value.error == "invalid_response"


def test_minting_is_tried_again_like_any_read() -> None:
    script = Script(httpx.ReadError("x"), refused(503), ok(refresh_token="r", access_token="a"), ok())

    client_of(script, key=None).request("POST", "x", json={})

    assert len(script.requests) == 4


def test_a_lost_write_is_not_repeated_with_a_new_token(client: Client, server: TokenServer) -> None:
    def lose() -> httpx.Response:
        raise httpx.ReadError("x")

    server.answer = lose

    with pytest.raises(NetworkError):
        revision_of(client).command("c")

    assert len(server.log) == 2


@pytest.mark.parametrize(("status", "cls"), [(401, AuthError), (403, PermissionDenied)])
def test_an_anonymous_caller_is_told_what_would_help(
    client: Client, server: TokenServer, status: int, cls: type[AuthError] | type[PermissionDenied]
) -> None:
    server.answer = lambda: refused(status, "no", "Not for you")

    with pytest.raises(cls) as caught:
        client.request("GET", "x")

    assert caught.value.message.startswith("Not for you; ")
    assert caught.value.message.count("BLOBHUB_API_KEY") == 1


def test_a_server_without_anonymous_access_is_met_with_the_hint() -> None:
    with pytest.raises(AuthError, match="BLOBHUB_API_KEY"):
        client_of(Script(refused(401)), key=None).request("GET", "x")


@pytest.mark.parametrize(("status", "cls"), [(401, AuthError), (403, PermissionDenied)])
def test_a_key_that_is_refused_is_final(status: int, cls: type[Exception]) -> None:
    """No refresh, no anonymous try, no hint."""
    script = Script(refused(status, "no", "Not for you"), ok())

    with pytest.raises(cls) as caught:
        client_of(script).request("GET", "x")

    assert script.request.headers["x-api-key"] == KEY
    assert str(caught.value) == f"Not for you (no, HTTP {status})"


def test_no_repr_shows_a_token(client: Client) -> None:
    client.request("GET", "x")

    token = client.api._token._token

    assert token is not None
    assert "a1" not in repr(token)
    assert "r1" not in repr(token)
