"""What the texts of a watch stand for in an ontology: classes, fields, and links with a step (lbb-graph 5.1).

A term is written as a name, as `p:`, `r:` or `class:` and a name, or as an IRI, in angle brackets or bare for a class.
"""

import hashlib
import re
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from turnbuckle.graph import iri
from turnbuckle.graph.named import Owned
from turnbuckle.graph.ontology import EntityType, Ontology, Property, Relation
from turnbuckle.graph.watch import Settings, WatchedField
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.named import WorkflowOwns
from turnbuckle.wire.watch import WorkflowWatch, WorkflowWatchField, WorkflowWatchFieldRequest, WorkflowWatchRequest

LABEL = "label"
LABEL_IRI = "http://www.w3.org/2000/01/rdf-schema#label"
_STEPS = re.compile(r"<[^<>]*>|[^/<>]+")  # of a path; slashes inside an IRI separate nothing
_MOST_STEPS = 2


class Field(NamedTuple):
    token: str  # as the change feed names it
    name: str


# -- what a request says -----------------------------------------------------------------------------------------


def settings(ontology: Ontology, asked: WorkflowWatchRequest, param: str) -> Settings:
    """The watch by terms. Refused(workflow_param_invalid) for what is not declared."""
    fields = [_watched(ontology, field, f"{param}.fields[{at}]") for at, field in enumerate(asked.fields or [])]
    return Settings(
        class_of(ontology, asked.class_, f"{param}.class").id,
        list({(field.link, field.token): field for field in fields}.values()),
        sorted({field(ontology, text, f"{param}.exclude[{at}]").token for at, text in enumerate(asked.exclude or [])}),
    )


def owned(ontology: Ontology, asked: WorkflowOwns | None) -> Owned:
    """What a workflow writes, by terms."""
    if asked is None:
        return Owned()
    classes = [class_of(ontology, text, f"owns.classes[{at}]").id for at, text in enumerate(asked.classes or [])]
    relations = [_relation(ontology, text, f"owns.relations[{at}]").id for at, text in enumerate(asked.relations or [])]
    properties = [
        _property(ontology, text, f"owns.properties[{at}]").id for at, text in enumerate(asked.properties or [])
    ]
    return Owned(sorted(set(classes)), sorted(set(relations)), sorted(set(properties)))


def class_of(ontology: Ontology, text: str, param: str) -> EntityType:
    bare = text.strip().removeprefix("<").removesuffix(">")
    found = ontology.entity_types.get(unquote(bare.removeprefix(iri.CLASS))) if bare.startswith(iri.CLASS) else None
    found = found or ontology.entity_type(bare.removeprefix("class:"))
    if found is None:
        raise _undeclared(param, f"got {text!r}, expected a declared class{_known(ontology)}")
    return found


def field(ontology: Ontology, text: str, param: str) -> Field:
    """A property, a relation or the label. A name that is both is the property."""
    bare = text.strip()
    if bare in (LABEL, "rdfs:label", f"<{LABEL_IRI}>"):
        return Field(LABEL, LABEL)
    if (own := _find_property(ontology, bare)) is not None:
        return Field(f"p:{own.id}", own.name)
    if (relation := _find_relation(ontology, bare)) is not None:
        return Field(f"r:{relation.id}", relation.name)
    raise _undeclared(param, f"got {text!r}, expected `label` or a declared property or relation")


def _watched(ontology: Ontology, asked: str | WorkflowWatchFieldRequest, param: str) -> WatchedField:
    request = WorkflowWatchFieldRequest(path=asked) if isinstance(asked, str) else asked
    steps = _STEPS.findall(request.path)
    if "/".join(steps) != request.path or not 1 <= len(steps) <= _MOST_STEPS:
        raise _undeclared(param, f"got {request.path!r}, expected one step, or a link and a step such as `about/label`")
    step = field(ontology, steps[-1], param)
    link = _relation(ontology, steps[0], param) if len(steps) == _MOST_STEPS else None
    name = request.name or (step.name if link is None else f"{link.name.lower()}/{step.name}")
    return WatchedField(step.token, name, None if link is None else link.id, request.max)


def _relation(ontology: Ontology, text: str, param: str) -> Relation:
    found = _find_relation(ontology, text.strip())
    if found is None:
        raise _undeclared(param, f"got {text!r}, expected a declared relation")
    return found


def _property(ontology: Ontology, text: str, param: str) -> Property:
    found = _find_property(ontology, text.strip())
    if found is None:
        raise _undeclared(param, f"got {text!r}, expected a declared property")
    return found


def _find_property(ontology: Ontology, text: str) -> Property | None:
    if (id := _id_in(text, iri.PROPERTY)) is not None:
        return ontology.properties.get(id)
    return None if text.startswith("r:") else ontology.property(text.removeprefix("p:"))


def _find_relation(ontology: Ontology, text: str) -> Relation | None:
    if (id := _id_in(text, iri.RELATION)) is not None:
        return ontology.relations.get(id)
    return None if text.startswith("p:") else ontology.relation(text.removeprefix("r:"))


def _id_in(text: str, namespace: str) -> str | None:
    bare = text.removeprefix("<").removesuffix(">")
    return unquote(bare.removeprefix(namespace)) if bare.startswith(namespace) else None


def _undeclared(path: str, what: str) -> Refused:
    """The sentence names the place; `param` is the setting (lbb-graph 5.1)."""
    return Refused("workflow_param_invalid", f"{path}: {what}", param=path.partition(".")[0])


def _known(ontology: Ontology) -> str:
    names = sorted(one.name for one in ontology.entity_types.values())
    return f" such as {', '.join(names[:10])}" if names else "; none is declared in this graph"


# -- what the ontology says now ----------------------------------------------------------------------------------


def classes_of(ontology: Ontology, ids: list[str]) -> frozenset[str]:
    """The classes and those below them, without what is no longer declared."""
    found = [ontology.with_sub_types(id) for id in ids if id in ontology.entity_types]
    return frozenset().union(*found)


def schema(ontology: Ontology, watched: Settings) -> str:
    """What is declared of the watched class and fields, as a text that changes when that does (lbb-graph 5.3, 5)."""
    ids = sorted(classes_of(ontology, [watched.class_id]))
    classes = [(one.id, one.name, one.super_types) for one in (ontology.entity_types[id] for id in ids)]
    fields = [_declared(ontology, field) for field in watched.fields]
    return hashlib.blake2b(msgspec.json.encode([classes, fields]), digest_size=16).hexdigest()


def _declared(ontology: Ontology, field: WatchedField) -> tuple[str | None, ...]:
    """What a reader of the field must know of it. A relation's domain is no matter of this class."""
    kind, _, id = field.token.partition(":")
    link = None if field.link is None else ontology.relations.get(field.link)
    own = ontology.properties.get(id) if kind == "p" else ontology.relations.get(id)
    names = (None if link is None else link.name, None if own is None else own.name)
    return (*names, own.value_type, own.unit) if isinstance(own, Property) else names


def missing(ontology: Ontology, watched: Settings) -> str | None:
    """Why the watch has nothing to look at, when its class is gone."""
    if watched.class_id not in ontology.entity_types:
        return f"the class {iri.of_class(watched.class_id)} is no longer declared"
    return None


# -- for a reader ------------------------------------------------------------------------------------------------


def shown(watched: Settings) -> WorkflowWatch:
    return WorkflowWatch(
        class_=iri.of_class(watched.class_id),
        fields=[WorkflowWatchField(path=_path(field), name=field.name, max=field.max) for field in watched.fields],
        exclude=[iri_of(token) for token in watched.exclude],
    )


def shown_owned(owned: Owned) -> WorkflowOwns | None:
    if owned == Owned():
        return None
    return WorkflowOwns(
        classes=[iri.of_class(id) for id in owned.classes] or None,
        relations=[iri.of_relation(id) for id in owned.relations] or None,
        properties=[iri.of_property(id) for id in owned.properties] or None,
    )


def _path(field: WatchedField) -> list[str]:
    step = iri_of(field.token)
    return [step] if field.link is None else [iri.of_relation(field.link), step]


def iri_of(token: str) -> str:
    """The IRI of a field as the change feed names it."""
    kind, _, id = token.partition(":")
    if kind == LABEL:
        return LABEL_IRI
    return iri.of_property(id) if kind == "p" else iri.of_relation(id)
