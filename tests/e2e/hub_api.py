"""The second API as a test calls it: organization `acme` with a workflow blob `support-bot`, and keys of all kinds."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx

from tests.e2e.api import Api, serving
from tests.open_store import OpenStore
from tests.tables import dump
from turnbuckle.hub_keeper import HubKeeper
from turnbuckle.operations import doctor, graph, hub_blob
from turnbuckle.operations import key as keys
from turnbuckle.store.database import read, write
from turnbuckle.store.key import Grant
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import WORKFLOW_BLOB

ENVIRONMENT = "test"
WRITER, READER, OTHERS, RUNTIME, ADMIN = "k-writer", "k-reader", "k-others", "k-runtime", "k-admin"
FLOW = [{"workflow_type": "flow", "version": "v1"}]
DOCUMENT = {"type": "workflow_definition", "version": "1.0.1", "components": [], "connections": []}
TURNS = "/v1/workflows/turns"


class Hub:
    """A client of the app with the key of a writer of `acme`, and a draft of `acme/support-bot`."""

    def __init__(
        self, api: Api, graph_id: str, org_id: str, blob_id: str, revision_id: str, public_revision_id: str
    ) -> None:
        self.api, self.graph_id, self.org_id, self.blob_id, self.revision_id = (
            api,
            graph_id,
            org_id,
            blob_id,
            revision_id,
        )
        self.public_revision_id = public_revision_id  # of the public blob `acme/faq-bot`

    # -- requests ------------------------------------------------------------------------------------------------

    async def ask(self, method: str, path: str, key: str | None = WRITER, **more: Any) -> httpx.Response:
        headers = {"authorization": "", **more.pop("headers", {})}
        if key is not None:
            headers["x-api-key"] = key
        return await self.api.ask(method, f"/v1/{path}", headers=headers, **more)

    async def get(self, path: str, key: str | None = WRITER, **query: Any) -> httpx.Response:
        return await self.ask("GET", path, key, params=query or None)

    async def data(
        self, channel: str, command: str, key: str = WRITER, revision: str | None = None, **args: Any
    ) -> httpx.Response:
        path = f"revisions/{revision or self.revision_id}/data/{channel}"
        return await self.ask("POST", path, key, json={"command": command, **args})

    async def query(self, command: str, **args: Any) -> dict[str, Any]:
        return taken(await self.data("query", command, **args))

    async def command(self, command: str, **args: Any) -> dict[str, Any]:
        return taken(await self.data("command", command, **args))

    async def refused(self, command: str, channel: Any = "command", **args: Any) -> tuple[int, str]:
        return refusal(await self.data(channel, command, **args))

    async def rows(self, table: str) -> list[tuple[Any, ...]]:
        """What lies in a table of the store."""
        return (await asyncio.to_thread(dump, self.api.store.location))[table]

    # -- what most tests need ------------------------------------------------------------------------------------

    async def definition(self, alias: str = "answer-question", category: str = "workflow", **more: Any) -> str:
        made = await self.command("create_definition", alias=alias, category=category, **more)
        return str(made["definition"]["id"])

    async def session(self, alias: str | None = "sdk-demo", **more: Any) -> str:
        named = {} if alias is None else {"alias": alias}
        return str((await self.command("create_session", **named, **more))["session"]["id"])

    async def execute(self, session: str, definition: str = "answer-question", **more: Any) -> dict[str, Any]:
        target, workflow = {"session": session}, {"definition": definition}
        answer = await self.command("create_execution", target=target, workflow=workflow, **more)
        execution: dict[str, Any] = answer["execution"]
        return execution

    async def status(self, execution: str) -> str:
        return str((await self.query("get_execution", execution_id=execution))["execution"]["status"])

    async def events(self, execution: str, **args: Any) -> list[dict[str, Any]]:
        args = {"ascending": True, "limit": 1_000, **args}
        answer = await self.query("list_execution_events", execution_id=execution, **args)
        found: list[dict[str, Any]] = answer["execution_events"]
        return found

    async def settle(self) -> None:
        """What upkeep does as soon as it is called."""
        await HubKeeper(self.api.app.store).settle()

    async def clean(self) -> None:
        """What upkeep does now and then."""
        await HubKeeper(self.api.app.store).clean()
        await self.settle()

    # -- as the runner -------------------------------------------------------------------------------------------

    async def engine(self, path: str, body: dict[str, Any]) -> httpx.Response:
        return await self.ask("POST", f"workflows/turns/{path}?graph=hub", RUNTIME, json=body)

    async def held(self, execution: str | None = None) -> dict[str, Any]:
        """The lease of the next run, started: its document is read."""
        task = (await self.engine("claim", {"worker": "flow", "workflows": FLOW})).json()["task"]
        lease = {"workflow_id": task["turn"]["workflow_id"], "turn": task["turn"]["number"]}
        assert execution in (None, task["turn"]["message"]["execution_id"])
        taken(await self.get("hub/executions/run", RUNTIME, id=task["turn"]["message"]["execution_id"]))
        return {**lease, "token": task["token"]}

    async def begun(self, lease: dict[str, Any], key: str = "c.0", position: int = 0, **more: Any) -> httpx.Response:
        step = {"key": key, "position": position, "kind": "step", "timeout_ms": 60_000}
        return await self.engine("operation", {**lease, **step, **more})

    async def saved(self, lease: dict[str, Any], key: str = "c.0", position: int = 0, **more: Any) -> httpx.Response:
        step = {"key": key, "position": position, "kind": "step", "output": 1}
        return await self.engine("checkpoint", {**lease, **step, **more})

    async def completed(self, lease: dict[str, Any], **more: Any) -> httpx.Response:
        return await self.engine("complete", {**lease, "state": None, **more})


def taken(response: httpx.Response) -> dict[str, Any]:
    """The answer of a call that succeeded."""
    answer: dict[str, Any] = response.json()
    assert (response.status_code, answer["status"]) == (200, "success"), answer
    return answer


def refusal(response: httpx.Response) -> tuple[int, str]:
    """HTTP status and code of one that did not."""
    answer = response.json()
    assert answer["status"] == "failure", answer
    assert answer["message"]
    return response.status_code, answer["error"]


@contextlib.asynccontextmanager
async def hub_serving(store: OpenStore) -> AsyncIterator[Hub]:
    async with serving(store) as api:
        # In a thread: the store is bound to this loop, which must not stand still.
        yield Hub(api, *await asyncio.to_thread(write, store.database, _prepare))
    assert read(store.database, doctor.problems) == []  # whatever the test did, it left every row sound


def _prepare(tx: Transaction) -> tuple[str, str, str, str, str]:
    where = graph.use(tx, ENVIRONMENT, graph.HUB)
    acme, other = hub_blob.create_org(tx, where, "acme"), hub_blob.create_org(tx, where, "other")
    bot, draft = hub_blob.create_blob(tx, acme, "support-bot", WORKFLOW_BLOB)
    _, public = hub_blob.create_blob(tx, acme, "faq-bot", WORKFLOW_BLOB, visibility="public")
    for key, grant in {
        WRITER: Grant(ENVIRONMENT, "org", "write", acme.org_id),
        READER: Grant(ENVIRONMENT, "org", "read", acme.org_id),
        OTHERS: Grant(ENVIRONMENT, "org", "write", other.org_id),
        RUNTIME: Grant(ENVIRONMENT, "runtime", "write"),
        ADMIN: Grant(ENVIRONMENT, "user", "admin"),
    }.items():
        keys.add(tx, key, key, grant)
    return where, acme.org_id, bot.blob_id, draft.revision_id, public.revision_id


def new_id() -> str:
    return str(uuid.uuid4())
