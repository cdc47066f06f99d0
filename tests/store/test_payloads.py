"""Reads without payloads: the same answer with null for what users put in, and none of it loaded."""

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.store.played import Engine
from turnbuckle.operations import graph, instance, turn
from turnbuckle.store.database import Database, open_database, read
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.instance import WorkflowInstanceQuery, WorkflowInstancesQuery
from turnbuckle.wire.turn import WorkflowTurnHistoryQuery

BIG = Raw(b'"' + b"x" * 50_000 + b'"')
PAYLOADS = {"state", "message", "result", "state_after", "output", "value", "details", "checkpoint"}


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    """An instance with a finished and a running turn, large values everywhere."""
    with contextlib.closing(open_database(store_url)) as opened:
        engine = Engine(opened)
        engine.start("big", 2, state=BIG, message=BIG)
        for _ in range(2):
            lease = engine.claim("big")
            engine.save_step(lease, 0, output=BIG)
            engine.signal("big", lease["turn"], "e1", BIG)
            if lease["turn"] == 1:
                engine.complete(lease, BIG)
        engine.begin(lease, 1)
        engine.report(lease, BIG)
        yield opened


def answers(database: Database, payloads: bool) -> list[Any]:
    """What the three routes that take `payloads` answer, as JSON values."""

    def look(tx: Transaction) -> list[Any]:
        graph_id = graph.look(tx, "test", "main")
        return [
            instance.list_page(tx, graph_id, WorkflowInstancesQuery(payloads=payloads)),
            instance.get(tx, graph_id, WorkflowInstanceQuery(id="big", payloads=payloads)),
            turn.history(tx, graph_id, WorkflowTurnHistoryQuery(id="big", payloads=payloads)),
        ]

    return [msgspec.json.decode(msgspec.json.encode(answer)) for answer in read(database, look)]


def without_payloads(value: Any) -> Any:
    if isinstance(value, list):
        return [without_payloads(item) for item in value]
    if isinstance(value, dict):
        return {key: None if key in PAYLOADS else without_payloads(item) for key, item in value.items()}
    return value


def test_only_the_payloads_are_missing(database: Database) -> None:
    """Everything a list shows of an instance is the same, whether its values come along or not."""
    whole = answers(database, payloads=True)
    assert all(len(msgspec.json.encode(answer)) > 150_000 for answer in whole)

    assert answers(database, payloads=False) == without_payloads(whole)


def test_no_payload_is_read(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of large turns must not cost the server's memory (each row that is read stays small)."""
    rows: list[Any] = []
    for name in ("row", "rows", "all", "one"):
        original = getattr(Transaction, name)

        def watched(self: Transaction, *args: Any, _read: Any = original, **params: Any) -> Any:
            found = _read(self, *args, **params)
            rows.append(found)
            return found

        monkeypatch.setattr(Transaction, name, watched)

    answers(database, payloads=False)

    assert rows
    assert all(len(repr(row)) < 20_000 for row in rows)
