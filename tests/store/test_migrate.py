"""Schemas: made, found, refused when newer: store/migrate.py."""

import contextlib
import threading
from pathlib import Path

import apsw
import psycopg
import pytest

from tests.tables import columns, dump
from turnbuckle.operations import key
from turnbuckle.store import migrate, schema
from turnbuckle.store.database import Database, open_database, read, write
from turnbuckle.store.key import Grant
from turnbuckle.store.migrate import NewerSchema


def execute(location: str, sql: str) -> None:
    if location.startswith("postgresql://"):
        with psycopg.connect(location) as connection:
            connection.execute(sql.encode())
    else:
        with contextlib.closing(apsw.Connection(location)) as file:
            file.execute(sql)


def test_a_new_store_has_every_table_and_the_newest_schema(store_url: str) -> None:
    open_database(store_url).close()

    assert set(dump(store_url)) == set(columns()) - {"clock"}


def test_opening_again_changes_nothing(store_url: str) -> None:
    with contextlib.closing(open_database(store_url)) as database:
        write(database, lambda tx: key.add(tx, "key", "label", Grant("test", "user", "admin")))
    before = dump(store_url)

    open_database(store_url).close()

    assert dump(store_url) == before


def test_a_store_of_a_newer_server_is_refused_untouched(store_url: str) -> None:
    open_database(store_url).close()
    newer = migrate.newest() + 7
    execute(store_url, f"insert into schema_migration (number, name) values ({newer}, 'later')")
    before = dump(store_url)

    with pytest.raises(NewerSchema, match=f"the store has migration {newer}; this server knows up to {newer - 7}"):
        open_database(store_url)

    assert dump(store_url) == before


def test_two_servers_that_start_together_make_one_schema(store_url: str) -> None:
    opened: list[Database] = []
    threads = [threading.Thread(target=lambda: opened.append(open_database(store_url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    try:
        assert len(opened) == 4
        for number, database in enumerate(opened):
            write(database, lambda tx, n=number: key.add(tx, f"key {n}", "label", Grant("test", "user", "admin")))  # type: ignore[misc]
        assert len(read(opened[0], key.all_keys)) == 4
    finally:
        for database in opened:
            database.close()


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [int(file.name[:4]) for file in schema.files()] == list(range(1, migrate.newest() + 1))


def test_a_migration_that_fails_leaves_nothing_of_itself(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start tries it again from its beginning."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for file in schema.files():
        (folder / file.name).write_text(file.read_text())
    bad = folder / f"{migrate.newest() + 1:04}_bad.sql"
    bad.write_text("create table extra (a bigint);\ninsert into nowhere values (1);\n")
    monkeypatch.setattr(schema, "_FOLDER", folder)
    with pytest.raises(Exception, match="nowhere"):
        open_database(store_url)

    bad.write_text("create table extra (a bigint);\n")
    open_database(store_url).close()

    execute(store_url, "insert into extra (a) values (1)")
