"""How each refusal about named workflows is met: (endpoint's name, code) -> a request for which it is the answer."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.e2e.api import Api, ok

NAMED, TRIGGERED = "/v1/workflows/named", "/v1/workflows/triggered"
T_V1 = {"workflow_type": "watched", "version": "v1"}
ITEM = {"instance": "https://littlebigbrain.com/e/" + "0" * 32}
WATCH = {"name": "notes", "workflow": T_V1, "triggers": [{"watch": {"class": "Note"}}]}
STARTER = {"starter": "workflow", "name": "notes", "watch": {"class": "Note"}, "workflow": T_V1}
STREAM = {"name": "events", "workflow": T_V1, "triggers": [{"stream": {"rate_per_minute": 2, "pending_max": 3}}]}
BODIES: dict[str, dict[str, Any]] = {
    NAMED: WATCH,
    TRIGGERED: STARTER,
    f"{NAMED}/pause": {"paused": True},
    f"{NAMED}/requeue": {"workflow_id": "starter.notes", "turn": 9, "items": [ITEM]},
    f"{NAMED}/events": {"events": [{"id": "e"}]},
}
QUERIES: dict[str, dict[str, Any]] = {
    NAMED: {"name": "notes", "confirm": "notes"},
    TRIGGERED: {"name": "notes"},
    f"{NAMED}/runs/get": {"name": "notes", "id": "x"},
    **{f"{NAMED}/{path}": {"name": "notes"} for path in ("run", "pause", "requeue", "queue", "events", "runs")},
    **{f"{NAMED}/runs/{path}": {"name": "notes"} for path in ("stats", "results")},
}
Show = Callable[[Api], Awaitable[httpx.Response]]


async def declared(api: Api) -> None:
    """A graph with a class and a watch over it."""
    await api.post("/v1/graph/create", b"")
    ok(await api.post("/v1/ontology/evolve", {"ops": [{"op": "add_entity_type", "name": "Note"}]}))
    ok(await api.ask("PUT", NAMED, json=WATCH))


def missing(method: str, path: str) -> Show:
    async def show(api: Api) -> httpx.Response:
        query = {field: value for field, value in QUERIES[path].items() if field != "confirm"} | {"name": "nobody"}
        body = BODIES.get(path) if method != "GET" else None
        return await api.ask(method, path, params=query, json=body)

    return show


def changed(path: str, **change: Any) -> Show:
    async def show(api: Api) -> httpx.Response:
        await declared(api)
        return await api.ask("PUT", path, json=BODIES[path] | change)

    return show


def busy(path: str) -> Show:
    async def show(api: Api) -> httpx.Response:
        await declared(api)
        await api.sent(to="starter.notes")
        return await api.ask("PUT", path, json=BODIES[path] | {"workflow": T_V1 | {"version": "v2"}})

    return show


def of_starter(starter: str | None, name: str) -> Show:
    async def show(api: Api) -> httpx.Response:
        query: dict[str, Any] = {"name": name} | ({} if starter is None else {"starter": starter})
        return await api.get(TRIGGERED, **query)

    return show


def given_back(**change: Any) -> Show:
    async def show(api: Api) -> httpx.Response:
        await declared(api)
        return await api.post(f"{NAMED}/requeue", BODIES[f"{NAMED}/requeue"] | change, name="notes")

    return show


async def no_run(api: Api) -> httpx.Response:
    await declared(api)
    return await api.get(f"{NAMED}/runs/get", name="notes", id="x")


def events(*counts: int, data: str = "", kind: dict[str, Any] = STREAM) -> Show:
    """Some requests with as many events; the answer of the last."""

    async def show(api: Api) -> httpx.Response:
        await declared(api)
        ok(await api.ask("PUT", NAMED, json=kind))
        answer: httpx.Response | None = None
        for request, count in enumerate(counts):
            body = {"events": [{"id": f"{request}-{number}", "data": data} for number in range(count)]}
            answer = await api.post(f"{NAMED}/events", body, name=kind["name"])
        assert answer is not None
        return answer

    return show


async def gone_shard(api: Api) -> httpx.Response:
    await declared(api)
    ok(await api.ask("PUT", NAMED, json=WATCH | {"name": "other"}))
    ok(await api.post("/v1/workflows/instances/delete", {"workflow_id": "starter.other"}))
    body = BODIES[f"{NAMED}/requeue"] | {"workflow_id": "starter.other"}
    return await api.post(f"{NAMED}/requeue", body, name="other")


_ROUTES = {
    "named_reads.get": ("GET", NAMED),
    "named.run": ("POST", f"{NAMED}/run"),
    "named.pause": ("POST", f"{NAMED}/pause"),
    "requeue.requeue": ("POST", f"{NAMED}/requeue"),
    "stream.send_events": ("POST", f"{NAMED}/events"),
    "named_reads.queue": ("GET", f"{NAMED}/queue"),
    "named_runs.runs": ("GET", f"{NAMED}/runs"),
    "named_runs.get_run": ("GET", f"{NAMED}/runs/get"),
    "named_runs.run_stats": ("GET", f"{NAMED}/runs/stats"),
    "named_runs.run_results": ("GET", f"{NAMED}/runs/results"),
}
SHOWN: dict[tuple[str, str], Show] = {
    **{(name, "named_workflow_not_found"): missing(*route) for name, route in _ROUTES.items()},
    ("triggered.put", "not_found"): changed(TRIGGERED, starter="nothing"),
    ("triggered.put", "workflow_param_invalid"): changed(TRIGGERED, params={"a": 1}),
    ("triggered.put", "workflow_shards_busy"): busy(TRIGGERED),
    ("named.put", "workflow_param_invalid"): changed(NAMED, name="A"),
    ("named.put", "workflow_shards_busy"): busy(NAMED),
    ("triggered.get", "not_found"): of_starter("nothing", "notes"),
    ("triggered.get", "workflow_param_invalid"): of_starter("values.extract", "notes"),
    ("triggered.get", "triggered_workflow_not_found"): of_starter(None, "notes"),
    ("requeue.requeue", "turn_not_found"): given_back(),
    ("requeue.requeue", "instance_not_found"): gone_shard,
    ("named_runs.get_run", "workflow_run_not_found"): no_run,
    ("stream.send_events", "workflow_param_invalid"): events(1, kind=WATCH),
    ("stream.send_events", "payload_too_large"): events(1, data="x" * 70_000),
    ("stream.send_events", "workflow_stream_rate_limited"): events(2, 1),
    ("stream.send_events", "workflow_stream_full"): events(4),
}
