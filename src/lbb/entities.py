"""Entities of a graph by id: IRIs and the references a commit takes (lbb-engine 8.2; the id is 32 hex digits)."""

import re

ENTITY_IRI_NAMESPACE = "https://littlebigbrain.com/e/"
# A key that starts so addresses an existing record by its id, whether it was written with a key or not.
ENTITY_ID_KEY_SENTINEL = "\0lbb-eid:"

_ID = re.compile(r"[0-9a-f]{32}")


def entity_id_from_iri(iri: str) -> str:
    """The 32 lower-case hex digits of an entity IRI; ValueError for any other IRI."""
    entity_id = iri.removeprefix(ENTITY_IRI_NAMESPACE).lower()
    if not iri.startswith(ENTITY_IRI_NAMESPACE) or not _ID.fullmatch(entity_id):
        raise ValueError(f"expected {ENTITY_IRI_NAMESPACE} and 32 hex digits, got {iri!r}")
    return entity_id


def entity_ref(iri: str, type: str, name: str | None = None) -> dict[str, str]:
    """`{"type", "name", "key"}` of an existing record. Without a name (or with a blank one) the name is the id.

    ValueError for a blank `type` and for an IRI that names no entity.
    """
    if not type.strip():
        raise ValueError("entity_ref needs the class of the entity, got a blank type")
    entity_id = entity_id_from_iri(iri)
    shown = name if name is not None and name.strip() else entity_id
    return {"type": type, "name": shown, "key": ENTITY_ID_KEY_SENTINEL + entity_id}
