"""IRIs of what a graph holds (lbb-graph 2.3). They come from terms, so no rename changes them."""

from urllib.parse import quote

NAMESPACE = "https://littlebigbrain.com/"
ENTITY, CLASS, PROPERTY, RELATION = (NAMESPACE + part for part in ("e/", "class/", "p/", "r/"))


def of_entity(entity_id: str) -> str:
    return ENTITY + entity_id


def of_class(class_id: str) -> str:
    return CLASS + _path(class_id)


def of_property(property_id: str) -> str:
    return PROPERTY + _path(property_id)


def of_relation(relation_id: str) -> str:
    """Also of an inverse, by its name in lower case."""
    return RELATION + _path(relation_id)


def _path(term: str) -> str:
    # Letters beyond ASCII stand in an IRI as they are.
    return "".join(char if ord(char) > 127 else quote(char, safe="") for char in term)
