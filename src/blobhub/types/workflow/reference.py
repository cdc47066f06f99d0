"""Which definition to run: the forms of a reference (blobhub 3.5)."""

from collections.abc import Mapping
from typing import Any

from blobhub.types.workflow.ids import is_canonical_id, is_id_in_any_spelling

PART_CHARACTERS_MAX = 64
_FORMS: tuple[tuple[str, ...], ...] = (
    ("definition",),
    ("blob", "revision", "definition"),
    ("org", "blob", "revision", "definition"),
)


def parse_reference(reference: str | Mapping[str, Any]) -> dict[str, str]:
    """The `workflow` object: keys `definition`; or `blob`, `revision`, `definition`; or all with `org`.

    ValueError for anything that is none of the forms. What it names is not looked up.
    """
    if isinstance(reference, str):
        return _checked(_split(reference))
    if isinstance(reference, Mapping):
        return _checked(_in_form(reference))
    raise ValueError(f"a reference is text or a mapping, got {type(reference).__name__}")


def _split(reference: str) -> dict[str, Any]:
    parts = reference.split("/")
    for form in _FORMS:
        if len(form) == len(parts):
            return dict(zip(form, parts, strict=True))
    forms = ", ".join("/".join(form) for form in _FORMS)
    raise ValueError(f"the reference {reference!r} has {len(parts)} parts; the forms are {forms}")


def _in_form(reference: Mapping[str, Any]) -> dict[str, Any]:
    for form in _FORMS:
        if set(form) == set(reference):
            return {name: reference[name] for name in form}
    forms = "; ".join(", ".join(form) for form in _FORMS)
    raise ValueError(f"a reference has exactly the keys {forms}; got {', '.join(map(repr, reference)) or 'none'}")


def _checked(parts: dict[str, Any]) -> dict[str, str]:
    for name, part in parts.items():
        if not isinstance(part, str) or not part.strip() or len(part) > PART_CHARACTERS_MAX:
            raise ValueError(f"{name} of a reference has 1 to {PART_CHARACTERS_MAX} characters, got {part!r}")
    revision = parts.get("revision", "default")
    if revision != "default" and not is_id_in_any_spelling(revision):
        raise ValueError(f"revision of a reference is `default` or an id, got {revision!r}")
    if "blob" in parts and "org" not in parts and not is_canonical_id(parts["blob"]):
        raise ValueError(f"a blob named without its organization needs its id, got {parts['blob']!r}")
    return parts
