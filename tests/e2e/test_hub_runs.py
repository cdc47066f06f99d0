"""Executions over HTTP, with the runner's part played by hand (blobhub 3.3, 3.4, 3.6; decisions 35 to 38 and 52)."""

from collections.abc import AsyncIterator

import pytest

from tests.clock import MovableClock
from tests.e2e.hub_api import Hub, hub_serving, refusal, taken
from tests.open_store import OpenStore
from turnbuckle import upkeep


@pytest.fixture
async def hub(open_store: OpenStore) -> AsyncIterator[Hub]:
    async with hub_serving(open_store) as served:
        yield served


async def test_a_run_goes_from_creating_to_completed(hub: Hub) -> None:
    await hub.definition()
    session = await hub.session()

    run = await hub.execute(session)
    assert (run["status"], run["session_id"]) == ("creating", session)
    lease = await hub.held(run["id"])
    assert await hub.status(run["id"]) == "running"
    events = [{"type": "flow.exited", "message": "done", "key": "end"}]
    assert (await hub.completed(lease, events=events)).status_code == 200

    assert await hub.status(run["id"]) == "completed"
    assert [event["type"] for event in await hub.events(run["id"])] == ["flow.exited"]
