"""Each refusal that the contract lists for an endpoint can be met there, and no other: one request shows each."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import httpx
import pytest

from tests.contract import activity_refusals, graph_refusals, named_refusals, query_refusals, review_refusals
from tests.e2e.api import CLAIM, CONTROL, CREATE, DELETE, KEY, MESSAGE, PAIRS, WORKFLOWS, Api, lease, ok, serving
from tests.open_store import opened
from turnbuckle.http.endpoints import ENDPOINTS, Endpoint
from turnbuckle.http.openapi import document, refusals
from turnbuckle.operations import key as keys
from turnbuckle.store.key import Grant
from turnbuckle.wire import limits
from turnbuckle.wire.errors import ERRORS

TURNS = f"{WORKFLOWS}/turns"
OPEN = {"/", "/health", "/version", "/docs", "/openapi.json"}

NOT_BY_A_REQUEST = {
    "internal": "an error of the server's own; none is known",
    "storage_degraded": "the disk or database gives up: see the store and fault suites",
    "stopping": "the server shuts down: see test_long_poll.py and the store suites",
    "rate_limited": "this server limits no rates; clients obey it from others",
    "workflows_disabled": "the engine is switched off: see test_bad_input.py",
    **activity_refusals.WITH_A_PROVIDER,
    **query_refusals.BY_THE_INDEX,
}


class World(NamedTuple):
    api: Api
    held: dict[str, Any]


@pytest.fixture
async def world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened(str(tmp_path_factory.mktemp("contract") / "turnbuckle.db")) as store:
        async with serving(store) as api:
            await api.started()
            await api.sent()
            held = lease(await api.claimed())
            ok(await api.turn("checkpoint", held, key="s", position=0, kind="step", output=1))
            ok(await api.post(f"{TURNS}/signal", _signal()))
            await api.started("idle")
            yield World(api, held)


def _signal(**fields: Any) -> dict[str, Any]:
    return {"workflow_id": "a", "turn": 1, "id": "e-1", "name": "ok", "value": 1, **fields}


def _bodies(held: dict[str, Any]) -> dict[str, dict[str, Any]]:
    step = {**held, "key": "t", "position": 1}
    return {
        CREATE: {"id": "b", "workflow_type": "t", "version": "v1"},
        MESSAGE: {"workflow_id": "a", "id": "m-9", "message": 1},
        CONTROL: {"workflow_id": "a", "action": "pause"},
        DELETE: {"workflow_id": "a"},
        CLAIM: {"worker": "w", "workflows": PAIRS},
        f"{TURNS}/heartbeat": held,
        f"{TURNS}/operation": {**step, "kind": "step", "timeout_ms": 5_000},
        f"{TURNS}/progress": {**held, "key": "t", "sequence": 1, "details": 1, "checkpoint": 1},
        f"{TURNS}/checkpoint": {**step, "kind": "step", "output": 1},
        f"{TURNS}/wait-signal": {**step, "name": "ok", "timeout_ms": 5_000},
        f"{TURNS}/signal": _signal(id="e-9"),
        f"{TURNS}/effect": {**held, "step": "t", "effect_id": "p/t", "kind": "payment", "target": "invoice 7"},
        f"{TURNS}/complete": {**held, "state": 1},
        f"{TURNS}/fail": {**held, "error": "no"},
        **activity_refusals.BODIES,
        **review_refusals.BODIES,
        **graph_refusals.BODIES,
        **named_refusals.BODIES,
        **query_refusals.BODIES,
    }


# What differs from a request that is taken: (path, code) -> fields of the body.
CONFLICTS: dict[tuple[str, str], dict[str, Any]] = {
    (CREATE, "conflict"): {"id": "a", "version": "v2"},
    (MESSAGE, "conflict"): {"id": "m-1", "message": 2},
    (CONTROL, "conflict"): {"action": "retry", "turn": 1},
    (CONTROL, "turn_not_found"): {"action": "cancel_turn", "turn": 9},
    (CLAIM, "execution_credentials_disabled"): {"include_execution_credential": True},
    (f"{TURNS}/operation", "conflict"): {"key": "s"},
    (f"{TURNS}/progress", "conflict"): {},
    (f"{TURNS}/checkpoint", "conflict"): {"key": "s"},
    (f"{TURNS}/wait-signal", "conflict"): {"key": "s"},
    (f"{TURNS}/effect", "conflict"): {},  # no step runs
    (f"{TURNS}/signal", "conflict"): {"id": "e-1", "name": "other"},
    (f"{TURNS}/signal", "turn_not_found"): {"turn": 9},
}
QUERIES: dict[str, dict[str, Any]] = {
    "id": {"id": "a"},
    "turn": {"turn": 1},
    "run": {"run": "x"},
    "key": {"key": "x"},
    "workflow_type": {"workflow_type": "t"},
    "workflow_id": {"workflow_id": "a"},
}


async def ask(world: World, endpoint: Endpoint, *, change: dict[str, Any] | None = None, content: bytes | None = None,
              query: dict[str, Any] | None = None, key: str = KEY) -> httpx.Response:  # fmt: skip
    """A request that is taken but for what the arguments change."""
    params = {k: v for name in endpoint.query.__struct_fields__ for k, v in QUERIES.get(name, {}).items()}
    known = graph_refusals.QUERIES | activity_refusals.QUERIES | named_refusals.QUERIES | query_refusals.QUERIES
    params = {k: v for k, v in known.get(endpoint.path, params).items() if k in endpoint.query.__struct_fields__}
    sent: dict[str, Any] = {"params": {**params, **(query or {})}, "headers": {"authorization": f"Bearer {key}"}}
    if content is not None or endpoint.raw_body:
        sent["content"] = b"bytes" if content is None else content
    elif endpoint.body is not None:
        sent["json"] = {**_bodies(world.held)[endpoint.path], **(change or {})}
    return await world.api.ask(endpoint.method, endpoint.path, **sent)


Show = Callable[[World, Endpoint], Awaitable[httpx.Response]]


async def _unknown_graph(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, query={"graph": "nowhere"})


async def _lost(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, change={"token": "lost"})


async def _unknown_turn(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, query={"turn": 9})


async def _unknown(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint)


async def _too_large(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, content=b"x" * (endpoint.body_bytes + 1))


async def _bad_query(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, query={"no-such-parameter": 1})


async def _bad_bytes(world: World, endpoint: Endpoint) -> httpx.Response:
    headers = {"authorization": f"Bearer {KEY}"}
    return await world.api.ask(endpoint.method, f"{endpoint.path}?x=%ff", headers=headers, content=b"{}")


async def _no_key(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, key="wrong")


async def _other_role(world: World, endpoint: Endpoint) -> httpx.Response:
    role = next(iter(set(keys.ROLES) - (endpoint.roles or set())))
    await world.api.app.store.write(lambda tx: keys.add(tx, f"key {role}", role, Grant("test", "user", role)))
    return await ask(world, endpoint, key=f"key {role}")


async def _other_stack(world: World, endpoint: Endpoint) -> httpx.Response:
    return await ask(world, endpoint, query={"stack": "live"})


SHOW: dict[str, Show] = {
    "invalid_request": _bad_bytes,
    "invalid_param": _bad_query,
    "unauthorized": _no_key,
    "forbidden": _other_role,
    "stack_endpoint_mismatch": _other_stack,
    "payload_too_large": _too_large,
    "instance_not_found": _unknown_graph,
    "turn_lease_lost": _lost,
    "turn_not_found": _unknown_turn,
    "workflow_run_not_found": _unknown,
    "blob_not_found": _unknown,
    "model_call_not_found": _unknown,
    "not_found": _unknown,
}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: str(endpoint.name))
async def test_each_listed_refusal_can_be_met(world: World, endpoint: Endpoint) -> None:
    """A code that is only listed would send its reader looking for what never comes."""
    listed = set(refusals(endpoint)) - set(NOT_BY_A_REQUEST)
    listed -= {code for path, code in activity_refusals.ELSEWHERE if path == endpoint.path}
    if endpoint.roles == frozenset(keys.ROLES):
        listed.discard("forbidden")  # every role may call it
    met = set()
    for code in listed:
        change = CONFLICTS.get((endpoint.path, code))
        if (endpoint.path, code) in review_refusals.SHOWN:
            answer = await review_refusals.show(world.api, endpoint.path, code)
        elif (endpoint.path, code) in activity_refusals.SHOWN:
            answer = await activity_refusals.show(world.api, endpoint.path, code)
        elif (endpoint.path, code) in graph_refusals.SHOWN:
            answer = await graph_refusals.show(world.api, endpoint.path, code)
        elif (endpoint.path, code) in query_refusals.SHOWN:
            answer = await query_refusals.show(world.api, endpoint.path, code)
        elif (endpoint.name, code) in named_refusals.SHOWN:
            answer = await named_refusals.SHOWN[endpoint.name, code](world.api)
        else:
            answer = await (ask(world, endpoint, change=change) if change is not None else SHOW[code](world, endpoint))
        met.add(answer.json()["error"]["code"] if answer.status_code != 200 else f"{code} is not met")

    assert met == listed


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: str(endpoint.name))
async def test_no_refusal_is_met_that_is_not_listed(world: World, endpoint: Endpoint) -> None:
    listed = set(refusals(endpoint))
    for code, show in SHOW.items():
        if code == "forbidden" and endpoint.roles in (None, frozenset(keys.ROLES)):
            continue
        if code == "payload_too_large" and endpoint.method == "GET":
            continue  # it takes no body
        answer = await show(world, endpoint)
        if answer.status_code != 200:
            assert answer.json()["error"]["code"] in listed, f"{endpoint.name}: {answer.text}"


async def test_exactly_these_are_open_without_a_key(world: World) -> None:
    """Decision 20."""
    described = document()["paths"]
    paths = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS} | {("GET", path) for path in OPEN}
    is_open = set()
    for method, path in paths:
        answer = await world.api.ask(method, path, headers={"authorization": ""}, content=b"{}")
        if answer.status_code == 200:
            is_open.add(path)
        else:
            assert answer.json()["error"]["code"] == "unauthorized", f"{method} {path}"

    assert is_open == OPEN
    assert {path for path, methods in described.items() for one in methods.values() if one["security"] == []} == {
        "/health",
        "/version",
    }


def test_every_status_of_a_refusal_is_described() -> None:
    described = document()["paths"]
    for endpoint in ENDPOINTS:
        answers = described[endpoint.path][endpoint.method.lower()]["responses"]
        statuses = {str(ERRORS[code].status) for code in refusals(endpoint)}

        assert set(answers) == {"200", *statuses}


async def test_a_limit_in_the_contract_is_the_one_that_is_enforced(world: World) -> None:
    schemas = document()["components"]["schemas"]

    create = schemas["WorkflowInstanceCreateRequest"]["properties"]
    assert (create["lease_ms"]["minimum"], create["lease_ms"]["maximum"]) == limits.LEASE_MS
    assert schemas["WorkflowTurnClaimRequest"]["properties"]["workflows"]["maxItems"] == limits.CLAIM_PAIRS
    assert schemas["WorkflowMessageRequest"]["properties"]["id"]["maxLength"] == limits.ID_CHARS


async def test_the_document_is_served_as_it_is_committed(world: World) -> None:
    assert (await world.api.get("/openapi.json")).json() == document()
