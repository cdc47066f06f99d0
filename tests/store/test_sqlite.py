"""What is SQLite's own beside its writer: readers, other processes, a disk that is really full."""

import contextlib
import json
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import apsw
import pytest

from tests.clock import MovableClock
from turnbuckle.operations import key
from turnbuckle.store.database import CannotOpen, StorageFailed, open_database, read, write
from turnbuckle.store.sqlite import SqliteDatabase
from turnbuckle.store.transaction import Transaction


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "turnbuckle.db")


@pytest.fixture
def database(path: str) -> Iterator[SqliteDatabase]:
    with contextlib.closing(SqliteDatabase(path, MovableClock())) as opened:
        yield opened


def add(tx: Transaction, name: str) -> int:
    return tx.run("environment_insert", name=name, now_ms=tx.now_ms)


def count(tx: Transaction) -> int:
    return len(tx._connection.execute("select name from environment").fetchall())


# -- how it is opened --------------------------------------------------------------------------------------------


def test_a_store_is_durable_and_lets_readers_go_on(database: SqliteDatabase) -> None:
    """WAL and full syncs: an answered write survives a power cut."""

    def settings(tx: Transaction) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [tx._connection.execute(f"pragma {name}").fetchone()[0] for name in names]

    assert write(database, settings) == ["wal", 2, 1]


def test_the_folder_is_made_where_it_is_missing(tmp_path: Path) -> None:
    open_database(str(tmp_path / "new" / "folder" / "turnbuckle.db")).close()

    assert (tmp_path / "new" / "folder" / "turnbuckle.db").exists()


@pytest.mark.parametrize("what", ["a folder", "a file of something else", "a file where the folder should be"])
def test_what_is_no_store_is_told_with_its_place(tmp_path: Path, what: str) -> None:
    place = tmp_path / "turnbuckle.db"
    if what == "a folder":
        place.mkdir()
    else:
        place.write_bytes(b"something else " * 1_000)
    location = str(place / "turnbuckle.db" if what.endswith("should be") else place)

    with pytest.raises(CannotOpen, match=r"cannot open the store .*turnbuckle\.db"):
        open_database(location)


# -- readers -----------------------------------------------------------------------------------------------------


def test_a_reader_sees_one_moment_of_the_store(database: SqliteDatabase) -> None:
    begun, written = threading.Event(), threading.Event()

    def look_twice(tx: Transaction) -> tuple[int, int]:
        first = count(tx)
        begun.set()
        assert written.wait(20)
        return first, count(tx)

    reading = threading.Thread(target=lambda: seen.append(read(database, look_twice)))
    seen: list[tuple[int, int]] = []
    reading.start()
    assert begun.wait(20)
    write(database, lambda tx: add(tx, "a"))
    written.set()
    reading.join()

    assert (seen, read(database, count)) == ([(0, 0)], 1)


def test_a_reader_cannot_write(database: SqliteDatabase) -> None:
    with pytest.raises(StorageFailed, match="ReadOnlyError"):
        read(database, lambda tx: add(tx, "a"))

    assert read(database, count) == 0


def test_a_reader_that_fails_leaves_its_connection_usable(database: SqliteDatabase) -> None:
    def fail(tx: Transaction) -> None:
        count(tx)
        raise ValueError("no")

    for _ in range(5):
        with pytest.raises(ValueError, match="no"):
            read(database, fail)
        write(database, lambda tx: add(tx, "a"))

        assert read(database, count) == 1


def test_readers_go_on_while_the_writer_works(database: SqliteDatabase) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> bool:
        add(tx, "a")
        begun.set()
        return go_on.wait(20)

    writing = threading.Thread(target=write, args=(database, slow))
    writing.start()
    assert begun.wait(20)

    assert read(database, count) == 0
    go_on.set()
    writing.join()


def test_a_reader_that_cannot_open_the_file_says_so(tmp_path: Path) -> None:
    """Its request had no answer."""
    folder = tmp_path / "gone"
    with contextlib.closing(SqliteDatabase(str(folder / "turnbuckle.db"))) as database:
        shutil.rmtree(folder)

        with pytest.raises(StorageFailed, match="CantOpenError"):
            read(database, count)


# -- other processes ---------------------------------------------------------------------------------------------

ADD_KEYS = """
import contextlib, sys
from turnbuckle.operations import key
from turnbuckle.store.database import open_database, write
with contextlib.closing(open_database(sys.argv[1])) as database:
    for number in range(50):
        write(database, lambda tx: key.create(tx, f"key {number}", "test", "user", "admin"))
"""


def python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    program = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_another_process_may_add_keys_while_the_server_writes(database: SqliteDatabase, path: str) -> None:
    """B065: "database is locked" on the default file database, visible to users."""
    other = python(ADD_KEYS, path)
    written = 0
    while other.poll() is None:
        written += write(database, partial(add, name=f"{written}"))

    assert (other.returncode, other.communicate()[1]) == (0, "")
    assert len(read(database, key.all_keys)) == 50
    assert read(database, count) == written + 1


def test_a_copy_made_while_others_write_is_whole(database: SqliteDatabase, tmp_path: Path) -> None:
    """Two rows of one operation are both in the copy, or neither."""

    def add_two(tx: Transaction, number: int) -> None:
        add(tx, f"{number} a")
        add(tx, f"{number} b")

    target, stop = tmp_path / "copy.db", threading.Event()

    def write_pairs() -> None:
        number = 0
        while not stop.is_set():
            write(database, partial(add_two, number=number))
            number += 1

    writing = threading.Thread(target=write_pairs)
    writing.start()
    try:
        for _ in range(5):
            database.backup(str(target))
            with contextlib.closing(SqliteDatabase(str(target))) as copy:
                assert read(copy, count) % 2 == 0
                assert copy.check() == []
    finally:
        stop.set()
        writing.join()


# -- a full disk -------------------------------------------------------------------------------------------------

FILL = """
import contextlib, json, resource, sys
from turnbuckle.store.database import Lane, StorageFailed, Job, open_database, read, settle_futures, write
from concurrent.futures import Future

def blob(tx, number):
    tx.run("blob_insert", graph_id="g", key=str(number), sha256="s", bytes=b"x" * 20_000, now_ms=tx.now_ms)

def submit(database, number):
    future = Future()
    database.submit(Job(lambda tx: blob(tx, number), settle_futures, future))
    return future

with contextlib.closing(open_database(sys.argv[1])) as database:
    free = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, free[1]))  # as a full disk: no file grows beyond it
    futures = [submit(database, number) for number in range(100)]
    told = {number: future.exception(60) for number, future in enumerate(futures)}
    resource.setrlimit(resource.RLIMIT_FSIZE, free)
    again = write(database, lambda tx: blob(tx, 1_000))
    kept = read(database, lambda tx: [int(key) for (key,) in tx._connection.execute("select key from blob").fetchall()])

print(json.dumps({
    "saved": [number for number, error in told.items() if error is None],
    "failed": [number for number, error in told.items() if isinstance(error, StorageFailed)],
    "kept": sorted(kept),
}))
"""


def test_on_a_full_disk_exactly_what_was_answered_is_kept_and_later_all_works_again(path: str) -> None:
    filling = python(FILL, path)
    out, err = filling.communicate(timeout=90)
    assert filling.returncode == 0, err
    told = json.loads(out)

    assert sorted([*told["saved"], *told["failed"]]) == list(range(100))
    assert told["failed"] != []
    assert told["kept"] == [*told["saved"], 1_000]
    with contextlib.closing(apsw.Connection(path)) as file:
        assert file.execute("pragma integrity_check").fetchone() == ("ok",)
