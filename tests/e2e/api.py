"""The whole app in this process over one store: requests go through everything but a socket."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import httpx

from tests.open_store import OpenStore
from turnbuckle.config import Config
from turnbuckle.http.app import App
from turnbuckle.operations import key as keys
from turnbuckle.store.database import write
from turnbuckle.store.key import Grant

KEY = "lbb_sk_test_of_the_tests"
WORKFLOWS = "/v1/workflows"
CREATE, MESSAGE = f"{WORKFLOWS}/instances", f"{WORKFLOWS}/instances/message"
CONTROL, DELETE = f"{WORKFLOWS}/instances/control", f"{WORKFLOWS}/instances/delete"
CLAIM, BLOBS = f"{WORKFLOWS}/turns/claim", f"{WORKFLOWS}/blobs"
PAIRS = [{"workflow_type": "t", "version": "v1"}]


class Api:
    """A client of the app with a key of role admin."""

    def __init__(self, app: App, store: OpenStore, client: httpx.AsyncClient) -> None:
        self.app, self.store = app, store
        self._client = client

    async def get(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        return await self._client.get(path, params=query or None, headers=headers)

    async def post(self, path: str, body: Any, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        """`body`: bytes go as they are, anything else as its JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._client.post(path, content=content, params=query or None, headers=headers)

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return await self._client.request(method, path, **more)

    async def started(self, instance: str = "a", **options: Any) -> Any:
        answer = await self.post(CREATE, {"id": instance, "workflow_type": "t", "version": "v1", **options})
        return ok(answer)

    async def sent(self, message: Any = 1, *, id: str = "m-1", to: str = "a") -> Any:
        return ok(await self.post(MESSAGE, {"workflow_id": to, "id": id, "message": message}))

    async def claimed(self, wait_ms: int = 0, worker: str = "w") -> Any:
        """The task, or None."""
        answer = await self.post(CLAIM, {"worker": worker, "workflows": PAIRS, "wait_ms": wait_ms})
        return ok(answer)["task"]

    async def held(self, **options: Any) -> dict[str, Any]:
        """The lease on the first turn of a new instance `a`."""
        await self.started(**options)
        await self.sent()
        return lease(await self.claimed())

    async def turn(self, route: str, held: dict[str, Any], headers: dict[str, str] | None = None, **fields: Any) -> Any:
        return await self.post(f"{WORKFLOWS}/turns/{route}", {**held, **fields}, headers=headers)


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def lease(task: dict[str, Any]) -> dict[str, Any]:
    turn = task["turn"]
    return {"workflow_id": turn["workflow_id"], "turn": turn["number"], "token": task["token"]}


@contextlib.asynccontextmanager
async def serving(store: OpenStore, **settings: Any) -> AsyncIterator[Api]:
    """`settings` are fields of Config."""
    # In a thread: a second app on the store finds it bound to this loop, which must not stand still.
    await asyncio.to_thread(
        write, store.database, lambda tx: keys.add(tx, KEY, "tests", Grant("test", "user", "admin"))
    )
    app = App(store.database, Config(**{"data": Path("unused"), "mode": "dev", **settings}))
    app.bind(asyncio.get_running_loop())
    transport, headers = httpx.ASGITransport(cast(Any, app)), {"authorization": f"Bearer {KEY}"}
    with contextlib.closing(app):
        async with httpx.AsyncClient(transport=transport, base_url="http://app", headers=headers) as client:
            try:
                yield Api(app, store, client)
            finally:
                await app.activities.aclose()
