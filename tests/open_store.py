"""A store that is open, on a clock that the test moves."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg

from tests.clock import START_MS, MovableClock
from tests.tables import columns
from turnbuckle.store.database import Database, open_database


@dataclass(frozen=True)
class OpenStore:
    database: Database
    location: str
    clock: MovableClock

    def empty(self) -> None:
        """Back to how it was when it was made. PostgreSQL only."""
        with psycopg.connect(self.location) as connection:
            connection.execute(f"truncate {', '.join(name for name in columns() if name != 'clock')}")
        self.clock.now_ms = START_MS
        self.database.listener = lambda announced: None


@contextlib.contextmanager
def opened(location: str) -> Iterator[OpenStore]:
    clock = MovableClock()
    with contextlib.closing(open_database(location, clock)) as database:
        yield OpenStore(database, location, clock)
