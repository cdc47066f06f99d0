"""What executions may send outside: hosts, addresses, secrets, sizes (decisions 30 and 50)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.local_server import LocalServer, Received
from turnbuckle.outside.address import NotAllowed, is_public
from turnbuckle.outside.request import Asked, HttpOutside, NoAnswer
from turnbuckle.outside.settings import BadOutside, Http, Outside, Secret, Settings, fits, open_outside


@contextmanager
def host(answer: bytes = b"hello", *more: str, status: str = "200 OK") -> Iterator[LocalServer]:
    """A host that answers everything with these bytes."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {len(answer)}", *more, "", ""]).encode()

    def behave(connection: Any, received: Received) -> None:
        connection.sendall(head + answer)

    server = LocalServer(behave)
    try:
        yield server
    finally:
        server.close()


def asked(url: str, **more: Any) -> Asked:
    made = {"method": "GET", "headers": {}, "content": None, "content_type": None, "timeout_s": 5.0}
    return Asked(**{**made, "credential": None, "effect_id": "p/s", **more, "url": url})


def allowing(*hosts: str, secrets: dict[str, str] | None = None, **http: Any) -> HttpOutside:
    """Private addresses included, unless `allow` says otherwise."""
    sections = {name: Secret(env="X", hosts=list(hosts)) for name in secrets or {}}
    settings = Settings(http=Http(**({"allow_private": list(hosts)} | http)), secrets=sections)
    return HttpOutside(Outside(settings, secrets or {}), lookup=http.pop("lookup", None) or _local)


async def _local(name: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def place(server: LocalServer) -> str:
    return server.url.removeprefix("http://")


@pytest.mark.parametrize(
    ("pattern", "name", "port", "is_fit"),
    [
        ("api.example.com", "api.example.com", 443, True),
        ("api.example.com", "API.example.com.", 80, True),
        ("api.example.com", "api.example.com", 8_080, False),
        ("api.example.com:8080", "api.example.com", 8_080, True),
        ("api.example.com:8080", "api.example.com", 80, False),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("example.com", "example.com.evil.org", 443, False),
        ("[::1]:80", "::1", 80, True),
    ],
)
def test_which_hosts_fit(pattern: str, name: str, port: int, is_fit: bool) -> None:
    assert fits([pattern], name, port) is is_fit


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        ("93.184.216.34", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_which_addresses_are_public(address: str, is_open: bool) -> None:
    assert is_public(address) is is_open


async def test_nothing_is_allowed_without_a_file() -> None:
    http = HttpOutside(open_outside(None), lookup=_local)

    with pytest.raises(NotAllowed, match="allow-list"):
        await http.send(asked("http://api.example.com/"))


async def test_a_private_address_behind_an_allowed_name_is_refused() -> None:
    with host() as server:
        http = allowing(allow=["api.example.com:" + place(server).split(":")[1]], allow_private=[])

        with pytest.raises(NotAllowed, match="private address"):
            await http.send(asked(f"http://api.example.com:{place(server).split(':')[1]}/"))
        assert server.received == []


async def test_the_name_is_looked_up_once_and_connected_to_as_it_was_checked() -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    looked: list[str] = []

    async def rebinding(name: str, port: int) -> list[str]:
        looked.append(name)
        return answers[len(looked) - 1]

    with host() as server:
        port = place(server).split(":")[1]
        outside = Outside(Settings(http=Http(allow_private=[f"api.example.com:{port}"])))
        answer = await HttpOutside(outside, rebinding).send(asked(f"http://api.example.com:{port}/x"))

    assert (answer.status, answer.text, looked) == (200, "hello", ["api.example.com"])
    assert server.received[0].headers["host"] == f"api.example.com:{port}"
    assert server.received[0].headers["idempotency-key"] == "p/s"


async def test_redirects_are_not_followed() -> None:
    with host(b"", "location: http://127.0.0.1:1/secret", status="302 Found") as server:
        answer = await allowing(place(server)).send(asked(server.url + "/"))

    assert (answer.status, answer.headers["location"]) == (302, "http://127.0.0.1:1/secret")
    assert len(server.received) == 1


async def test_an_answer_over_the_size_is_refused() -> None:
    with host(b"x" * 5_000) as server, pytest.raises(NotAllowed, match="over 2000 bytes"):
        await allowing(place(server), answer_bytes=2_000).send(asked(server.url + "/"))


async def test_a_host_that_says_nothing_is_given_up() -> None:
    server = LocalServer(lambda connection, received: None)
    with pytest.raises(NoAnswer, match=r"within 0\.2 s"):
        await allowing(place(server)).send(asked(server.url + "/", timeout_s=0.2))
    server.close()


async def test_a_secret_goes_to_its_hosts_only_and_does_not_come_back() -> None:
    with host(b'{"you sent": "s3cret-token"}', "content-type: application/json") as server:
        http = allowing(place(server), secrets={"crm": "s3cret-token"})
        answer = await http.send(asked(server.url + "/", credential="crm"))
        with pytest.raises(NotAllowed, match="no secret 'crm'"):
            await http.send(asked("http://other.example.com/", credential="crm"))

    assert server.received[0].headers["authorization"] == "bearer s3cret-token"  # the stub lowers what it got
    assert answer.json == b'{"you sent": "(a secret)"}'


@pytest.mark.parametrize("body", [b"{", b"[1e400]", b'["\\ud800"]', b"[" * 300 + b"]" * 300, b"NaN"])
async def test_json_that_nobody_can_keep_is_a_text(body: bytes) -> None:
    with host(body, "content-type: application/json") as server:
        answer = await allowing(place(server)).send(asked(server.url + "/"))

    assert (answer.json, answer.text) == (None, body.decode())


@pytest.mark.parametrize(
    "bad",
    [
        {"method": "TRACE"},
        {"headers": {"Host": "other"}},
        {"headers": {"x": "a\r\nb: c"}},
        {"headers": {"Transfer-Encoding": "chunked"}},
        {"url": "ftp://127.0.0.1/"},
        {"url": "file:///etc/passwd"},
        {"url": "http://[::1"},
        {"url": "no url"},
        {"credential": "nothing"},
    ],
)
async def test_what_cannot_be_sent_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((NotAllowed, NoAnswer)):
        await allowing("127.0.0.1").send(asked(**({"url": "http://127.0.0.1/"} | bad)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[http", "no TOML"),
        ("[http]\nallow = ['http://a']", "allow"),
        ("[other]", "unknown field"),
        ("[secrets.a]\nhosts = ['a']", "one of env and file"),
        ("[secrets.a]\nenv = 'UNSET'\nhosts = ['a']", "expected the secret alone"),
        ("[secrets.a]\nfile = 'absent'\nhosts = ['a']", "cannot be read"),
    ],
)
def test_bad_files_are_told_apart(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "outside.toml"
    file.write_text(text)

    with pytest.raises(BadOutside, match=problem):
        open_outside(file, {})


def test_secrets_come_from_the_environment_and_from_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    file = tmp_path / "outside.toml"
    file.write_text("[secrets.a]\nenv = 'A'\nhosts = ['a.io']\n[secrets.b]\nfile = 'token'\nhosts = ['*.b.io']\n")

    outside = open_outside(file, {"A": "from-env"})

    assert outside.secret("a", "a.io", 443) == "from-env"
    assert outside.secret("b", "x.b.io", 80) == "from-file"
    assert outside.secret("b", "b.evil.io", 80) is None
    assert outside.hidden("x from-env y") == "x (a secret) y"
