"""The one writer of a SQLite store: operations that queue together share a transaction, a commit and its fsync.

The connection is in one pair of hands at a time. Without an event loop the writer's thread runs the operations and
commits. A server attaches its loop: then operations run on the loop, between its callbacks, and the thread is left with
what takes long without Python's lock: the commits of a slow disk, and bulk pieces. Otherwise the lock goes to and fro
between the two threads for each statement, which cost a third of the turns per second.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial

import apsw

from turnbuckle.store.database import Job, Lane, StorageFailed, deliver
from turnbuckle.store.transaction import Announcement, Durability, Transaction
from turnbuckle.wire.errors import Refused

_GROUP_MAX = 256  # jobs that share a commit
_BUSY_TRIES, _BUSY_SLEEP_S = 2_000, 0.005  # how long to wait for another process, such as `turnbuckle keys create`
# A commit that takes less is not worth the hop to the thread and back; on a disk that takes longer the loop goes on.
_SHORT_COMMIT_S = 0.0005
_COMMITS_REMEMBERED = 10
Group = list[Job]


class GroupLost(Exception):
    """The database gave up on the whole group: it is rolled back and nothing of it is answered as saved."""


class Writer:
    """`new_transaction` makes what an operation gets, `before_commit` may add to a group, `announce` tells waiters."""

    def __init__(
        self,
        connection: apsw.Connection,
        new_transaction: Callable[[], Transaction],
        before_commit: Callable[[], None],
        announce: Callable[[list[Announcement]], None],
    ) -> None:
        self._connection = connection
        self._new_transaction = new_transaction
        self._before_commit = before_commit
        self._announce = announce
        self._lock = threading.Lock()  # guards the three below
        self._queues: dict[Lane, deque[Job]] = {lane: deque() for lane in Lane}
        self._is_busy = False  # the connection is in somebody's hands, who looks at the queues when done
        self._is_closed = False
        self._typical_commit_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        connection.setbusyhandler(self._wait_for_other_process)
        self._thread = threading.Thread(target=self._serve, name="store-write", daemon=True)
        self._thread.start()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on operations run on this loop; call it there. Until `close`."""
        self._loop, self._loop_thread = loop, threading.get_ident()

    def submit(self, job: Job) -> None:
        with self._lock:
            if self._is_closed:
                raise Refused("stopping", "the store is closing")
            self._queues[job.lane].append(job)
            if self._is_busy:
                return
            self._is_busy = True
        self._go_on()

    def close(self) -> None:
        """Finish what is queued. The loop that was attached runs no more."""
        self._loop = None
        with self._lock:
            self._is_closed = True
        self._tasks.put(self._write_next)
        self._tasks.put(None)
        self._thread.join()

    # -- whose turn it is ------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Let the next group be run: on the loop, when one is attached and open."""
        if not self._call_on_loop(self._run_next_on_loop):
            self._tasks.put(self._write_next)

    def _call_on_loop(self, call: Callable[[], None]) -> bool:
        """False without a loop, or when it was closed: then its server is gone, and the thread does it all again."""
        loop = self._loop
        if loop is None:
            return False
        try:
            if threading.get_ident() == self._loop_thread:
                loop.call_soon(call)
            else:
                loop.call_soon_threadsafe(call)
        except RuntimeError:
            self._loop = None
            return False
        return True

    def _next_group(self) -> Group:
        """The turns that wait, else one bulk piece; empty, and the connection free, when nothing waits."""
        with self._lock:
            turns, bulk = self._queues[Lane.TURNS], self._queues[Lane.BULK]
            if turns:
                return [turns.popleft() for _ in range(min(len(turns), _GROUP_MAX))]
            if bulk:
                return [bulk.popleft()]
            self._is_busy = False
            return []

    # -- on the loop -----------------------------------------------------------------------------------------------

    def _run_next_on_loop(self) -> None:
        group = self._next_group()
        if not group:
            return
        if group[0].lane is Lane.BULK:
            self._tasks.put(partial(self._write, group))
            return
        try:
            self._run(group)
        except Exception:  # another process writes, the disk or the memory is full: the thread can wait
            self._roll_back()
            self._tasks.put(partial(self._write, group))
        else:
            if self._typical_commit_s < _SHORT_COMMIT_S:
                self._commit(group)
            else:
                self._tasks.put(partial(self._commit, group))

    # -- in the thread ---------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def _write_next(self) -> None:
        while group := self._next_group():
            self._write(group)

    def _write(self, group: Group) -> None:
        """The whole of it: run, commit, answer."""
        try:
            self._run(group)
        except apsw.BusyError as exc:  # each alone would wait as long again
            self._fail(group, exc)
            self._hand_back([])
        except Exception:  # whatever it was, the jobs must be answered and the connection come back
            self._roll_back()
            self._write_one_by_one(group)
            self._hand_back([])
        else:
            self._commit(group)

    def _commit(self, group: Group) -> None:
        """Make a group that has run durable, answer it, and look for the next."""
        try:
            self._before_commit()
            began = time.perf_counter()
            self._connection.execute("commit")
            self._typical_commit_s += (time.perf_counter() - began - self._typical_commit_s) / _COMMITS_REMEMBERED
        except Exception:
            self._roll_back()
            self._write_one_by_one(group)
            self._hand_back([])
        else:
            self._hand_back(group)

    def _hand_back(self, group: Group) -> None:
        """Answer the group, and let the next one be run where groups are run now."""
        if threading.get_ident() == self._loop_thread:
            self._answer_on_loop(group)
            return
        had_loop = self._loop is not None
        if self._call_on_loop(partial(self._answer_on_loop, group)):
            return
        self._answer(group)
        if had_loop:
            self._tasks.put(self._write_next)

    def _answer_on_loop(self, group: Group) -> None:
        """The next group is run after what the answers wake: they are on their way while it runs."""
        self._answer(group)
        self._go_on()

    def _write_one_by_one(self, group: Group) -> None:
        """After a lost group: each job that is not answered yet in a transaction of its own, or its failure."""
        for job in group:
            if job.is_answered:
                continue
            try:
                self._run([job])
                self._connection.execute("commit")
            except Exception as exc:
                self._roll_back()
                self._fail([job], exc)
            else:
                self._answer([job])

    def _fail(self, group: Group, exc: BaseException) -> None:
        for job in group:
            job.error, job.announced = StorageFailed(exc.__cause__ or exc), []
        self._answer(group)

    # -- with the connection in hand -------------------------------------------------------------------------------

    def _run(self, group: Group) -> None:
        """Run the jobs in one open transaction. Those that need not wait for the disk are answered.

        They do wait when what they say rests on another job of the group: the repeat of a report with a new cursor
        changes nothing itself, but its answer says that the cursor is saved.
        """
        self._connection.execute("begin immediate")
        unsaved: set[tuple[str, str]] = set()
        for job in group:
            transaction = self._run_in_savepoint(job)
            if transaction.durability is Durability.SAVED:
                unsaved |= transaction.locked
            elif transaction.locked.isdisjoint(unsaved) and not job.is_answered:
                deliver([job])

    def _run_in_savepoint(self, job: Job) -> Transaction:
        """Keep what the job wrote, or undo that when it is refused. GroupLost when the database gave up."""
        transaction = self._new_transaction()
        self._connection.execute("savepoint job")
        try:
            job.result = job.operation(transaction)
            job.error, job.announced = None, transaction.announced
        except apsw.Error as exc:
            raise GroupLost from exc
        except BaseException as exc:
            job.error, job.announced = exc, []
            self._connection.execute("rollback to job")
        self._connection.execute("release job")
        return transaction

    def _answer(self, group: Group) -> None:
        announced = [announcement for job in group for announcement in job.announced]
        if announced:
            self._announce(announced)
        deliver([job for job in group if not job.is_answered])

    def _roll_back(self) -> None:
        """A rollback that fails as well is not told: the next `begin` is refused, and those jobs fail with that."""
        if not self._connection.getautocommit():
            with contextlib.suppress(apsw.Error):
                self._connection.execute("rollback")

    def _wait_for_other_process(self, tries: int) -> bool:
        """Whether to try again for the database's lock. The loop does not wait: it leaves that to the thread."""
        if threading.get_ident() == self._loop_thread or tries >= _BUSY_TRIES:
            return False
        time.sleep(_BUSY_SLEEP_S)
        return True
