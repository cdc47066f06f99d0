"""SQLite's one writer: shared commits, lanes, lost groups; in a thread of its own and on a server's loop."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.clock import MovableClock
from turnbuckle.store import instance as instances
from turnbuckle.store import sqlite_writer
from turnbuckle.store.database import Job, Lane, StorageFailed, settle_futures
from turnbuckle.store.sqlite import SqliteDatabase
from turnbuckle.store.transaction import Announcement, Durability, Transaction
from turnbuckle.wire.errors import Refused

WAIT_S = 20


class Writing:
    """A SQLite store, and what another process would see of it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.database = SqliteDatabase(path, MovableClock())
        self._beside = apsw.Connection(path)

    def submit(self, operation: Callable[[Transaction], Any], lane: Lane = Lane.TURNS) -> "Future[Any]":
        future: Future[Any] = Future()
        self.database.submit(Job(operation, settle_futures, future, lane))
        return future

    def run(self, operation: Callable[[Transaction], Any]) -> Any:
        return self.submit(operation).result(WAIT_S)

    def names(self) -> list[str]:
        """What is committed."""
        return [str(name) for (name,) in self._beside.execute("select name from environment order by name").fetchall()]

    def count(self) -> int:
        return len(self.names())

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The writer is at work on another operation meanwhile: what is submitted waits together."""
        begun, go_on = threading.Event(), threading.Event()

        def hold(tx: Transaction) -> None:
            begun.set()
            assert go_on.wait(WAIT_S)

        future = self.submit(hold)
        assert begun.wait(WAIT_S)
        try:
            yield
        finally:
            go_on.set()
            future.result(WAIT_S)

    def close(self) -> None:
        self._beside.close()
        self.database.close()


@contextlib.contextmanager
def loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def attach(writing: Writing, loop: asyncio.AbstractEventLoop) -> None:
    done = threading.Event()
    loop.call_soon_threadsafe(writing.database.attach, loop)
    loop.call_soon_threadsafe(done.set)
    assert done.wait(WAIT_S)


@pytest.fixture(params=["in a thread", "on a loop"])
def writing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Writing]:
    """A new store, without a server and with one."""
    with contextlib.ExitStack() as stack:
        made = Writing(str(tmp_path / "turnbuckle.db"))
        stack.callback(made.close)
        if request.param == "on a loop":
            attach(made, stack.enter_context(loop_in_a_thread()))
        yield made


def add(name: str) -> Callable[[Transaction], int]:
    return lambda tx: tx.run("environment_insert", name=name, now_ms=tx.now_ms)


def broken(tx: Transaction) -> None:
    """Writes what no table takes."""
    add("broken")(tx)
    rest = {"hint": "h", "environment": "broken", "scope": "user", "scope_id": None, "role": "admin", "now_ms": 1}
    tx.run("key_insert", key_hash=b"hash", label=None, **rest)


def large(tx: Transaction) -> None:
    tx.run("blob_insert", graph_id="g", key="k", sha256="s", bytes=b"x" * 1_000_000, now_ms=1)


# -- shared commits ----------------------------------------------------------------------------------------------


def test_operations_that_wait_together_share_one_commit(writing: Writing) -> None:
    def add_and_look(name: str) -> Callable[[Transaction], int]:
        return lambda tx: (add(name)(tx), writing.count())[1]

    with writing.held():
        futures = [writing.submit(add_and_look(f"{number:03}")) for number in range(100)]

    assert [future.result(WAIT_S) for future in futures] == [0] * 100  # none of them is there while they run
    assert writing.count() == 100


def test_a_commit_is_shared_by_at_most_256(writing: Writing) -> None:
    def add_and_look(name: str) -> Callable[[Transaction], int]:
        return lambda tx: (add(name)(tx), writing.count())[1]

    with writing.held():
        futures = [writing.submit(add_and_look(f"{number:03}")) for number in range(300)]

    assert [future.result(WAIT_S) for future in futures] == [0] * 256 + [256] * 44


def test_an_answer_means_that_it_is_on_the_disk(writing: Writing) -> None:
    writing.run(add("a"))

    assert writing.names() == ["a"]


@pytest.mark.parametrize("error", [Refused("conflict", "no"), ValueError("no"), SystemExit(1)])
def test_an_operation_that_is_refused_leaves_nothing_and_harms_no_other(writing: Writing, error: BaseException) -> None:
    def refuse(tx: Transaction) -> None:
        add("refused")(tx)
        tx.announce("ready", "g", "t", "v1")
        raise error

    announced: list[Announcement] = []
    writing.database.listener = announced.extend
    with writing.held():
        futures = [writing.submit(work) for work in (add("a"), refuse, add("b"))]

    assert [future.exception(WAIT_S) for future in futures] == [None, error, None]
    assert (writing.names(), announced) == (["a", "b"], [])


def test_what_was_announced_is_told_after_the_commit(writing: Writing) -> None:
    seen: list[tuple[list[Announcement], int]] = []
    writing.database.listener = lambda announced: seen.append((announced, writing.count()))

    def announce(tx: Transaction) -> None:
        add("a")(tx)
        tx.announce("ready", "g", "t", "v1", at_ms=7)

    writing.run(announce)

    assert seen == [([(("ready", "g", "t", "v1"), 7)], 1)]


# -- what need not wait for the disk -----------------------------------------------------------------------------


@pytest.mark.parametrize("durability", [Durability.HEARTBEAT, Durability.PROGRESS])
def test_a_heartbeat_is_answered_before_the_commit(writing: Writing, durability: Durability) -> None:
    def beat(tx: Transaction) -> str:
        add("beat")(tx)
        tx.durability = durability
        return "renewed"

    go_on = threading.Event()
    with writing.held():
        first = writing.submit(beat)
        second = writing.submit(lambda tx: go_on.wait(WAIT_S))

    assert (first.result(WAIT_S), writing.names(), second.done()) == ("renewed", [], False)
    go_on.set()
    assert (second.result(WAIT_S), writing.names()) == (True, ["beat"])


def test_a_repeat_of_a_report_waits_for_the_cursor_that_the_first_saved(writing: Writing) -> None:
    """The first was not on the disk yet: its repeat, which changes nothing, said that the cursor is safe."""

    def work_on(instance: str, durability: Durability) -> Callable[[Transaction], str]:
        def report(tx: Transaction) -> str:
            instances.lock(tx, "g", instance)
            tx.durability = durability
            return instance

        return report

    go_on = threading.Event()
    with writing.held():
        writing.submit(work_on("a", Durability.SAVED))
        repeat = writing.submit(work_on("a", Durability.PROGRESS))
        other = writing.submit(work_on("b", Durability.PROGRESS))
        writing.submit(lambda tx: go_on.wait(WAIT_S))

    assert (other.result(WAIT_S), repeat.done()) == ("b", False)
    go_on.set()
    assert repeat.result(WAIT_S) == "a"


def test_a_heartbeat_that_was_answered_is_not_answered_again_when_its_group_is_lost(writing: Writing) -> None:
    """The second answer was an error that ended the writer: every later write waited for ever."""

    def beat(tx: Transaction) -> str:
        tx.durability = Durability.HEARTBEAT
        return "renewed"

    with writing.held():
        futures = [writing.submit(work) for work in (beat, broken, add("a"))]

    assert futures[0].result(WAIT_S) == "renewed"
    assert isinstance(futures[1].exception(WAIT_S), StorageFailed)
    futures[2].result(WAIT_S)
    assert (writing.run(add("b")), writing.names()) == (1, ["a", "b"])


# -- two lanes ---------------------------------------------------------------------------------------------------


def test_turns_go_before_bulk_and_between_its_pieces(writing: Writing) -> None:
    order: list[str] = []
    late: list[Future[Any]] = []

    def note(name: str) -> Callable[[Transaction], None]:
        return lambda tx: order.append(name)

    def first_piece(tx: Transaction) -> None:
        order.append("bulk 1")
        late.append(writing.submit(note("late turn")))

    with writing.held():
        bulk = [writing.submit(first_piece, Lane.BULK), writing.submit(note("bulk 2"), Lane.BULK)]
        turns = [writing.submit(note(f"turn {number}")) for number in (1, 2)]

    for future in (*turns, *bulk, *late):
        future.result(WAIT_S)
    assert order == ["turn 1", "turn 2", "bulk 1", "late turn", "bulk 2"]


# -- lost groups -------------------------------------------------------------------------------------------------


def test_a_statement_that_fails_costs_its_own_operation_only(writing: Writing) -> None:
    with writing.held():
        futures = [writing.submit(work) for work in (add("a"), broken, add("b"))]

    errors = [future.exception(WAIT_S) for future in futures]
    assert [type(error) for error in errors] == [type(None), StorageFailed, type(None)]
    assert str(errors[1]).startswith("the store did not take the write (ConstraintError: ")
    assert writing.names() == ["a", "b"]


def test_a_full_disk_fails_who_needs_room_and_later_all_works_again(writing: Writing) -> None:
    """A full disk rolls back the whole group: nobody of it is answered as saved, and no write is lost in silence."""
    pages = writing.run(lambda tx: tx._connection.execute("pragma page_count").fetchone()[0])
    writing.run(lambda tx: tx._connection.execute(f"pragma max_page_count = {pages}").fetchone())
    with writing.held():
        futures = [writing.submit(work) for work in (large, add("a"), large)]

    errors = [future.exception(WAIT_S) for future in futures]
    assert [isinstance(error, StorageFailed) for error in errors] == [True, False, True]
    assert str(errors[0]).startswith("the store did not take the write (FullError: ")

    writing.run(lambda tx: tx._connection.execute("pragma max_page_count = 1000000").fetchone())
    writing.run(large)
    assert writing.names() == ["a"]


def test_a_driver_error_outside_any_operation_reaches_those_who_wait(writing: Writing) -> None:
    """Such as a begin that fails. On the loop it was met by nobody, and the group had no answer."""
    with writing.held():
        futures = [writing.submit(lambda tx: tx._connection.execute("rollback")), writing.submit(add("a"))]

    assert isinstance(futures[0].exception(WAIT_S), StorageFailed)
    assert (futures[1].result(WAIT_S), writing.names()) == (1, ["a"])


@pytest.mark.parametrize("room", ["_new_transaction", "_before_commit"])
def test_what_fails_around_the_operations_reaches_those_who_wait(
    writing: Writing, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    """Memory that runs out between two operations left the connection in nobody's hands: every later write hung."""
    whole = getattr(writing.database._writer, room)
    failures = iter([MemoryError("no room")])

    def scarce() -> Any:
        for failure in failures:
            raise failure
        return whole()

    monkeypatch.setattr(writing.database._writer, room, scarce)

    assert writing.run(add("a")) == 1
    assert (writing.run(add("b")), writing.names()) == (1, ["a", "b"])


def test_another_process_that_keeps_the_lock_fails_the_group_at_once(
    writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each member waited the whole time anew: a group of 200 for half an hour."""
    monkeypatch.setattr(sqlite_writer, "_BUSY_TRIES", 40)  # 0.2 s
    other = apsw.Connection(writing.path)
    other.execute("begin immediate")
    with contextlib.closing(other):
        futures = [writing.submit(add(f"late {number:03}")) for number in range(100)]
        done, _ = wait(futures, timeout=5)
        errors = [future.exception() for future in done]
        other.execute("rollback")

    assert (len(errors), {type(error) for error in errors}) == (100, {StorageFailed})
    assert writing.run(add("afterwards")) == 1


# -- the end -----------------------------------------------------------------------------------------------------


def test_closing_finishes_what_is_queued_and_refuses_what_comes_later(tmp_path: Path) -> None:
    writing = Writing(str(tmp_path / "turnbuckle.db"))
    with writing.held():
        futures = [writing.submit(add(f"{number:03}"), lane) for lane in Lane for number in range(50)]
        closing = threading.Thread(target=writing.close)
        closing.start()
    closing.join(WAIT_S)

    assert [future.exception(WAIT_S) for future in futures] == [None] * 100
    for submit in (writing.database.submit, writing.database.submit_read):
        with pytest.raises(Refused) as refused:
            submit(Job(add("late"), settle_futures, Future()))
        assert refused.value.code == "stopping"


def test_a_loop_that_was_closed_leaves_the_work_to_the_thread(tmp_path: Path) -> None:
    """The server's loop has ended; what it had queued is still written, and so is what comes after."""
    writing = Writing(str(tmp_path / "turnbuckle.db"))
    with contextlib.closing(writing):
        with loop_in_a_thread() as loop:
            attach(writing, loop)
            writing.run(add("on the loop"))
        writing.run(add("in the thread"))

        assert writing.names() == ["in the thread", "on the loop"]


def test_a_listener_that_fails_does_not_stop_the_writer(writing: Writing, caplog: pytest.LogCaptureFixture) -> None:
    """What it was told is lost; long polls look again by themselves."""

    def fail(announced: list[Announcement]) -> None:
        raise ValueError("no ears")

    writing.database.listener = fail
    writing.run(lambda tx: tx.announce("ready", "g", "t", "v1"))

    assert writing.run(add("a")) == 1
    assert "no ears" in caplog.text


def test_an_answer_that_nobody_takes_does_not_stop_the_writer(
    writing: Writing, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure of a sink left the connection in nobody's hands: every later write waited for ever."""

    def fail(jobs: list[Job]) -> None:
        raise ValueError("no")

    with writing.held():
        writing.database.submit(Job(add("a"), fail, None))  # first: sinks are told in this order
        cancelled = writing.submit(add("b"))
        cancelled.cancel()

    assert (writing.run(add("c")), writing.names()) == (1, ["a", "b", "c"])
    assert "1 finished jobs were not answered" in caplog.text
