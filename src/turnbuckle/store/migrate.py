"""Bring a database to the newest schema: each numbered file once, in order, with its record in one transaction."""

from collections.abc import Callable
from pathlib import Path

from turnbuckle.store.dialect import Dialect
from turnbuckle.store.schema import files, statements
from turnbuckle.store.transaction import Connection

Work = Callable[[], None]
_RECORD = "create table if not exists schema_migration (number bigint primary key, name text not null)"


class NewerSchema(Exception):
    """The store was written by a newer server; this one does not know its schema."""


def newest() -> int:
    """Number of the newest migration this server knows."""
    return _number(files()[-1])


def migrate(connection: Connection, dialect: Dialect, in_transaction: Callable[[Work], None]) -> None:
    """Apply what is missing. NewerSchema when the store is ahead of this server."""
    in_transaction(lambda: _execute(connection, _RECORD))
    applied = {number for (number,) in connection.execute("select number from schema_migration").fetchall()}
    known = {_number(file) for file in files()}
    if ahead := applied - known:
        raise NewerSchema(
            f"the store has migration {max(ahead)}; this server knows up to {max(known)}: use a newer one"
        )
    for file in files():
        if _number(file) not in applied:
            in_transaction(lambda file=file: _apply(connection, dialect, file))  # type: ignore[misc]


def _apply(connection: Connection, dialect: Dialect, file: Path) -> None:
    # Another server may have come first between the look and the lock.
    already = connection.execute(f"select 1 from schema_migration where number = {_number(file)}").fetchone()
    if already is not None:
        return
    for statement in statements(file):
        _execute(connection, dialect.adapt(statement))
    _execute(connection, f"insert into schema_migration (number, name) values ({_number(file)}, '{file.stem}')")


def _execute(connection: Connection, sql: str) -> None:
    connection.execute(sql)


def _number(file: Path) -> int:
    return int(file.name.split("_")[0])
