"""The questions to a person: one item for each property of each instance, whatever values are read for it."""

from typing import Any

from lbb import stable_hash_hex

from values_extract.coerce import Typed, shown
from values_extract.records import Record
from values_extract.settings import Settings
from values_extract.values import Value, instance_row, source_edge, source_row

_TITLE_CHARS = 200
_QUOTE_CHARS = 4_000


def value_item_key(workflow: str, entity_id: str, property: str) -> str:
    return f"{_prefix(workflow)}{stable_hash_hex(['value_item_v2', entity_id, property])[:24]}"


def legacy_value_key(workflow: str, entity_id: str, property: str, value: Typed) -> str:
    """The key of an older form, an item for each value. Answers given under it still count."""
    return f"{_prefix(workflow)}{stable_hash_hex([entity_id, property, shown(value)])[:24]}"


def value_item(settings: Settings, workflow: str, record: Record, value: Value, reason: str) -> dict[str, Any]:
    """The request that files the question. What an accept writes is in `facts`: the instance's row comes first."""
    unit = settings.units.get(value.property)
    question = {"property": value.property, "value": value.value, "unit": unit, "confidence": value.support}
    says = f"{value.property} = {_with_unit(value.value, unit)}"
    return {
        "kind": "value",
        "key": value_item_key(workflow, record.entity_id, value.property),
        "title": f"{record.name}: {says}?"[:_TITLE_CHARS],
        "question": _given(question),
        "subject": {"iri": record.iri, "type": settings.class_name, "name": record.name},
        "evidence": [_given({"quote": value.quote[:_QUOTE_CHARS], "confidence": value.support})],
        "evidence_hash": record.text_hash,
        "rationale": f"Read from the text, but not written, because {reason}.",
        "origin": {"kind": "agent", "id": f"starter:{workflow}", "label": "values.extract"},
        "facts": {
            "entity_properties": [instance_row(settings, record, [value]), source_row(record, value)],
            "triplets": [source_edge(settings, record, value)],
            "summary": f"{record.name}: {says}"[:_TITLE_CHARS],
        },
    }


def _prefix(workflow: str) -> str:
    return f"starter:{workflow}:value:"


def _with_unit(value: Typed, unit: str | None) -> str:
    return f"{shown(value)} {unit or ''}".strip()


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
