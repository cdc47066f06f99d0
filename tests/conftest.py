"""Fixtures of all rooms. A store is a `str`: a file path for SQLite, a `postgresql://` URL for PostgreSQL."""

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.open_store import OpenStore, opened
from tests.postgres import PostgresServer, running_postgres


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked `long` (make test-all)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; runs with --long only")
    config.addinivalue_line("markers", "slow: kills processes or waits for limits for seconds; make test-slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Python 3.11 loses count when garbage that prints a traceback is collected inside ast.parse, where plugins end."""
    gc.collect()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server per test process, started by the first test that needs it."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty store on PostgreSQL, of this test alone."""
    url = postgres_server.create_store()
    yield url
    postgres_server.drop_store(url)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of this test alone; the test runs once on each database."""
    if request.param == "sqlite":
        return str(tmp_path / "turnbuckle.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: PostgresServer) -> Iterator[OpenStore]:
    """Opened once: emptying it takes a tenth of the time of making and opening another."""
    with opened(postgres_server.create_store()) as store:
        yield store


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """An open store with nothing in it and a clock of its own; the test runs once on each database."""
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            yield stack.enter_context(opened(str(tmp_path / "turnbuckle.db")))
        else:
            shared: OpenStore = request.getfixturevalue("shared_postgres")
            shared.empty()
            yield shared
