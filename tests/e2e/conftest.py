"""Fixtures of the end-to-end tests."""

from collections.abc import AsyncIterator

import pytest

from tests.clock import MovableClock
from tests.e2e.api import Api, serving


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def api(store_url: str, clock: MovableClock) -> AsyncIterator[Api]:
    """The app over an empty store of each kind, on the clock of the test."""
    async with serving(store_url, clock) as served:
        yield served
