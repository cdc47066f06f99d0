"""A server for requests that a generator makes up."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.live_server import live_server
from turnbuckle.store.database import open_database
from turnbuckle.wire import limits


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server with an empty SQLite store listens. Its long polls end at once."""
    path = tmp_path_factory.mktemp("contract") / "turnbuckle.db"
    with pytest.MonkeyPatch.context() as patch, contextlib.closing(open_database(str(path))) as database:
        patch.setattr(limits, "POLL_MS", 5)
        with live_server(database) as url:
            yield url
