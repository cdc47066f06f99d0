"""Stores for the model tests, on a file system in memory where there is one: they write a lot and end with the test."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.model.world", "tests.model.machine", "tests.model.reference")
MEMORY = Path("/dev/shm")


@pytest.fixture(params=["sqlite", "postgres"])
def model_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store; the test runs once on each database."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_url")
        return
    in_memory = MEMORY if os.access(MEMORY, os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(prefix="turnbuckle-model-", dir=in_memory) as folder:
        yield str(Path(folder, "turnbuckle.db"))
