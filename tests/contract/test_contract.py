"""The contract played to a real server: requests made up from the OpenAPI document, answers held against it."""

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis import checks as c
from schemathesis.specs.openapi import checks as openapi_checks

from tests.live_server import HEADERS
from turnbuckle.http.openapi import document

V1 = "/v1/workflows"
CHECKS = [
    c.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]
OPERATIONS: list[Any] = [
    found.ok()  # type: ignore[union-attr]  # an operation that cannot be read raises
    for found in schemathesis.openapi.from_dict(document()).get_all_operations()
]
OF_THE_ENGINE = [operation for operation in OPERATIONS if operation.path.startswith(V1)]
FOR_FLOW_WORKERS = {f"{V1}/activities/chat", f"{V1}/activities/http"}  # no request of a user's key is taken
FRESH = itertools.count(1)


@schemathesis.serializer("application/x-ndjson", "application/sparql-update")
def as_it_is(context: Any, value: Any) -> bytes:
    """Texts are made up as bytes, not as JSON."""
    return value if isinstance(value, bytes) else str(value).encode()


def bounded(examples: int) -> settings:
    """`examples` made up by chance; nothing is kept between runs, and nothing made smaller: the request is shown."""
    every = list(HealthCheck)
    return settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=every, phases=[Phase.generate]
    )


@pytest.fixture(scope="module")
def client(server_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server_url, headers=HEADERS) as made:
        yield made


def name_of(operation: Any) -> str:
    return str(operation.label)


@pytest.mark.parametrize(
    ("operation", "mode"),
    [(operation, GenerationMode.POSITIVE) for operation in OPERATIONS]
    + [(operation, GenerationMode.NEGATIVE) for operation in OF_THE_ENGINE],  # the others take nothing
    ids=lambda one: name_of(one) if hasattr(one, "label") else one.value,
)
def test_answers_are_as_the_contract_says(operation: Any, mode: GenerationMode, server_url: str) -> None:
    """No 5xx; status, content type and body as they are described; what does not fit the contract is refused."""

    @given(case=operation.as_strategy(generation_mode=mode))
    @bounded(12)
    def play(case: Any) -> None:
        response = case.call(base_url=server_url, headers=HEADERS)
        case.validate_response(response, checks=CHECKS, headers=HEADERS)

    play()


@pytest.mark.parametrize("operation", [one for one in OF_THE_ENGINE if one.path not in FOR_FLOW_WORKERS], ids=name_of)
def test_answers_about_what_is_there_are_as_the_contract_says(operation: Any, client: httpx.Client) -> None:
    """The same for requests that name an instance, a turn that is held, its token, and its step."""
    statuses = set()

    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    @bounded(6)
    def play(case: Any) -> None:
        there = _held_turn(client)
        if operation.path.startswith((f"{V1}/named", f"{V1}/triggered")):
            there = _named_workflow(client, operation.path)
        if operation.label == f"POST {V1}/instances":
            there.pop("id")  # one that is there was made by another request
        for asked in (case.body, case.query):
            if isinstance(asked, dict):
                asked.update({name: there[name] for name in asked if name in there})
        if operation.label == f"PUT {V1}/triggered":
            case.body |= {name: there[name] for name in ("watch", "workflow")}  # optional for other starters
        if operation.path == f"{V1}/blobs" and "key" in case.query:
            case.query["key"] = there["blob"]
        case.query.pop("graph", None)
        case.query.pop("stack", None)
        response = case.call(base_url=str(client.base_url), headers=HEADERS)
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS, headers=HEADERS)

    play()
    assert 200 in statuses, f"no request of {operation.label} was taken: {statuses}"


def _held_turn(client: httpx.Client) -> dict[str, Any]:
    """What requests may name: a new instance whose first turn is held and runs a step, with a run and a blob."""
    name = f"i{next(FRESH)}"
    pair = {"workflow_type": name, "version": "v1"}
    _post(client, "/instances", {"id": name, **pair})
    _post(client, "/instances/message", {"workflow_id": name, "id": "m", "message": None})
    first = _post(client, "/turns/claim", {"worker": "w", "workflows": [pair]})["task"]
    lease = {"workflow_id": name, "turn": 1, "token": first["token"]}
    _post(client, "/turns/fail", {**lease, "error": "for a run", "non_retryable": True})
    _post(client, "/instances/control", {"workflow_id": name, "action": "retry", "turn": 1})
    lease["token"] = _post(client, "/turns/claim", {"worker": "w", "workflows": [pair]})["task"]["token"]
    _post(client, "/turns/operation", {**lease, "key": "s", "position": 0, "kind": "step", "timeout_ms": 300_000})
    blob = client.post(f"{V1}/blobs", params={"workflow_id": name}, content=b"bytes").json()["key"]
    run = first["turn"]["run"]["id"]
    return {**lease, "position": 0, "key": "s", "step": "s", "id": name, "run": run, "blob": blob, **pair}


def _named_workflow(client: httpx.Client, path: str) -> dict[str, Any]:
    """What requests about named workflows may name: one with a watch, or with a stream, that has had a run."""
    name = f"w{next(FRESH)}"
    pair = {"workflow_type": name, "version": "v1"}
    client.post("/v1/graph/create")
    declared = client.post("/v1/ontology/evolve", json={"ops": [{"op": "add_entity_type", "name": "Note"}]})
    assert declared.status_code == 200, declared.text
    triggers: list[dict[str, Any]] = [{"watch": {"class": "Note"}}]
    if path.endswith("/events"):
        triggers = [{"stream": {}}]
    made = client.put(f"{V1}/named", json={"name": name, "workflow": pair, "triggers": triggers})
    assert made.status_code == 200, made.text
    _post(client, "/instances/message", {"workflow_id": f"starter.{name}", "id": "m", "message": None})
    task = _post(client, "/turns/claim", {"worker": "w", "workflows": [pair]})["task"]
    lease = {"workflow_id": f"starter.{name}", "turn": 1, "token": task["token"]}
    _post(client, "/turns/complete", {**lease, "state": None})
    watch = {"class": "Note"}
    item = {"instance": "https://littlebigbrain.com/e/" + "0" * 32}
    settings = {"name": name, "workflow": pair, "triggers": triggers, "watch": watch, "starter": "workflow"}
    absent = dict.fromkeys(("owns", "params", "gate", "fan_in", "route_by", "trigger", "cursor"))
    run = {"id": task["turn"]["run"]["id"], "workflow_id": f"starter.{name}", "turn": 1, "items": [item]}
    there = {**absent, **settings, **run, "confirm": name}
    return {
        key: value for key, value in there.items() if value is not None or path in (f"{V1}/named", f"{V1}/triggered")
    }


def _post(client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    answer = client.post(V1 + path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()
