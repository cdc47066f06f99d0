"""Fixtures of the store tests: an open store of each kind, whose every row is looked at when the test is over."""

from collections.abc import Iterator

import pytest

from tests.clock import MovableClock
from tests.open_store import OpenStore
from tests.store.calls import Store
from turnbuckle.operations import doctor, graph
from turnbuckle.store.database import read, write


@pytest.fixture
def store(open_store: OpenStore) -> Iterator[Store]:
    """An empty graph in an open store. Whatever the test did, it must have left every row sound."""
    database = open_store.database
    graph_id = write(database, lambda tx: graph.use(tx, "test", "main"))
    yield Store(database, open_store.location, graph_id, open_store.clock)
    assert read(database, doctor.problems) == []


@pytest.fixture
def clock(open_store: OpenStore) -> MovableClock:
    return open_store.clock
