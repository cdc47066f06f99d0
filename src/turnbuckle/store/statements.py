"""All statements, read once from the .sql files beside this module.

A statement is headed by `-- name` and a sentence. Slots: `{turn.columns}` names a row's columns for a select,
`{turn.outline}` the same with `:nothing` in place of what users put in, `{turn.names}` and `{turn.values}` those of
an insert of a whole row, `{changes}` the columns an update was asked to write; the rest are the dialect's.
"""

import re
from functools import lru_cache
from pathlib import Path

import msgspec

from turnbuckle.engine.activity import Activity
from turnbuckle.engine.call import Call
from turnbuckle.engine.effect import Effect
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.message import Message
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.review import Comment, Review, Waiter
from turnbuckle.engine.run import Run
from turnbuckle.engine.signal import Signal
from turnbuckle.engine.step import Step
from turnbuckle.engine.turn import Turn
from turnbuckle.graph.change import Change
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.entity import Entity
from turnbuckle.graph.fact import Fact
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.log import Commit, CommitKey
from turnbuckle.graph.named import Flight, Named, Shard
from turnbuckle.graph.quad import Quad
from turnbuckle.graph.schedule import Schedule
from turnbuckle.graph.stream import Event, Stream
from turnbuckle.graph.watch import Given, Item, Link, Watch
from turnbuckle.store import hub_rows
from turnbuckle.store.dialect import Dialect
from turnbuckle.store.schema import clearing_statements

ROWS: dict[str, type[msgspec.Struct]] = {
    "schedule": Schedule,
    "stream": Stream,
    "stream_event": Event,
    "activity": Activity,
    "call": Call,
    "change": Change,
    "commit_key": CommitKey,
    "edge": Edge,
    "effect": Effect,
    "entity": Entity,
    "fact": Fact,
    "graph_commit": Commit,
    "instance": Instance,
    "message": Message,
    "named": Named,
    "named_flight": Flight,
    "named_shard": Shard,
    "operation": Operation,
    "quad": Quad,
    "review": Review,
    "review_comment": Comment,
    "review_waiter": Waiter,
    "run": Run,
    "signal": Signal,
    "step": Step,
    "turn": Turn,
    "watch": Watch,
    "watch_given": Given,
    "watch_item": Item,
    "watch_link": Link,
    **hub_rows.ROWS,
}
PARTS: dict[str, type[msgspec.Struct]] = {"head": GraphHead}  # some columns of a table, under another name
_PAYLOADS = {
    "activity": ("answer",),
    "call": ("input", "output"),
    "message": ("body",),
    "operation": ("details", "cursor"),
    "review": ("facts",),
    "signal": ("value",),
    "step": ("output",),
    "turn": ("result",),
}
_HEADER = re.compile(r"^-- (\w+)\n", re.MULTILINE)
_ROW_SLOT = re.compile(r"\{(\w+\.\w+)\}")


class Statements:
    """The statements of one dialect, by name."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._texts = {name: dialect.adapt(_fill_rows(sql, dialect)) for name, sql in texts().items()}
        self._updates: dict[tuple[str, tuple[str, ...]], str] = {}

    def text(self, name: str) -> str:
        return self._texts[name]

    def update(self, name: str, columns: tuple[str, ...]) -> str:
        """The update `name` that writes exactly `columns`."""
        known = self._updates.get((name, columns))
        if known is None:
            changes = self._dialect.adapt(", ".join(f"{column} = :{column}" for column in columns))
            known = self._updates[name, columns] = self._texts[name].replace("{changes}", changes)
        return known


@lru_cache
def texts() -> dict[str, str]:
    """Every statement as it is written, by name; each name once over all files."""
    found: dict[str, str] = {}
    for file in sorted(Path(__file__).parent.glob("*.sql")):
        _, *parts = _HEADER.split(file.read_text())
        for name, sql in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"{file.name}: statement {name} is there twice")
            found[name] = sql.strip()
    return found | clearing_statements()


def _fill_rows(sql: str, dialect: Dialect) -> str:
    return _ROW_SLOT.sub(lambda slot: _row_slots(dialect.position)[slot[1]], sql)


@lru_cache
def _row_slots(position: str) -> dict[str, str]:
    """What stands for `turn.columns` and the like."""
    filled: dict[str, str] = {}
    for noun, row in (ROWS | PARTS).items():
        fields, payloads = row.__struct_fields__, _PAYLOADS.get(noun, ())
        filled[f"{noun}.columns"] = ", ".join(f"{noun}.{field}" for field in fields)
        filled[f"{noun}.outline"] = ", ".join(":nothing" if f in payloads else f"{noun}.{f}" for f in fields)
        filled[f"{noun}.names"] = ", ".join(fields)
        filled[f"{noun}.values"] = ", ".join([position] * len(fields))
    return filled
