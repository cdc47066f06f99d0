"""PostgreSQL: a pool of plain connections, one operation per transaction, the database's clock.

Read committed is enough: every operation locks its instance row first, so writers to one instance go one by one.
"""

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any, Literal

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from turnbuckle.store import migrate
from turnbuckle.store.clock import Clock
from turnbuckle.store.database import BackupFailed, Job, StorageFailed, deliver, start, tell
from turnbuckle.store.dialect import POSTGRES
from turnbuckle.store.statements import Statements
from turnbuckle.store.transaction import Announcement, Durability, Transaction

DRIVER_ERRORS = (psycopg.Error, PoolTimeout)
_CONNECTIONS = 16
_TRIES = 4  # of an operation that met a deadlock: PostgreSQL picked it to give way
_LOCK_WAIT = "10s"
_MIGRATION_LOCK = 7_400_001  # any number nobody else uses in this database
_NOW = "select (extract(epoch from clock_timestamp()) * 1000)::bigint"


class PostgresDatabase:
    kind: Literal["sqlite", "postgresql"] = "postgresql"

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self._url = url
        self._given_clock = clock
        self._last_ms = 0
        self._last_lock = threading.Lock()
        self.listener: Callable[[list[Announcement]], None] = lambda announced: None
        with psycopg.connect(url, autocommit=True) as connection:
            migrate.migrate(connection, POSTGRES, lambda work: _migration(connection, work))
        self._statements = Statements(POSTGRES)
        self._pool = ConnectionPool(
            url, min_size=2, max_size=_CONNECTIONS, kwargs={"autocommit": True}, timeout=10, open=True
        )
        self._pool.wait()
        self._threads = ThreadPoolExecutor(_CONNECTIONS, "store")
        self.clock: Clock = clock or self._clock_of_its_own

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Operations wait for the network, so they stay in the threads of the pool."""

    def submit(self, job: Job) -> None:
        start(self._threads, self._run, job, f"begin; set local lock_timeout = '{_LOCK_WAIT}'")

    def submit_read(self, job: Job) -> None:
        start(self._threads, self._run, job, "begin isolation level repeatable read read only")

    def submit_glance(self, job: Job) -> None:
        self.submit_read(job)

    def backup(self, target: str) -> None:
        named = conninfo_to_dict(self._url)
        secret = {"PGPASSWORD": str(named.pop("password"))} if "password" in named else {}  # argv is for all to see
        source = make_conninfo("", **named)
        command = ["pg_dump", "--format=custom", f"--file={target}", f"--dbname={source}"]
        try:
            subprocess.run(command, check=True, env=os.environ | secret)
        except (OSError, subprocess.CalledProcessError) as exc:
            raise BackupFailed(f"pg_dump made no copy: {exc}") from exc

    def check(self) -> list[str]:
        with self._pool.connection() as connection:
            connection.execute("select 1")
        return []

    def close(self) -> None:
        self._threads.shutdown()
        self._pool.close()

    def _run(self, job: Job, begin: str) -> None:
        try:
            for last_try in (False,) * (_TRIES - 1) + (True,):
                try:
                    self._run_once(job, begin)
                    break
                except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
                    if last_try:
                        raise
        except DRIVER_ERRORS as exc:
            job.error, job.announced = StorageFailed(exc), []
        except BaseException as exc:
            job.error, job.announced = exc, []
        tell(self.listener, job.announced)
        deliver([job])

    def _run_once(self, job: Job, begin: str) -> None:
        with self._pool.connection() as connection:
            connection.execute(begin)
            try:
                transaction = Transaction(
                    connection, self._statements, lambda: self._now_ms(connection), attrgetter("rowcount")
                )
                job.result = job.operation(transaction)
                if transaction.durability is Durability.HEARTBEAT:
                    connection.execute("set local synchronous_commit = off")
                connection.execute("commit")
                job.announced = transaction.announced
            except BaseException:
                with contextlib.suppress(psycopg.OperationalError):  # the connection may be what failed
                    connection.execute("rollback")
                raise

    def _now_ms(self, connection: Any) -> int:
        """The database's time, never less than this process has seen before."""
        if self._given_clock is not None:
            return self._given_clock()
        (now_ms,) = connection.execute(_NOW).fetchone()
        with self._last_lock:
            self._last_ms = max(self._last_ms, now_ms)
            return self._last_ms

    def _clock_of_its_own(self) -> int:
        with self._pool.connection() as connection:
            return self._now_ms(connection)


def _migration(connection: Any, work: migrate.Work) -> None:
    """Two servers that start together take turns."""
    with connection.transaction():
        connection.execute(f"select pg_advisory_xact_lock({_MIGRATION_LOCK})")
        work()
