"""How the refusals of model activities are met; those that need a provider are in tests/e2e/test_activities.py."""

from typing import Any

import httpx

from tests.e2e.api import Api, ok
from turnbuckle.operations import key as keys

JOBS = ("reason", "decide", "embed", "chat", "http")
REASON, DECIDE, EMBED, CHAT, HTTP = (f"/v1/workflows/activities/{job}" for job in JOBS)
_QUESTION = {"instructions": "which?", "criteria": {"a": "this", "b": "that"}}
BODIES: dict[str, dict[str, Any]] = {
    REASON: {"prompt": "p", "schema": {}, "effect_id": "p/s"},
    DECIDE: {"state": 1, "questions": {"q": _QUESTION}, "effect_id": "p/s"},
    EMBED: {"texts": ["a"], "effect_id": "p/s"},
    CHAT: {"messages": [{"role": "user", "content": "hi"}], "effect_id": "p/s"},
    HTTP: {"method": "GET", "url": "http://127.0.0.1:1/", "effect_id": "p/s"},
}
_ANOTHER: dict[str, dict[str, Any]] = {
    REASON: {"prompt": "x"},
    DECIDE: {"state": 2},
    EMBED: {"texts": ["b"]},
    CHAT: {"messages": [{"role": "user", "content": "ho"}]},
}
QUERIES: dict[str, dict[str, Any]] = {"/v1/models/calls/get": {"id": "call_1"}}
SHOWN = [(path, "activity_effect_conflict") for path in _ANOTHER]
SHOWN += [(path, "forbidden") for path in (CHAT, HTTP)]
ELSEWHERE = {(HTTP, "activity_effect_conflict")}  # it needs a host that answers: see tests/e2e/test_flow_outside.py
WITH_A_PROVIDER = dict.fromkeys(
    (
        "activity_request_refused",
        "workflow_budget_exceeded",
        "models_not_configured",
        "model_unavailable",
        "http_unavailable",
    ),
    "a provider, a host or a budget says so: see tests/e2e/test_activities.py and test_flow_outside.py",
)


async def show(api: Api, path: str, code: str) -> httpx.Response:
    """The answer of a request to `path` that is refused with `code`."""
    if code == "forbidden":  # a user's key: it is for flow workers
        return await api.post(path, BODIES[path])
    headers = {"authorization": f"Bearer {await _worker_key(api)}"} if path == CHAT else None
    ok(await api.post(path, BODIES[path], headers))
    return await api.post(path, BODIES[path] | _ANOTHER[path], headers)


async def _worker_key(api: Api) -> str:
    return await api.app.store.write(lambda tx: keys.create(tx, "flow", "test", "runtime", "write"))
