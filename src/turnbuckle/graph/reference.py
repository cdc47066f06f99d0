"""Which record a request means (lbb-graph 2.4)."""

import re

import msgspec

from turnbuckle.graph.entity import ID_KEY_SENTINEL, entity_id
from turnbuckle.graph.ontology import Ontology
from turnbuckle.wire.commit import EntityPropertiesInput, NamedEntityInput
from turnbuckle.wire.errors import Refused

_ID = re.compile(r"[0-9a-f]{32}")


class Reference(msgspec.Struct, frozen=True):
    """A record as one place of a request names it."""

    path: str  # where, such as `triplets[2].source`
    entity_id: str
    class_id: str
    type: str  # the class as the request spells it
    name: str
    key: str | None
    is_by_id: bool  # else by identity, which makes the record where there is none

    @property
    def keeps_name(self) -> bool:
        """An id in place of a name is no name: the stored one stays."""
        return self.is_by_id and self.name.lower() == self.entity_id


def resolve(ontology: Ontology, named: NamedEntityInput | EntityPropertiesInput, path: str) -> Reference:
    """Refused(invalid_request) for a blank or undeclared type, a blank name, and an id that is none."""
    if not named.type.strip():
        raise refused(f"{path}.type", "got a blank text, expected the name of a class")
    if not named.name.strip():
        raise refused(f"{path}.name", "got a blank text, expected the record's name")
    declared = ontology.entity_type(named.type)
    if declared is None:
        what = f"class {named.type[:80]!r} is not declared; add it with the operation add_entity_type"
        raise refused(f"{path}.type", what)
    by_id = _id_of(named, path)
    found = by_id or entity_id(declared.id, named.key, named.name)
    key = None if by_id else named.key
    return Reference(path, found, declared.id, named.type, named.name, key, by_id is not None)


def _id_of(named: NamedEntityInput | EntityPropertiesInput, path: str) -> str | None:
    if isinstance(named, EntityPropertiesInput) and named.entity_id is not None:
        return _checked_id(named.entity_id, f"{path}.entity_id")
    if named.key is not None and named.key.startswith(ID_KEY_SENTINEL):
        return _checked_id(named.key.removeprefix(ID_KEY_SENTINEL), f"{path}.key")
    if named.key is not None and ("\0" in named.key or not named.key.strip()):
        raise refused(f"{path}.key", "got a blank text or one with NUL, expected a key")
    return None


def _checked_id(text: str, path: str) -> str:
    found = text.lower()
    if not _ID.fullmatch(found):
        raise refused(path, f"got the id {text[:80]!r}, expected 32 hex digits")
    return found


def refused(path: str, what: str) -> Refused:
    return Refused("invalid_request", f"{path}: {what}", param=path)
