"""Fixtures of the end-to-end tests."""

from collections.abc import AsyncIterator

import pytest

from tests.clock import MovableClock
from tests.e2e.api import Api, serving
from tests.e2e.hub_api import Hub, hub_serving
from tests.open_store import OpenStore


@pytest.fixture
def clock(open_store: OpenStore) -> MovableClock:
    return open_store.clock


@pytest.fixture
async def api(open_store: OpenStore) -> AsyncIterator[Api]:
    """The app over an empty store of each kind, on the clock of the test."""
    async with serving(open_store) as served:
        yield served


@pytest.fixture
async def hub(open_store: OpenStore) -> AsyncIterator[Hub]:
    """The same with an organization, a blob and a draft of the second API."""
    async with hub_serving(open_store) as served:
        yield served
