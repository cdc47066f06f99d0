"""What a check of the whole store reads: counts per instance, a page of instances at a time."""

from typing import Any

import msgspec

from turnbuckle.engine.instance import Instance
from turnbuckle.store.transaction import Transaction

Place = tuple[str, str]  # graph id, instance id: the order of a page
START: Place = ("", "")
_INSTANCE = len(Instance.__struct_fields__)


class Found(msgspec.Struct, frozen=True):
    """An instance as it is stored, with the name its graph goes by."""

    instance: Instance
    environment: str | None  # None: its graph is missing
    graph: str | None

    @property
    def place(self) -> Place:
        return self.instance.graph_id, self.instance.instance_id


class Turns(msgspec.Struct, frozen=True):
    """The turns of an instance that share a state."""

    graph_id: str
    instance_id: str
    status: str
    is_open: bool  # still in the inbox
    count: int
    first: int
    last: int
    with_token: int


class Messages(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    count: int
    first: int
    last: int
    with_body: int


class Span(msgspec.Struct, frozen=True):
    """From after one place up to another."""

    after: Place
    last: Place

    @property
    def params(self) -> dict[str, str]:
        return {
            "after_graph_id": self.after[0],
            "after_instance_id": self.after[1],
            "last_graph_id": self.last[0],
            "last_instance_id": self.last[1],
        }


class Miscounted(msgspec.Struct, frozen=True):
    """A turn whose steps or signals are not numbered 0 .. expected - 1, each once."""

    graph_id: str
    instance_id: str
    turn: int
    expected: int
    count: int
    last: int | None
    distinct: int


class TakenSignal(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    turn: int
    event_id: bytes
    consumed_by: str


class LostRun(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    turn: int
    run_id: str | None


class LostAnswer(msgspec.Struct, frozen=True):
    """An item whose answer has something left to do that is not being done."""

    graph_id: str
    review_id: str
    status: str
    write: str
    delivery: str
    due_at_ms: int | None


STRAYS = (
    "turns",
    "messages",
    "states",
    "runs",
    "steps",
    "signals",
    "operations",
    "review_waiters",
    "review_comments",
    "watches",
    "watch_items",
)


def schema(tx: Transaction) -> int:
    """Number of the newest migration the store has."""
    row = tx.row("doctor_schema")
    assert row is not None
    return int(row[0])


def page(tx: Transaction, after: Place, limit: int) -> list[Found]:
    rows = tx.rows("doctor_instances", after_graph_id=after[0], after_instance_id=after[1], limit=limit)
    return [Found(Instance(*row[:_INSTANCE]), *row[_INSTANCE:]) for row in rows]


def turns(tx: Transaction, span: Span) -> list[Turns]:
    return tx.all("doctor_turns", Turns, **span.params)


def messages(tx: Transaction, span: Span) -> list[Messages]:
    return tx.all("doctor_messages", Messages, **span.params)


def with_state(tx: Transaction, span: Span) -> set[Place]:
    """Instances whose present state is there."""
    return {_place(row) for row in tx.rows("doctor_states", **span.params)}


def miscounted_steps(tx: Transaction, span: Span) -> list[Miscounted]:
    return tx.all("doctor_steps", Miscounted, **span.params)


def miscounted_signals(tx: Transaction, span: Span) -> list[Miscounted]:
    return tx.all("doctor_signals", Miscounted, **span.params)


def taken_by_nobody(tx: Transaction, span: Span) -> list[TakenSignal]:
    return tx.all("doctor_consumed", TakenSignal, **span.params)


def lost_runs(tx: Transaction, span: Span, since_ms: int) -> list[LostRun]:
    return tx.all("doctor_runs", LostRun, since_ms=since_ms, **span.params)


def lost_answers(tx: Transaction, late_ms: int, limit: int) -> list[LostAnswer]:
    """Those that should have been written and delivered before `late_ms`, or never will be."""
    return tx.all("doctor_reviews", LostAnswer, late_ms=late_ms, limit=limit)


def strays(tx: Transaction, noun: str) -> int:
    """How many rows of a noun of STRAYS belong to nothing."""
    row = tx.row(f"doctor_stray_{noun}")
    return int(row[0]) if row else 0


def _place(row: tuple[Any, ...]) -> Place:
    return row[0], row[1]
