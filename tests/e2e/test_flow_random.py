"""Random documents through the real runner, server and store: as the simplest interpreter would (blobhub 5.5).

Everything is real but what components do, which follows from their keys and inputs; and time, which the test moves.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowStepContext, WorkflowWorker
from tests.e2e.api import serving
from tests.open_store import OpenStore, opened
from tests.unit.hub_documents import Json, documents, text
from tests.unit.hub_reference import Reference, RunEnded, State
from tests.unit.test_hub_walk import behave
from turnbuckle.flow import registry
from turnbuckle.flow.context import ComponentContext
from turnbuckle.flow.hub_calls import HubCalls
from turnbuckle.flow.runner import FlowSettings, Runtime, flow_workflow
from turnbuckle.hub.catalogue import CATALOGUE
from turnbuckle.hub.position import Outcome
from turnbuckle.hub_keeper import HubKeeper
from turnbuckle.operations import graph, hub_blob
from turnbuckle.operations import key as keys
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import WORKFLOW_BLOB

pytestmark = pytest.mark.slow

_ENDED = ("completed", "failed", "stopped")
_ROUNDS = 500


class Branching(Reference):
    """Tells whether a parallel branch ended the run: then what the others still did depends on their speed."""

    is_ended_by_branch = False

    def fork(self, target: str, scope: tuple[str, ...], state: State, targets: list[str], since: int) -> None:
        try:
            super().fork(target, scope, state, targets, since)
        except RunEnded:
            self.is_ended_by_branch = True
            raise


class Flow:
    """The app, one blob in it, and a flow worker whose components are the reference's."""

    def __init__(self, store: OpenStore, app: Any, key: str, revision_id: str) -> None:
        self._store, self._revision_id = store, revision_id
        self._keeper = HubKeeper(app.store)
        transport = cast(Any, httpx.ASGITransport(app))
        self._client = AsyncLbbClient("http://app", api_key=key, graph="hub", transport=transport, max_retries=0)
        self._asking = AsyncLbbClient("http://app", api_key=key, transport=transport, max_retries=0)
        self._numbers = iter(range(1_000_000))
        self.crash_at: int | None = None
        self._ran = 0

    async def _call(self, channel: str, command: str, **arguments: Any) -> Json:
        body = {"command": command, **arguments}
        path = f"/v1/revisions/{self._revision_id}/data/{channel}"
        found: Json = (await self._asking.raw_request("POST", path, body=body)).data
        return found

    async def play(self, made: Json, max_entries: int, crash_at: int | None) -> tuple[Json, list[tuple[str, Json]]]:
        """The execution at its end, and the components that it entered with what they got."""
        self._ran, self.crash_at = 0, crash_at
        alias = f"random-{next(self._numbers)}"
        definition = await self._call("command", "create_definition", alias=alias, category="workflow")
        id = definition["definition"]["id"]
        await self._call("command", "upload_definition", definition_id=id, definition=made)
        session = (await self._call("command", "create_session"))["session"]["id"]
        target, workflow = {"session": session}, {"definition": alias}
        execution = (await self._call("command", "create_execution", target=target, workflow=workflow))["execution"]
        await self._work(execution["id"], max_entries)
        data = (await self._call("query", "get_execution_data", execution_id=execution["id"]))["data"]
        trace = [(one["component_key"], one["value"]["inputs"]) for one in data if one["component_key"] != "end"]
        ended = (await self._call("query", "get_execution", execution_id=execution["id"]))["execution"]
        await self._call("command", "delete_definition", definition_id=id)
        return ended, trace

    async def _work(self, id: str, max_entries: int) -> None:
        runtime = Runtime(
            self._client, HubCalls(self._asking), cast(Any, None), FlowSettings(component_entries=max_entries)
        )
        worker = WorkflowWorker(self._client, [flow_workflow(runtime)], worker="test")
        for _ in range(_ROUNDS):
            while await worker.run_once():
                pass
            await self._keeper.settle()
            found = await self._call("query", "get_execution", execution_id=id)
            if found["execution"]["status"] in _ENDED:
                return
            self._store.clock.now_ms += 2_000  # after a crash the turn comes back a moment later
        raise AssertionError(f"the run does not end: {found}")

    async def run(self, c: ComponentContext) -> Outcome:
        """What any component does here; code does it in a step, which may crash once."""

        async def act(s: WorkflowStepContext) -> Any:
            self._ran += 1
            if self._ran == self.crash_at:
                raise httpx.ConnectError("the worker crashes here")
            return behave(c.key, c.component.type, c.round, dict(c.inputs))

        if c.component.type == "logic.code":
            route, outputs, terminal = await c.step("", act)
        else:
            route, outputs, terminal = behave(c.key, c.component.type, c.round, dict(c.inputs))
        return Outcome(route, outputs, terminal)

    async def close(self) -> None:
        await self._client.aclose()
        await self._asking.aclose()


@asynccontextmanager
async def flowing(store: OpenStore) -> AsyncIterator[Flow]:
    def prepared(tx: Transaction) -> tuple[str, str]:
        org = hub_blob.create_org(tx, graph.use(tx, "test", "hub"), "acme")
        revision = hub_blob.create_blob(tx, org, "support-bot", WORKFLOW_BLOB)[1]
        hub_blob.set_limits(
            tx, hub_blob.blobs.get(tx, org.graph_id, revision.blob_id), {"workflow.sessions_per_revision": 100_000}
        )
        return keys.create(tx, "worker", "test", "runtime", "write"), revision.revision_id

    async with serving(store) as api:
        key, revision_id = await api.app.store.write(prepared)
        flow = Flow(store, api.app, key, revision_id)
        try:
            yield flow
        finally:
            await flow.close()


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def flow(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    folder: Path = tmp_path_factory.mktemp("random")
    with opened(str(folder / "turnbuckle.db")) as store:
        context = flowing(store)
        made = runner.run(context.__aenter__())
        yield made
        runner.run(context.__aexit__(None, None, None))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=documents(), max_entries=st.sampled_from([2, 9, 80, 80]), crash_at=st.none() | st.integers(1, 12))
def test_a_run_goes_where_the_simplest_interpreter_goes(
    flow: Flow, runner: asyncio.Runner, made: Json, max_entries: int, crash_at: int | None
) -> None:
    """Also when its worker crashes in the middle of a component."""
    starting = {c["id"]: text(f"v{c['id'][1:]}") for c in made["components"] if c["type"] == "data.text"}
    reference = Branching(made, starting, behave, max_entries, set(CATALOGUE))
    expected = reference.run()

    with pytest.MonkeyPatch.context() as patch:
        for type in registry.RUNS:
            patch.setitem(registry.RUNS, type, flow.run)
        ended, trace = runner.run(flow.play(made, max_entries, crash_at))

    if reference.is_ended_by_branch:
        assert ended["status"] in ("completed", "failed")
        return
    error = ended["error"] or {"code": None, "component_id": None}
    known = (ended["status"], error["code"], error.get("component_id"))
    assert known == (expected if expected[0] == "failed" else ("completed", None, None))
    assert sorted(trace, key=repr) == sorted(reference.trace, key=repr)
