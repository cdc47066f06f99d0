"""The store behind a test."""

import asyncio

from turnbuckle.store.clock import Clock
from turnbuckle.store.database import Database, open_database
from turnbuckle.store.sqlite import SqliteDatabase


class OffLoopSqlite(SqliteDatabase):
    """SQLite whose operations stay off the event loop.

    A test moves the clock on the loop and waits there for what that settles, which then must not need the loop.
    """

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The writer's thread goes on running the operations, as it does for the command line."""


def open_store(location: str, clock: Clock, *, is_kept: bool) -> Database:
    """At a file's path or a postgresql:// URL. One that is not kept leaves out the fsyncs."""
    if location.startswith(("postgresql://", "postgres://")):
        return open_database(location, clock)
    return OffLoopSqlite(location, clock, is_durable=is_kept)
