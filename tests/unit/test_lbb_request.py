"""What a request looks like on the wire (lbb-engine 2.2, 2.3, 2.7)."""

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, models
from lbb.version import USER_AGENT, __version__
from tests.unit.lbb_scripted import ClientClass, Script, call, client_of

pytestmark = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])


def sent(
    cls: ClientClass, *request: object, client: dict[str, object] | None = None, **arguments: object
) -> httpx.Request:
    script = Script()
    call(client_of(cls, script, **(client or {})), None, *request, **arguments)
    return script.request


def test_every_request_names_the_contract_and_the_sdk(cls: ClientClass) -> None:
    headers = sent(cls, "GET", "/v1/x").headers

    assert headers["lbb-version"] == "2026-10-21"
    assert headers["user-agent"] == USER_AGENT == f"turnbuckle-lbb/{__version__}"


def test_a_key_is_a_bearer_and_no_key_sends_no_header(cls: ClientClass) -> None:
    assert (
        sent(cls, "GET", "/v1/x", client={"api_key": "lbb_sk_test_1"}).headers["authorization"]
        == "Bearer lbb_sk_test_1"
    )
    assert "authorization" not in sent(cls, "GET", "/v1/x").headers


def test_another_api_version_is_sent(cls: ClientClass) -> None:
    assert sent(cls, "GET", "/v1/x", client={"api_version": "2027-01-01"}).headers["lbb-version"] == "2027-01-01"


def test_a_json_body_is_compact_and_keeps_its_letters(cls: ClientClass) -> None:
    request = sent(cls, "POST", "/v1/x", body={"name": "Größe", "rows": [1, None]})

    assert request.content == '{"name":"Größe","rows":[1,null]}'.encode()
    assert request.headers["content-type"] == "application/json"


def test_no_body_has_no_content_type(cls: ClientClass) -> None:
    request = sent(cls, "POST", "/v1/x")

    assert request.content == b""
    assert "content-type" not in request.headers


@pytest.mark.parametrize(("given", "expected"), [(None, "application/octet-stream"), ("text/turtle", "text/turtle")])
def test_raw_content_has_the_given_type(cls: ClientClass, given: str | None, expected: str) -> None:
    request = sent(cls, "POST", "/v1/x", content=b"\x00\xff", content_type=given)

    assert (request.content, request.headers["content-type"]) == (b"\x00\xff", expected)


def test_text_content_is_sent_as_utf8(cls: ClientClass) -> None:
    assert sent(cls, "POST", "/v1/x", content="Größe").content == "Größe".encode()


def test_an_idempotency_key_is_sent_only_when_given(cls: ClientClass) -> None:
    assert sent(cls, "POST", "/v1/x", body={}, idempotency_key="k-1").headers["idempotency-key"] == "k-1"
    assert "idempotency-key" not in sent(cls, "POST", "/v1/x", body={}).headers


def test_headers_of_a_call_override_all_of_the_sdks(cls: ClientClass) -> None:
    own = {
        "Authorization": "Bearer other",
        "User-Agent": "me",
        "LBB-Version": "1",
        "Content-Type": "a/b",
        "prefer": "p",
    }
    headers = sent(cls, "POST", "/v1/x", body={}, client={"api_key": "k"}, options={"headers": own}).headers

    assert {name: headers.get_list(name) for name in map(str.lower, own)} == {k.lower(): [v] for k, v in own.items()}


def test_the_clients_graph_and_environment_come_first_in_the_query(cls: ClientClass) -> None:
    request = sent(cls, "GET", "/v1/x", params={"id": "a/b c"}, client={"graph": "g", "environment": "e"})

    assert str(request.url) == "http://server.test/v1/x?graph=g&stack=e&id=a%2Fb%20c"


def test_a_client_without_graph_and_environment_sends_no_query(cls: ClientClass) -> None:
    assert str(sent(cls, "GET", "/v1/x").url) == "http://server.test/v1/x"


def test_a_graph_of_the_call_replaces_the_clients(cls: ClientClass) -> None:
    assert dict(sent(cls, "GET", "/v1/x", params={"graph": "other"}, client={"graph": "g"}).url.params) == {
        "graph": "other"
    }


def test_parameters_that_are_none_are_left_out(cls: ClientClass) -> None:
    request = sent(cls, "GET", "/v1/x", params={"after": None, "graph": None, "limit": 0}, client={"graph": "g"})

    assert dict(request.url.params) == {"graph": "g", "limit": "0"}


def test_booleans_are_words_and_lists_repeat_their_name(cls: ClientClass) -> None:
    request = sent(cls, "GET", "/v1/x", params={"payloads": True, "key": ["a&b", "c"]})

    assert request.url.query == b"payloads=true&key=a%26b&key=c"


def test_a_trailing_slash_of_the_base_url_is_removed(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(), base_url="http://server.test/prefix/")
    call(client, None, "GET", "/v1/x")

    assert client.base_url == "http://server.test/prefix"
    assert str(script.request.url) == "http://server.test/prefix/v1/x"


def test_a_path_cannot_break_out_of_its_line(cls: ClientClass) -> None:
    assert sent(cls, "GET", "/v1/x y\r\nz/é").url.raw_path == b"/v1/x%20y%0D%0Az/%C3%A9"


@pytest.mark.parametrize("path", ["v1/x", "/v1/x?id=1", "/v1/x#top", "http://other.test/v1/x"])
def test_a_path_with_a_query_or_a_host_is_refused(cls: ClientClass, path: str) -> None:
    with pytest.raises(ValueError, match="params="):
        sent(cls, "GET", path)


def test_body_and_content_together_are_refused(cls: ClientClass) -> None:
    with pytest.raises(ValueError, match="not both"):
        sent(cls, "POST", "/v1/x", body={}, content=b"")


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_retry": 1}, "max_retry"), ({"retry": "sometimes"}, "sometimes"), ({"max_retries": -1}, "max_retries")],
)
def test_options_that_mean_nothing_are_refused(cls: ClientClass, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sent(cls, "GET", "/v1/x", options=options)


def test_a_negative_max_retries_of_the_client_is_refused_when_a_request_is_made(cls: ClientClass) -> None:
    client = client_of(cls, Script(), max_retries=-1)

    with pytest.raises(ValueError, match="max_retries must be 0 or more, got -1"):
        call(client, None, "GET", "/v1/x")


@pytest.mark.parametrize(
    "url",
    [
        "server.test",
        "ftp://server.test",
        "http://",
        "http://u:p@server.test",
        "http://s?x=1",
        "http://s/v1",
        "http://s/p/v1/",
    ],
)
def test_a_base_url_that_cannot_be_used_is_refused_at_once(cls: ClientClass, url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        cls(url)


def test_a_key_with_a_line_break_is_refused_without_being_shown(cls: ClientClass) -> None:
    with pytest.raises(ValueError, match="api_key") as refused:
        cls(api_key="lbb_sk_live_secret\n")

    assert "secret" not in str(refused.value)


def test_a_client_does_not_show_its_key(cls: ClientClass) -> None:
    client = cls("http://server.test", api_key="lbb_sk_live_secret", graph="g")

    assert "secret" not in f"{client!r} {client._settings!r}"
    assert (client.base_url, client.graph_name) == ("http://server.test", "g")


def test_the_environment_of_the_process_is_not_read(cls: ClientClass, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LBB_URL", "LBB_API_KEY", "LBB_GRAPH"):
        monkeypatch.setenv(name, "http://elsewhere.test")

    client = cls()

    assert (client.base_url, client.graph_name, client._settings.api_key) == ("http://127.0.0.1:7400", None, None)


def test_a_models_optional_nulls_are_left_off_and_its_required_ones_sent(cls: ClientClass) -> None:
    body = models.WorkflowTurnCompleteRequest(workflow_id="a-1", turn=1, token="T", state=None)

    assert sent(cls, "POST", "/v1/x", body=body).content == b'{"state":null,"token":"T","turn":1,"workflow_id":"a-1"}'


def test_the_timeout_goes_to_every_part_of_a_try(cls: ClientClass) -> None:
    default, own = sent(cls, "GET", "/v1/x"), sent(cls, "GET", "/v1/x", options={"timeout": 0.5})

    assert default.extensions["timeout"] == dict.fromkeys(("connect", "read", "write", "pool"), 120.0)
    assert set(own.extensions["timeout"].values()) == {0.5}
