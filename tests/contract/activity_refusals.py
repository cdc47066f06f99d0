"""How the refusals of model activities are met; those that need a provider are in tests/e2e/test_activities.py."""

from typing import Any

import httpx

from tests.e2e.api import Api, ok

REASON, DECIDE, EMBED = (f"/v1/workflows/activities/{job}" for job in ("reason", "decide", "embed"))
_QUESTION = {"instructions": "which?", "criteria": {"a": "this", "b": "that"}}
BODIES: dict[str, dict[str, Any]] = {
    REASON: {"prompt": "p", "schema": {}, "effect_id": "p/s"},
    DECIDE: {"state": 1, "questions": {"q": _QUESTION}, "effect_id": "p/s"},
    EMBED: {"texts": ["a"], "effect_id": "p/s"},
}
_ANOTHER: dict[str, dict[str, Any]] = {REASON: {"prompt": "x"}, DECIDE: {"state": 2}, EMBED: {"texts": ["b"]}}
QUERIES: dict[str, dict[str, Any]] = {"/v1/models/calls/get": {"id": "call_1"}}
SHOWN = [(path, "activity_effect_conflict") for path in BODIES]
WITH_A_PROVIDER = dict.fromkeys(
    ("activity_request_refused", "workflow_budget_exceeded", "models_not_configured", "model_unavailable"),
    "a provider or a budget says so: see tests/e2e/test_activities.py",
)


async def show(api: Api, path: str, code: str) -> httpx.Response:
    """The answer of a request to `path` that is refused with `code`."""
    ok(await api.post(path, BODIES[path]))
    return await api.post(path, BODIES[path] | _ANOTHER[path])
