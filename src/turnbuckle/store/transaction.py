"""What an operation gets: one transaction of one database, with named statements and the store's time."""

import enum
from collections.abc import Callable, Iterable
from itertools import compress
from operator import ne
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import asdict, astuple

from turnbuckle.store.statements import Statements

Row = TypeVar("Row", bound=msgspec.Struct)
Topic = tuple[str, ...]  # what waiters wait for: ("ready", graph, type, version), ("finished", graph, instance, turn)
Announcement = tuple[Topic, int]  # the topic, and from when on it is there


class Cursor(Protocol):
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    def execute(self, query: Any, params: Any = ..., /) -> Any: ...
    def cursor(self) -> Any: ...


class Durability(enum.Enum):
    """What must be on the disk before an operation is answered (decisions 2 and 53)."""

    SAVED = "saved"  # all it wrote
    PROGRESS = "progress"  # nothing, on SQLite: a report without a new cursor
    HEARTBEAT = "heartbeat"  # nothing, on both: a lost renewal costs at most an attempt


class Transaction:
    """Lives for one operation. Nothing slow happens inside: it may hold the only writer."""

    def __init__(
        self,
        connection: Connection,
        statements: Statements,
        clock: Callable[[], int],
        affected: Callable[[Any], int],
    ) -> None:
        """`affected` tells how many rows the statement of a cursor has written."""
        self._connection = connection
        self._statements = statements
        self._clock = clock
        self._affected = affected
        self._now_ms: int | None = None
        self.announced: list[Announcement] = []
        self.durability = Durability.SAVED
        self.locked: set[tuple[str, str]] = set()  # graph and id of the instances it works on

    @property
    def now_ms(self) -> int:
        """The store's time, the same for the whole operation. Read at its first use: use it after the locks."""
        if self._now_ms is None:
            self._now_ms = self._clock()
        return self._now_ms

    def announce(self, *topic: str, at_ms: int = 0) -> None:
        """Tell those who wait for `topic`, after the commit: it is there from `at_ms` on."""
        self.announced.append((topic, at_ms))

    def row(self, statement: str, /, **params: Any) -> tuple[Any, ...] | None:
        """The first row, or None."""
        found: tuple[Any, ...] | None = self._execute(statement, params).fetchone()
        return found

    def rows(self, statement: str, /, **params: Any) -> list[tuple[Any, ...]]:
        return self._execute(statement, params).fetchall()

    def one(self, statement: str, kind: type[Row], /, **params: Any) -> Row | None:
        """The first row as a struct whose fields are the selected columns in order."""
        found = self._execute(statement, params).fetchone()
        return None if found is None else kind(*found)

    def all(self, statement: str, kind: type[Row], /, **params: Any) -> list[Row]:
        return [kind(*found) for found in self._execute(statement, params).fetchall()]

    def run(self, statement: str, /, **params: Any) -> int:
        """How many rows were written."""
        return self._affected(self._execute(statement, params))

    def insert(self, statement: str, row: msgspec.Struct, /) -> int:
        """Write all columns of a new row."""
        return self._affected(self._execute(statement, astuple(row)))

    def insert_all(self, statement: str, rows: Iterable[msgspec.Struct], /) -> None:
        """Write all columns of many new rows, in one round trip."""
        params = [astuple(row) for row in rows]
        if params:
            self._connection.cursor().executemany(self._statements.text(statement), params)

    def run_all(self, statement: str, rows: Iterable[dict[str, Any]], /) -> None:
        """The statement once for each of the parameters."""
        params = list(rows)
        if params:
            self._connection.cursor().executemany(self._statements.text(statement), params)

    def save(self, statement: str, old: Row, new: Row, /) -> None:
        """Write the columns in which `new` differs from `old`; nothing when none does."""
        if old is new:
            return
        changed = tuple(compress(new.__struct_fields__, map(ne, astuple(old), astuple(new))))
        if changed:
            self._connection.execute(self._statements.update(statement, changed), asdict(new))

    def _execute(self, statement: str, params: dict[str, Any] | tuple[Any, ...]) -> Cursor:
        cursor: Cursor = self._connection.execute(self._statements.text(statement), params)
        return cursor
