"""What a captured write would change on each record, against what the graph holds now. No I/O."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lbb import entity_id_from_iri
from lbb.workflows import ENTITY_ID_KEY_SENTINEL, ENTITY_IRI_NAMESPACE

Json = Mapping[str, Any]
Kind = Literal["same", "set", "changed", "removed"]
CLASS, PROPERTY, RELATION = (f"https://littlebigbrain.com/{part}/" for part in ("class", "p", "r"))
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@dataclass
class Present:
    """What the graph holds of one record."""

    iri: str | None = None
    label: str = ""
    fields: dict[str, list[str]] = field(default_factory=dict)  # by property: lexical texts, several for a set
    edges: dict[str, list[str]] = field(default_factory=dict)  # by relation, in lower case: labels of the targets


@dataclass(frozen=True)
class Change:
    name: str  # a property, or a relation
    kind: Kind
    before: str | None = None
    after: str | None = None
    quote: str | None = None  # of an edge's evidence


@dataclass(frozen=True)
class RecordDiff:
    iri: str | None  # None for a record that is not there yet
    type: str
    label: str
    changes: list[Change]


def present_of(rows: Iterable[Mapping[str, str]]) -> dict[str, Present]:
    """By IRI, from rows of ?s ?p ?o and, for an edge, ?label of its target."""
    found: dict[str, Present] = {}
    for row in rows:
        present = found.setdefault(row["s"], Present(row["s"]))
        if row["p"] == LABEL:
            present.label = row["o"]
        elif row["p"].startswith(PROPERTY):
            present.fields.setdefault(row["p"].removeprefix(PROPERTY), []).append(row["o"])
        elif row["p"].startswith(RELATION):
            present.edges.setdefault(row["p"].removeprefix(RELATION), []).append(row.get("label") or row["o"])
    return found


def records_of(body: Json) -> dict[str, Json]:
    """A reference to each record the write says something about, by identity: subjects, then the others."""
    owned = body.get("replace_owned") or {}
    named = [*owned.get("subjects", []), *body.get("entity_properties", [])]
    named += [edge["source"] for edge in body.get("triplets", [])]
    named += owned.get("retract_entities", [])
    records: dict[str, Json] = {}
    for reference in named:
        records.setdefault(_identity(reference), reference)
    return records


def iri_of(reference: Json) -> str | None:
    """The record's IRI, when it is named by its id."""
    key = reference.get("key") or ""
    entity_id = reference.get("entity_id") or (
        key.removeprefix(ENTITY_ID_KEY_SENTINEL) if key.startswith(ENTITY_ID_KEY_SENTINEL) else None
    )
    return None if entity_id is None else ENTITY_IRI_NAMESPACE + str(entity_id).lower()


def diff(body: Json, present: Mapping[str, Present]) -> list[RecordDiff]:
    """One for each record the write says something about. `present`, by identity, lacks those that are not there."""
    owned = body.get("replace_owned") or {}
    gone = {_identity(reference) for reference in owned.get("retract_entities", [])}
    found = []
    for identity, reference in records_of(body).items():
        there = present.get(identity, Present())
        changes = [*_fields(identity, body, there, gone), *_edges(identity, body, there, gone)]
        label = there.label or str(reference.get("name", ""))
        found.append(RecordDiff(there.iri or iri_of(reference), str(reference.get("type", "")), label, changes))
    return found


def _fields(identity: str, body: Json, present: Present, gone: set[str]) -> Iterator[Change]:
    owned = body.get("replace_owned") or {}
    is_subject = identity in {_identity(one) for one in owned.get("subjects", [])}
    rows = [row for row in body.get("entity_properties", []) if _identity(row) == identity]
    values = {name: value for row in rows for name, value in _values(row)}
    removed = {name for row in rows for name in row.get("remove_fields") or []}
    removed |= set(owned.get("properties", [])) if is_subject else set()
    if identity in gone or (rows and body.get("property_merge") == "replace"):
        removed |= set(present.fields)
    for name, value in values.items():
        yield _set(name, value, present.fields.get(name))
    for name in sorted(removed - set(values)):
        if name in present.fields:
            yield Change(name, "removed", before=_joined(present.fields[name]))


def _edges(identity: str, body: Json, present: Present, gone: set[str]) -> Iterator[Change]:
    owned = body.get("replace_owned") or {}
    is_subject = identity in {_identity(one) for one in owned.get("subjects", [])}
    edges = [edge for edge in body.get("triplets", []) if _identity(edge["source"]) == identity]
    for edge in edges:
        target = str(edge["target"].get("name", ""))
        kind: Kind = "same" if target in present.edges.get(edge["relation"].lower(), []) else "set"
        yield Change(edge["relation"], kind, after=target, quote=_quote(edge))
    said = {(edge["relation"].lower(), str(edge["target"].get("name", ""))) for edge in edges}
    names = {name.lower(): name for name in owned.get("relations", [])} if is_subject else {}
    if identity in gone:
        names |= {name: name.upper() for name in present.edges if name not in names}
    for lower, name in sorted(names.items()):
        for target in present.edges.get(lower, []):
            if (lower, target) not in said:
                yield Change(name, "removed", before=target)


def _set(name: str, value: Any, before: list[str] | None) -> Change:
    after = shown(value)
    if before is None:
        return Change(name, "set", after=after)
    kind: Kind = "same" if _is_same(before, value) else "changed"
    return Change(name, kind, before=_joined(before), after=after)


def _is_same(before: list[str], value: Any) -> bool:
    if isinstance(value, list):
        return len(before) == len(value) and all(any(_is_value(text, one) for text in before) for one in value)
    return len(before) == 1 and _is_value(before[0], value)


def _is_value(lexical: str, value: Any) -> bool:
    """Whether a value is what the graph's literal says; literals spell numbers, truths and times their own way."""
    if isinstance(value, bool):
        return lexical == ("true" if value else "false")
    if isinstance(value, int | float):
        try:
            return float(lexical) == float(value)
        except ValueError:
            return False
    return lexical == str(value) or (_moment(lexical) is not None and _moment(lexical) == _moment(str(value)))


def _moment(text: str) -> datetime.datetime | None:
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.replace(tzinfo=datetime.UTC) if at.tzinfo is None else at


def shown(value: Any) -> str:
    """A value as a person reads it: 60 for 60.0, and a set between commas."""
    if isinstance(value, list):
        return _joined(map(shown, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))


def _values(row: Json) -> Iterator[tuple[str, Any]]:
    """(field, value) in either shape of a row's properties."""
    properties = row.get("properties") or {}
    if isinstance(properties, Mapping):
        yield from properties.items()
        return
    for item in properties:
        (value,) = item["value"].values()
        yield item["field"], value


def _quote(edge: Json) -> str | None:
    evidence = edge.get("evidence")
    return evidence if isinstance(evidence, str) or evidence is None else evidence.get("text")


def _identity(reference: Json) -> str:
    """Equal for two references to one record, as far as the body tells."""
    iri = iri_of(reference)
    if iri is not None:
        return entity_id_from_iri(iri)
    return "\0".join(
        (
            str(reference.get("type")),
            "key" if reference.get("key") else "name",
            str(reference.get("key") or reference.get("name")),
        )
    )
