"""What is PostgreSQL's own: waiting for locks, deadlocks, lost connections, several servers on one store."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.clock import MovableClock
from tests.store.calls import Store, claim, complete, current, heartbeat, inspect, send, start
from turnbuckle.operations import doctor, graph
from turnbuckle.store import postgres
from turnbuckle.store.database import Job, StorageFailed, open_database, read, settle_futures, write
from turnbuckle.store.postgres import PostgresDatabase
from turnbuckle.store.transaction import Announcement, Durability, Transaction
from turnbuckle.wire.errors import Refused

WAIT_S = 20
OURS = "application_name = current_setting('application_name') and pid <> pg_backend_pid()"  # connections to the store


@pytest.fixture
def database(postgres_url: str) -> Iterator[PostgresDatabase]:
    with contextlib.closing(PostgresDatabase(postgres_url, MovableClock())) as opened:
        yield opened


@pytest.fixture
def shared(postgres_url: str) -> Iterator[tuple[Store, Store]]:
    """Two servers on one store."""
    clock = MovableClock()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(contextlib.closing(open_database(postgres_url, clock))) for _ in range(2)]
        graph_id = write(servers[0], lambda tx: graph.use(tx, "test", "main"))
        yield tuple(Store(server, postgres_url, graph_id, clock) for server in servers)  # type: ignore[misc]
        assert read(servers[0], doctor.problems) == []


def add(tx: Transaction, name: str) -> int:
    return tx.run("environment_insert", name=name, now_ms=tx.now_ms)


def names(tx: Transaction) -> list[str]:
    return [name for (name,) in tx._connection.execute("select name from environment order by name").fetchall()]


def submit(database: PostgresDatabase, operation: Callable[[Transaction], Any]) -> "Future[Any]":
    future: Future[Any] = Future()
    database.submit(Job(operation, settle_futures, future))
    return future


# -- locks -------------------------------------------------------------------------------------------------------


def test_of_two_operations_that_block_each_other_both_are_done(database: PostgresDatabase) -> None:
    """PostgreSQL picks one of a deadlock to give way: it is run again, from its beginning."""
    for name in ("a", "b"):
        write(database, partial(add, name=name))
    together = threading.Barrier(2)
    tries = {"a": 0, "b": 0}

    def lock_both(tx: Transaction, first: str, second: str) -> str:
        tries[first] += 1
        tx._connection.execute("update environment set created_at_ms = created_at_ms + 1 where name = %s", (first,))
        if tries[first] == 1:
            together.wait(WAIT_S)
        tx._connection.execute("update environment set created_at_ms = created_at_ms + 1 where name = %s", (second,))
        return first

    futures = [submit(database, partial(lock_both, first=one, second=other)) for one, other in ("ab", "ba")]

    assert [future.result(WAIT_S) for future in futures] == ["a", "b"]
    assert max(tries.values()) > 1
    added = "select created_at_ms - min(created_at_ms) over () from environment"
    assert read(database, lambda tx: tx._connection.execute(added).fetchall()) == [(0,), (0,)]  # each counted twice


def test_a_lock_that_is_kept_too_long_fails_the_operation_that_waits(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_LOCK_WAIT", "200ms")
    with contextlib.closing(PostgresDatabase(postgres_url, MovableClock())) as database:
        write(database, partial(add, name="a"))
        change = "update environment set created_at_ms = 1 where name = 'a'"
        with psycopg.connect(postgres_url) as other:
            other.execute(change)
            with pytest.raises(StorageFailed, match="LockNotAvailable"):
                write(database, lambda tx: tx._connection.execute(change))

        write(database, lambda tx: tx._connection.execute(change))


def test_the_clock_is_read_after_the_lock_was_taken(shared: tuple[Store, Store]) -> None:
    """Decision 15: an operation that had to wait works with the time at which its wait ended."""
    store, _ = shared
    start(store, lease_ms=2_000)
    send(store)
    task = claim(store)
    assert task is not None
    with psycopg.connect(store.location) as other, ThreadPoolExecutor(1) as threads:
        other.execute("select 1 from instance for update")
        beating = threads.submit(heartbeat, store, task)
        _until_blocked(store.location)
        store.clock.pass_ms(2_000)  # the lease ends while the heartbeat waits
        other.rollback()

        with pytest.raises(Refused) as refused:
            beating.result(WAIT_S)
        assert refused.value.code == "turn_lease_lost"


def _until_blocked(url: str) -> None:
    waiting = f"select count(*) from pg_stat_activity where wait_event_type = 'Lock' and {OURS}"
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(waiting).fetchone() == (0,):
            pass


# -- connections -------------------------------------------------------------------------------------------------


def test_a_connection_that_was_cut_costs_its_operation_only(database: PostgresDatabase) -> None:
    """B067: after a lost connection nothing worked until a restart."""

    def cut(tx: Transaction) -> None:
        add(tx, "lost")
        tx._connection.execute("select pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(StorageFailed):
        write(database, cut)
    for number in range(20):
        write(database, partial(add, name=f"{number:02}"))

    assert read(database, names) == [f"{number:02}" for number in range(20)]


def test_all_idle_connections_may_be_cut_at_once(database: PostgresDatabase, postgres_url: str) -> None:
    """As when the database is restarted: at most the operations of that moment fail."""
    write(database, partial(add, name="a"))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {OURS}")
    failed = 0
    for number in range(10):
        try:
            write(database, partial(add, name=f"{number:02}"))
        except StorageFailed:
            failed += 1

    assert failed <= 2
    assert len(read(database, names)) == 11 - failed


def test_an_operation_that_is_refused_leaves_nothing(database: PostgresDatabase) -> None:
    announced: list[Announcement] = []
    database.listener = announced.extend

    def refuse(tx: Transaction) -> None:
        add(tx, "refused")
        tx.announce("ready", "g", "t", "v1")
        raise Refused("conflict", "no")

    with pytest.raises(Refused):
        write(database, refuse)

    assert (read(database, names), announced) == ([], [])


@pytest.mark.parametrize("is_heartbeat", [False, True])
def test_a_heartbeat_leaves_no_other_operation_without_its_wait_for_the_disk(
    database: PostgresDatabase, is_heartbeat: bool
) -> None:
    """Decision 53: only heartbeats skip it. The setting ends with their transaction, not with their connection."""
    seen: list[str] = []

    def look(tx: Transaction) -> None:
        seen.append(tx._connection.execute("show synchronous_commit").fetchone()[0])
        if is_heartbeat:
            tx.durability = Durability.HEARTBEAT

    for _ in range(4):
        write(database, look)

    assert set(seen) == {"on"}


def test_a_reader_sees_one_moment_and_cannot_write(database: PostgresDatabase) -> None:
    def look_twice(tx: Transaction) -> tuple[list[str], list[str]]:
        first = names(tx)
        write(database, partial(add, name="a"))
        return first, names(tx)

    assert read(database, look_twice) == ([], [])
    with pytest.raises(StorageFailed, match="ReadOnlySqlTransaction"):
        read(database, partial(add, name="b"))


def test_a_listener_that_fails_costs_no_answer(database: PostgresDatabase, caplog: pytest.LogCaptureFixture) -> None:
    def fail(announced: list[Announcement]) -> None:
        raise ValueError("no ears")

    database.listener = fail
    future = submit(database, lambda tx: tx.announce("ready", "g", "t", "v1"))

    future.result(WAIT_S)
    assert "no ears" in caplog.text


def test_closing_finishes_what_is_queued_and_refuses_what_comes_later(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    futures = [submit(database, partial(add, name=f"{number:02}")) for number in range(30)]
    database.close()

    assert [future.result(WAIT_S) for future in futures] == [1] * 30
    for late in (database.submit, database.submit_read):
        with pytest.raises(Refused) as refused:
            late(Job(names, settle_futures, Future()))
        assert refused.value.code == "stopping"


def test_without_a_clock_of_the_test_time_is_the_databases_and_never_falls(postgres_url: str) -> None:
    with contextlib.closing(PostgresDatabase(postgres_url)) as database:
        now = "select (extract(epoch from clock_timestamp()) * 1000)::bigint"
        before = write(database, lambda tx: tx._connection.execute(now).fetchone()[0])
        seen = [write(database, lambda tx: tx.now_ms) for _ in range(20)]
        after = write(database, lambda tx: tx._connection.execute(now).fetchone()[0])

    assert [before, *seen, after] == sorted([before, *seen, after])


# -- several servers ---------------------------------------------------------------------------------------------


def test_two_servers_hand_out_each_turn_once(shared: tuple[Store, Store]) -> None:
    one, _ = shared
    for number in range(40):
        start(one, f"i{number}")
        send(one, to=f"i{number}")

    def take_all(store: Store) -> list[str]:
        taken = []
        while (task := claim(store)) is not None:
            taken.append(task.turn.workflow_id)
            complete(store, task)
        return taken

    with ThreadPoolExecutor(4) as threads:
        taken = [name for names in threads.map(take_all, [*shared, *shared]) for name in names]

    assert sorted(taken) == sorted(f"i{number}" for number in range(40))


def test_the_same_message_sent_to_two_servers_at_once_is_one_turn(shared: tuple[Store, Store]) -> None:
    start(shared[0])
    for number in range(10):
        with ThreadPoolExecutor(4) as threads:
            sent = list(threads.map(lambda store, n=number: send(store, n, id=f"m-{n}"), [*shared, *shared]))
        assert {turn.number for turn in sent} == {number + 1}

    assert inspect(shared[1]).pending_messages == 10


def test_an_instance_started_on_two_servers_at_once_is_one(shared: tuple[Store, Store]) -> None:
    for number in range(10):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda store, n=number: start(store, f"i{n}"), [*shared, *shared]))

    assert current(shared[0], send(shared[1], to="i3").number, id="i3").status == "queued"


def test_a_completion_sent_to_two_servers_at_once_is_applied_once(shared: tuple[Store, Store]) -> None:
    """A retry that goes to another server while the first try still runs there."""
    start(shared[0])
    send(shared[0])
    for number in range(1, 11):
        task = claim(shared[0])
        assert task is not None
        with ThreadPoolExecutor(4) as threads:
            done = list(threads.map(lambda s, t=task: complete(s, t, t.turn.number, continue_with=1), [*shared] * 2))
        assert {turn.continued_to for turn in done} == {number + 1}

    assert inspect(shared[0]).completed_turns == 10
