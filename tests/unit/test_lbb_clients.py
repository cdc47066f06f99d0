"""The members of the two clients beside `raw_request` (lbb-engine 2.1, 2.6, 2.8)."""

import inspect
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbCapabilityError, LbbClient
from tests.unit.lbb_scripted import ClientClass, Script, call, client_of, finish

both = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])

VERSION = {
    "version": "2026-10-21",
    "built_at": "2026-10-21T00:00:00Z",
    "git_commit": "abc",
    "persisted_format": "1",
    "capabilities": ["workflows", "blobs"],
}


@both
def test_the_constructor_has_the_documented_arguments(cls: ClientClass) -> None:
    parameters = inspect.signature(cls).parameters

    assert {name: parameter.default for name, parameter in parameters.items()} == {
        "base_url": "http://127.0.0.1:7400",
        "api_key": None,
        "graph": None,
        "environment": None,
        "api_version": "2026-10-21",
        "max_retries": 6,
        "retry_delay": 0.1,
        "retry_budget_ms": 60_000.0,
        "on_retry": None,
        "timeout": 120.0,
        "transport": None,
        "event_hooks": None,
        "default_consistency": None,
        "integrations_url": None,
    }
    assert [n for n, p in parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY] == ["base_url"]


@both
def test_raw_request_has_the_documented_arguments(cls: ClientClass) -> None:
    parameters = inspect.signature(cls.raw_request).parameters
    keywords = {name: p.default for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}

    names = ("params", "body", "content", "content_type", "idempotency_key", "options")
    assert keywords == dict.fromkeys(names)
    assert inspect.iscoroutinefunction(cls.raw_request) is (cls is AsyncLbbClient)


@both
def test_event_hooks_see_requests_and_answers(cls: ClientClass) -> None:
    seen: list[str] = []

    def hook(event: Any) -> None:
        seen.append(type(event).__name__)

    async def async_hook(event: Any) -> None:
        hook(event)

    hooks = [async_hook if cls is AsyncLbbClient else hook]
    call(client_of(cls, Script(), event_hooks={"request": hooks, "response": hooks}), None, "GET", "/v1/x")

    assert seen == ["Request", "Response"]


def test_clients_are_context_managers() -> None:
    with client_of(LbbClient, Script()) as client:
        assert isinstance(client, LbbClient)
    with pytest.raises(RuntimeError, match="closed"):
        call(client, None, "GET", "/v1/x")

    async def entered() -> AsyncLbbClient:
        async with client_of(AsyncLbbClient, Script()) as client:
            assert isinstance(client, AsyncLbbClient)
            return client

    with pytest.raises(RuntimeError, match="closed"):
        call(finish(entered), None, "GET", "/v1/x")


@both
def test_the_version_is_what_the_server_says(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json=VERSION)))

    assert finish(client.version) == VERSION
    assert (script.request.method, script.request.url.path) == ("GET", "/version")


@both
def test_a_capability_the_server_lists_is_asked_for_once(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json=VERSION)))

    for capability in ("workflows", "blobs", "workflows"):
        assert finish(lambda capability=capability: client.require_capability(capability)) is None

    assert len(script.requests) == 1


@both
@pytest.mark.parametrize("version", [VERSION, {"version": "2026-10-21"}, {"capabilities": None}])
def test_a_capability_the_server_does_not_list_is_an_error(cls: ClientClass, version: dict[str, Any]) -> None:
    client = client_of(cls, Script(httpx.Response(200, json=version)))

    with pytest.raises(LbbCapabilityError, match="durable_import_jobs_v1") as refused:
        finish(lambda: client.require_capability("durable_import_jobs_v1"))

    assert refused.value.capability == "durable_import_jobs_v1"
    assert isinstance(refused.value, RuntimeError)


@both
def test_a_server_that_was_upgraded_is_asked_again(cls: ClientClass) -> None:
    after = {"capabilities": ["workflows", "new"]}
    client = client_of(cls, Script(*(httpx.Response(200, json=answer) for answer in (VERSION, after))))

    with pytest.raises(LbbCapabilityError):
        finish(lambda: client.require_capability("new"))
    finish(lambda: client.require_capability("new"))


@both
def test_a_graph_namespace_sends_to_its_graph(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(), graph="main", environment="e")
    other = client.graph("other")

    for params in (None, {"id": 1}, {"graph": None}, {"graph": "third"}):
        call(other, None, "POST", "/v1/x", body={"a": 1}, params=params)

    assert [dict(request.url.params) for request in script.requests] == [
        {"graph": "other", "stack": "e"},
        {"graph": "other", "stack": "e", "id": "1"},
        {"graph": "other", "stack": "e"},
        {"graph": "third", "stack": "e"},
    ]
    assert {request.content for request in script.requests} == {b'{"a":1}'}
    assert (other.graph_name, client.graph_name) == ("other", "main")


@both
def test_a_graph_namespace_has_no_workflows(cls: ClientClass) -> None:
    assert not hasattr(client_of(cls, Script()).graph("other"), "workflows")


@both
@pytest.mark.parametrize("deleted", [True, False])
def test_deleting_an_instance_tells_whether_this_call_did_it(cls: ClientClass, deleted: bool) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json={"deleted": deleted})), graph="g")

    assert finish(lambda: client.workflow_delete_instance("a-1")).deleted is deleted
    assert str(script.request.url) == "http://server.test/v1/workflows/instances/delete?graph=g"
    assert script.request.content == b'{"workflow_id":"a-1"}'


def test_the_workflows_namespace_is_made_once() -> None:
    namespace = pytest.importorskip("lbb.workflows.namespace")
    client = client_of(AsyncLbbClient, Script())

    assert isinstance(client.workflows, namespace.WorkflowNamespace)
    assert client.workflows is client.workflows
