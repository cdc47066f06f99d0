"""SQLite: one writer (sqlite_writer.py), readers beside it, and the clock that is saved with the rows.

The driver is apsw: it brings its own SQLite, and a statement of a whole row takes half the time that the standard
library's driver takes for it, which describes every column of every result.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

import apsw

from turnbuckle.store import migrate
from turnbuckle.store.clock import Clock, ProcessClock
from turnbuckle.store.database import BackupFailed, Job, StorageFailed, deliver, start, tell
from turnbuckle.store.dialect import SQLITE
from turnbuckle.store.sqlite_writer import Writer
from turnbuckle.store.statements import Statements
from turnbuckle.store.transaction import Announcement, Transaction

_READERS = 3
_BUSY_MS = 10_000  # how long to wait for another process, such as `turnbuckle keys create`
_CLOCK_EVERY_MS = 1_000


DRIVER_ERRORS = (apsw.Error, OSError)


class SqliteDatabase:
    kind: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, path: str, clock: Clock | None = None, *, is_durable: bool = True) -> None:
        """`is_durable` False leaves out the fsyncs, for a store that is thrown away with the test that made it: it
        still survives the death of its process, not that of the machine.
        """
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._synchronous = "full" if is_durable else "off"
        self._statements = Statements(SQLITE)
        self._connection = self._connect()
        migrate.migrate(self._connection, SQLITE, self._in_transaction)
        self._saved_clock_ms: int = self._connection.execute("select now_ms from clock").get
        self.clock: Clock = clock or ProcessClock(self._saved_clock_ms)
        self.listener: Callable[[list[Announcement]], None] = _nobody
        self._local = threading.local()
        self._open_readers: list[apsw.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, "store-read")
        new_transaction = partial(self._transaction, self._connection)
        self._writer = Writer(self._connection, new_transaction, self._save_clock, self._announce)

    # -- the face ------------------------------------------------------------------------------------------------

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._writer.attach(loop)

    def submit(self, job: Job) -> None:
        self._writer.submit(job)

    def submit_read(self, job: Job) -> None:
        start(self._readers, self._read, job)

    def submit_glance(self, job: Job) -> None:
        self._read(job)

    def backup(self, target: str) -> None:
        try:
            with (
                contextlib.closing(self._connect()) as source,
                contextlib.closing(apsw.Connection(target)) as copy,
                copy.backup("main", source, "main") as backup,
            ):
                backup.step()
        except apsw.Error as exc:
            raise BackupFailed(f"cannot copy the store to {target}: {exc}") from exc

    def check(self) -> list[str]:
        connection = self._connect()
        with contextlib.closing(connection):
            found = [str(text) for (text,) in connection.execute("pragma integrity_check")]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        self._writer.close()
        self._readers.shutdown()
        with contextlib.suppress(apsw.Error):  # such as a full disk: the next start goes on from a little earlier
            self._write_clock(self.clock())
        for connection in (*self._open_readers, self._connection):
            connection.close()

    # -- for the writer ------------------------------------------------------------------------------------------

    def _save_clock(self) -> None:
        now_ms = self.clock()
        if now_ms - self._saved_clock_ms >= _CLOCK_EVERY_MS:
            self._write_clock(now_ms)

    def _write_clock(self, now_ms: int) -> None:
        # Another process may have been further: a backup or a new key beside the server.
        self._connection.execute("update clock set now_ms = max(now_ms, ?)", (now_ms,))
        self._saved_clock_ms = now_ms

    def _announce(self, announced: list[Announcement]) -> None:
        tell(self.listener, announced)

    # -- the readers ---------------------------------------------------------------------------------------------

    def _read(self, job: Job) -> None:
        try:
            connection = self._reader()
            connection.execute("begin")
            try:
                job.result = job.operation(self._transaction(connection))
            finally:
                connection.execute("rollback")
        except apsw.Error as exc:
            job.error = StorageFailed(exc)
        except BaseException as exc:
            job.error = exc
        deliver([job])

    def _reader(self) -> apsw.Connection:
        """This thread's own connection."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            connection.execute("pragma query_only = on")
            self._local.connection = connection
            self._open_readers.append(connection)
        return connection

    # -- connections ---------------------------------------------------------------------------------------------

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(self._path, statementcachesize=512)
        connection.setbusytimeout(_BUSY_MS)
        # A plan that never depends on bound values: otherwise this build prepares a join anew for each of them.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute(f"pragma synchronous = {self._synchronous}")  # first: going over to WAL syncs as well
        connection.execute("pragma journal_mode = wal")
        # The hot pages are written again and again: copied into the file less often, the log grows to some 32 MB.
        connection.execute("pragma wal_autocheckpoint = 8000")
        connection.execute("pragma foreign_keys = on")
        return connection

    def _transaction(self, connection: apsw.Connection) -> Transaction:
        return Transaction(connection, self._statements, self.clock, lambda cursor: connection.changes())

    def _in_transaction(self, work: migrate.Work) -> None:
        self._connection.execute("begin immediate")
        try:
            work()
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")


def _nobody(announced: list[Announcement]) -> None:
    """Nobody listens yet."""
