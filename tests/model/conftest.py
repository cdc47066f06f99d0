"""Stores for the model tests, on a file system in memory where there is one: they write a lot and end with the test."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.model.world", "tests.model.machine", "tests.model.reference")
MEMORY = Path("/dev/shm")


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether to take minutes and a random seed: `pytest --long`, or TURNBUCKLE_MODEL=long."""
    return bool(request.config.getoption("--long")) or os.environ.get("TURNBUCKLE_MODEL") == "long"


@pytest.fixture
def model_seed(is_long: bool) -> int:
    """The seed of this run: that of TURNBUCKLE_MODEL_SEED, else always 1, else in a long run a new one."""
    return int(os.environ.get("TURNBUCKLE_MODEL_SEED") or (secrets.randbits(32) if is_long else 1))


@pytest.fixture(params=["sqlite", "postgres"])
def model_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store; the test runs once on each database."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_url")
        return
    in_memory = MEMORY if os.access(MEMORY, os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(prefix="turnbuckle-model-", dir=in_memory) as folder:
        yield str(Path(folder, "turnbuckle.db"))
