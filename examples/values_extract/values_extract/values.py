"""Values that are written, each with a source record and an edge to it that holds the quote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lbb import entity_ref, stable_hash_hex
from lbb.workflows import OwnedWrite

from values_extract.coerce import Typed, shown
from values_extract.records import Record, Source
from values_extract.settings import SOURCE_CLASS, SOURCE_RELATION, Settings

Row = dict[str, Any]
_NAME_CHARS = 200


@dataclass(frozen=True)
class Value:
    """A value as it was read, or as a person gave it."""

    property: str
    value: Typed
    quote: str
    support: float | None  # how well the quote supports it, 0 to 1; None when the model did not say
    problem: str | None = None  # why its unit is not confirmed
    unit: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a turn does with one instance."""

    record: Record
    written: Sequence[Value] = ()
    asked: Sequence[tuple[Value, str]] = ()  # with the reason
    held: frozenset[str] = field(default_factory=frozenset)  # properties that keep a person's value


def instance_row(settings: Settings, record: Record, values: Iterable[Value]) -> Row:
    return {**_instance(settings, record), "properties": {value.property: value.value for value in values}}


def source_row(record: Record, value: Value) -> Row:
    """The quote is its name. Another quote, or another value, is another source."""
    stored = {"property": value.property, "value": shown(value.value), "support": _support(value)}
    return {**_source(record, value), "properties": stored}


def source_edge(settings: Settings, record: Record, value: Value) -> Row:
    return {
        "source": _instance(settings, record),
        "relation": SOURCE_RELATION,
        "target": _source(record, value),
        "confidence": _support(value),
        "evidence": {"text": value.quote or _no_quote(value), "source_id": record.iri},
    }


def owned_write(settings: Settings, outcomes: Iterable[Outcome]) -> OwnedWrite:
    """One write for all instances: what they have now, and nothing that an earlier turn wrote and this one did not.

    `replace_owned` names properties for all subjects together. So a property that one instance holds is left out of
    it, and the other instances remove theirs in their rows; sources that are not written again are retracted.
    """
    outcomes = list(outcomes)
    held = frozenset(name for outcome in outcomes for name in outcome.held)
    rows, edges, retracted = [], [], []
    for outcome in outcomes:
        rows += _rows(settings, outcome, held)
        edges += [source_edge(settings, outcome.record, value) for value in outcome.written]
        retracted += [entity_ref(source.iri, SOURCE_CLASS, source.quote) for source in _stale(outcome)]
    return OwnedWrite(
        subjects=[_instance(settings, outcome.record) for outcome in outcomes],
        relations=[] if held else [SOURCE_RELATION],
        properties=[name for name in settings.properties if name not in held],
        retract_entities=retracted,
        triplets=edges,
        entity_properties=rows,
    )


def _rows(settings: Settings, outcome: Outcome, held: frozenset[str]) -> list[Row]:
    written = {value.property for value in outcome.written}
    row = instance_row(settings, outcome.record, outcome.written)
    gone = sorted(held - outcome.held - written)
    if gone:
        row["remove_fields"] = gone
    sources = [source_row(outcome.record, value) for value in outcome.written]
    return [row, *sources] if written or gone else []


def _stale(outcome: Outcome) -> list[Source]:
    kept = {(value.property, shown(value.value), _name(value)) for value in outcome.written}
    return [
        source
        for source in outcome.record.sources
        if source.property not in outcome.held and (source.property, source.value, source.quote) not in kept
    ]


def _instance(settings: Settings, record: Record) -> dict[str, str]:
    return entity_ref(record.iri, settings.class_name, record.name)


def _source(record: Record, value: Value) -> dict[str, str]:
    parts = [record.entity_id, value.property, shown(value.value), _name(value)]
    return {"type": SOURCE_CLASS, "name": _name(value), "key": f"value:{stable_hash_hex(parts)[:24]}"}


def _name(value: Value) -> str:
    return value.quote[:_NAME_CHARS] or _no_quote(value)


def _no_quote(value: Value) -> str:
    return f"{shown(value.value)}, given by a person"


def _support(value: Value) -> float:
    return 0.0 if value.support is None else value.support
