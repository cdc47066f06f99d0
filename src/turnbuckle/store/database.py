"""The seam that `operations` and `http` see: run a plain function in one transaction, on either database.

`write` and `read` take a function of a Transaction and answer through a Sink, on any thread. Several finished jobs
may reach a sink at once: an event loop is woken once for a whole group of commits.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from turnbuckle.store.clock import Clock
from turnbuckle.store.transaction import Announcement, Transaction
from turnbuckle.wire.errors import Refused

log = logging.getLogger("turnbuckle.store")
T = TypeVar("T")
Operation = Callable[[Transaction], Any]


class Lane(enum.Enum):
    """Who goes first at SQLite's one writer (decision 17)."""

    TURNS = "turns"
    BULK = "bulk"  # purges, imports, large blobs: pieces of at most 1,000 rows


@dataclass(slots=True)
class Job:
    operation: Operation
    sink: "Sink"
    handle: Any  # what the sink knows the job by
    lane: Lane = Lane.TURNS
    result: Any = None
    error: BaseException | None = None
    announced: list[Announcement] = field(default_factory=list)
    is_answered: bool = False


class Sink(Protocol):
    """Where finished jobs go."""

    def __call__(self, jobs: list[Job]) -> None: ...


def settle_futures(jobs: Iterable[Job]) -> None:
    """The sink for callers that wait in a thread: each job's handle is a concurrent Future."""
    for job in jobs:
        future: Future[Any] = job.handle
        if not future.set_running_or_notify_cancel():  # nobody waits any more; what it wrote stays written
            continue
        if job.error is None:
            future.set_result(job.result)
        else:
            future.set_exception(job.error)


class CannotOpen(Exception):
    """The store is not there or no store; the message is what the driver says."""


class BackupFailed(Exception):
    """No copy was made, or only a part of one."""


class StorageFailed(Refused):
    """The database did not take the write: disk full, connection lost. Nothing of it is saved."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__("storage_degraded", f"the store did not take the write ({type(cause).__name__}: {cause})")


class Database(Protocol):
    kind: Literal["sqlite", "postgresql"]
    clock: Clock
    listener: Callable[[list[Announcement]], None]  # called after each commit with what it announced

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The server's loop, called on it before its first job: where operations run when that saves a thread hop."""

    def submit(self, job: Job) -> None:
        """Run the job's operation in a transaction of its own and hand it to its sink when it is durable."""

    def submit_read(self, job: Job) -> None:
        """The same on a snapshot, beside the writers."""

    def submit_glance(self, job: Job) -> None:
        """The same for a few rows found by key: in the caller's thread, where that takes less than a hop to another."""

    def backup(self, target: str) -> None:
        """A consistent copy of the store in the file `target`, while others write. Raises BackupFailed."""

    def check(self) -> list[str]:
        """Problems that the database itself finds in its files, a sentence each."""

    def close(self) -> None:
        """Finish what is queued and let go of the files."""


def write(database: Database, operation: Callable[[Transaction], T], lane: Lane = Lane.TURNS) -> T:
    """Run one operation and wait for it: for the command line, upkeep and tests."""
    future: Future[T] = Future()
    database.submit(Job(operation, settle_futures, future, lane))
    return future.result()


def read(database: Database, operation: Callable[[Transaction], T]) -> T:
    future: Future[T] = Future()
    database.submit_read(Job(operation, settle_futures, future))
    return future.result()


def open_database(location: str, clock: Clock | None = None) -> Database:
    """The database at a file's path (SQLite) or a postgresql:// URL, with the newest schema.

    `clock` replaces the store's own, for tests. Raises NewerSchema or CannotOpen.
    """
    if location.startswith(("postgresql://", "postgres://")):
        from turnbuckle.store import postgres  # an optional extra

        try:
            return postgres.PostgresDatabase(location, clock)
        except postgres.DRIVER_ERRORS as exc:
            raise CannotOpen(f"cannot open the PostgreSQL store: {exc}") from exc
    from turnbuckle.store import sqlite

    try:
        return sqlite.SqliteDatabase(location, clock)
    except sqlite.DRIVER_ERRORS as exc:
        raise CannotOpen(f"cannot open the store {location}: {exc}") from exc


def tell(listener: Callable[[list[Announcement]], None], announced: list[Announcement]) -> None:
    """Announce what was committed. A listener that fails costs its waiters a look, not the store its writer."""
    if not announced:
        return
    try:
        listener(announced)
    except Exception:
        log.exception("%d announcements were not told", len(announced))


def start(threads: ThreadPoolExecutor, work: Callable[..., None], *args: object) -> None:
    """Refused(stopping) when the threads take no more work."""
    try:
        threads.submit(work, *args)
    except RuntimeError:
        raise Refused("stopping", "the store is closing") from None


def deliver(jobs: list[Job]) -> None:
    """Hand finished jobs to their sinks, one call per sink. A sink whose loop is gone has nobody to tell.

    Any other failure of a sink costs its own jobs their answer, not the store its writer.
    """
    by_sink: dict[int, list[Job]] = {}
    for job in jobs:
        job.is_answered = True
        by_sink.setdefault(id(job.sink), []).append(job)
    for group in by_sink.values():
        try:
            with contextlib.suppress(RuntimeError):
                group[0].sink(group)
        except Exception:
            log.exception("%d finished jobs were not answered", len(group))
