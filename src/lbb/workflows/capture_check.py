"""What is wrong with a captured write, seen without the server (lbb-graph 6.1)."""

from collections.abc import Iterator, Mapping
from typing import Any

OWNED_ENTITIES_MAX = 1_000
OWNED_NAMES_MAX = 64


def shape_errors(body: Mapping[str, Any]) -> list[str]:
    """Sentences that begin with the place: "`triplets[0].target` needs a type"."""
    return [*_triplets(body), *_rows(body), *_owned(body)]


def _triplets(body: Mapping[str, Any]) -> Iterator[str]:
    for index, triplet in enumerate(body.get("triplets", ())):
        where = f"triplets[{index}]"
        yield from _reference(triplet.get("source"), f"{where}.source")
        if _is_blank(triplet.get("relation")):
            yield f"`{where}.relation` names no relation"
        yield from _reference(triplet.get("target"), f"{where}.target")
        yield from _fields(triplet.get("properties"), f"{where}.properties")


def _rows(body: Mapping[str, Any]) -> Iterator[str]:
    for index, row in enumerate(body.get("entity_properties", ())):
        where = f"entity_properties[{index}]"
        if _is_blank(row.get("entity_id")):
            yield from _reference(row, where)
        yield from _fields(row.get("properties"), f"{where}.properties")
        yield from _names(row.get("remove_fields") or (), f"{where}.remove_fields")


def _owned(body: Mapping[str, Any]) -> Iterator[str]:
    owned = body.get("replace_owned")
    if owned is None:
        return
    entities = [*owned.get("subjects", ()), *owned.get("retract_entities", ())]
    if not 1 <= len(entities) <= OWNED_ENTITIES_MAX:
        limit = f"1 to {OWNED_ENTITIES_MAX:,}"
        yield f"`replace_owned` names {len(entities):,} subjects and retract_entities together, the limit is {limit}"
    for names in ("relations", "properties"):
        if len(owned.get(names, ())) > OWNED_NAMES_MAX:
            yield f"`replace_owned.{names}` has {len(owned[names])} names, the limit is {OWNED_NAMES_MAX}"
        yield from _names(owned.get(names, ()), f"replace_owned.{names}")
    for kind in ("subjects", "retract_entities"):
        for index, reference in enumerate(owned.get(kind, ())):
            yield from _reference(reference, f"replace_owned.{kind}[{index}]")


def _reference(reference: Any, where: str) -> Iterator[str]:
    if not isinstance(reference, Mapping):
        yield f"`{where}` is no entity reference {{type, name}} but {reference!r:.100}"
        return
    for part in ("type", "name"):
        if _is_blank(reference.get(part)):
            yield f"`{where}` needs a {part} that is not blank"


def _fields(properties: Any, where: str) -> Iterator[str]:
    """Both forms: a map from field to value, and a list of `{"field", "value"}`."""
    if isinstance(properties, Mapping):
        yield from (f"`{where}` has a field with a blank name" for name in properties if _is_blank(name))
        return
    for index, item in enumerate(properties or ()):
        if not isinstance(item, Mapping) or _is_blank(item.get("field")):
            yield f"`{where}[{index}].field` names no field"


def _names(names: Any, where: str) -> Iterator[str]:
    yield from (f"`{where}[{index}]` is a blank name" for index, name in enumerate(names) if _is_blank(name))


def _is_blank(text: Any) -> bool:
    return not isinstance(text, str) or not text.strip()
