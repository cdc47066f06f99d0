"""SQLite: one writer thread that commits for all who queued (group commit), readers beside it.

Each operation runs in a savepoint; one commit, so one fsync, serves the whole group. When a group as a whole is
lost (a full disk rolls everything back), every member is run again alone or fails: none is answered as saved.

The driver is apsw: it brings its own SQLite, and a statement of a whole row takes half the time that the standard
library's driver takes for it, which describes every column of every result.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import apsw

from turnbuckle.store import migrate
from turnbuckle.store.clock import Clock, ProcessClock
from turnbuckle.store.database import BackupFailed, Job, Lane, StorageFailed, deliver
from turnbuckle.store.dialect import SQLITE
from turnbuckle.store.statements import Statements
from turnbuckle.store.transaction import Announcement, Durability, Transaction
from turnbuckle.wire.errors import Refused

_READERS = 3
_BUSY_MS = 10_000  # how long to wait for another process, such as `turnbuckle keys create`
_GROUP_MAX = 256  # jobs that share a commit
_CLOCK_EVERY_MS = 1_000


DRIVER_ERRORS = (apsw.Error, OSError)


class GroupLost(Exception):
    """The database rolled back the whole group."""


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
        self._queues: dict[Lane, deque[Job]] = {lane: deque() for lane in Lane}
        self._awake = threading.Condition()
        self._closing = False
        self._local = threading.local()
        self._open_readers: list[apsw.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, "store-read")
        self._writer = threading.Thread(target=self._write_for_ever, name="store-write", daemon=True)
        self._writer.start()

    # -- the face ------------------------------------------------------------------------------------------------

    def submit(self, job: Job) -> None:
        with self._awake:
            if self._closing:
                raise Refused("stopping", "the store is closing")
            self._queues[job.lane].append(job)
            self._awake.notify()

    def submit_read(self, job: Job) -> None:
        self._readers.submit(self._read, job)

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
        with self._awake:
            self._closing = True
            self._awake.notify()
        self._writer.join()
        self._readers.shutdown()
        for connection in (*self._open_readers, self._connection):
            connection.close()

    # -- the writer ----------------------------------------------------------------------------------------------

    def _write_for_ever(self) -> None:
        while group := self._next_group():
            try:
                self._commit_group(group)
            except (GroupLost, apsw.Error):
                for job in group:
                    if not job.is_answered:
                        self._commit_alone(job)

    def _next_group(self) -> list[Job]:
        """The turns that wait, else one bulk piece; empty when the store closes."""
        turns, bulk = self._queues[Lane.TURNS], self._queues[Lane.BULK]
        with self._awake:
            while not turns and not bulk:
                if self._closing:
                    return []
                self._awake.wait()
            if not turns:
                return [bulk.popleft()]
            return [turns.popleft() for _ in range(min(len(turns), _GROUP_MAX))]

    def _commit_group(self, group: list[Job]) -> None:
        """Run the jobs in one transaction and answer them after its fsync; heartbeats before it."""
        self._connection.execute("begin immediate")
        try:
            for job in group:
                if self._run_in_savepoint(job) is not Durability.SAVED:
                    deliver([job])
            self._save_clock()
            self._connection.execute("commit")
        except BaseException:
            self._roll_back()
            raise
        self._announce(group)
        deliver([job for job in group if not job.is_answered])

    def _run_in_savepoint(self, job: Job) -> Durability:
        """Run it and keep what it wrote, or undo that when it is refused. GroupLost when the database gave up."""
        connection = self._connection
        transaction = self._transaction(connection)
        connection.execute("savepoint job")
        try:
            job.result = job.operation(transaction)
            job.error, job.announced = None, transaction.announced
        except apsw.Error as exc:
            raise GroupLost from exc
        except BaseException as exc:
            job.error, job.announced = exc, []
            connection.execute("rollback to job")
        connection.execute("release job")
        return transaction.durability

    def _commit_alone(self, job: Job) -> None:
        """After a lost group: this job in a transaction of its own, or its failure."""
        try:
            self._connection.execute("begin immediate")
            self._run_in_savepoint(job)
            self._connection.execute("commit")
        except (GroupLost, apsw.Error) as exc:
            self._roll_back()
            cause = exc.__cause__ if isinstance(exc, GroupLost) else exc
            job.error, job.announced = StorageFailed(cause or exc), []
        self._announce([job])
        deliver([job])

    def _roll_back(self) -> None:
        if not self._connection.getautocommit():
            self._connection.execute("rollback")

    def _save_clock(self) -> None:
        now_ms = self.clock()
        if now_ms - self._saved_clock_ms >= _CLOCK_EVERY_MS:
            # Another process may have been further: a backup or a new key beside the server.
            self._connection.execute("update clock set now_ms = max(now_ms, ?)", (now_ms,))
            self._saved_clock_ms = now_ms

    def _announce(self, jobs: list[Job]) -> None:
        announced = [topic for job in jobs for topic in job.announced]
        if announced:
            self.listener(announced)

    # -- the readers ---------------------------------------------------------------------------------------------

    def _read(self, job: Job) -> None:
        connection = self._reader()
        try:
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
        connection.execute("pragma foreign_keys = on")
        return connection

    def _transaction(self, connection: apsw.Connection) -> Transaction:
        return Transaction(connection, self._statements, self.clock, lambda cursor: connection.changes())

    def _in_transaction(self, work: migrate.Work) -> None:
        self._connection.execute("begin immediate")
        try:
            work()
        except BaseException:
            self._roll_back()
            raise
        self._connection.execute("commit")


def _nobody(announced: list[Announcement]) -> None:
    """Nobody listens yet."""
