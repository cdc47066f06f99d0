"""The naming of a definition: alone, with blob and revision, or with org, blob and revision (blobhub 3.5).

Path forms: `<definition>`, `<blob id>/<revision>/<definition>`, `<org>/<blob>/<revision>/<definition>`.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from turnbuckle.hub.alias import is_canonical_id, lenient_id
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_limits import REFERENCE_PART_CHARS

DEFAULT: Final = "default"
_FORMS: Final = (("definition",), ("blob", "revision", "definition"), ("org", "blob", "revision", "definition"))
_BY_COUNT: Final = {len(form): form for form in _FORMS}
_KEY_SETS: Final = {frozenset(form): form for form in _FORMS}


class BadReference(ValueError):
    """A text or mapping that names no definition in any of the three forms."""


class WorkflowReference(msgspec.Struct, frozen=True, omit_defaults=True):
    definition: str  # an id in canonical form, else an alias of the category `workflow`
    org: str | None = None
    blob: str | None = None
    revision: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether it names a definition of the revision that runs it."""
        return self.blob is None

    @property
    def is_definition_id(self) -> bool:
        return is_canonical_id(self.definition)

    @property
    def revision_id(self) -> str | None:
        """The id in canonical form; None for `default`, which the blob must be asked for."""
        return None if self.revision in (None, DEFAULT) else lenient_id(self.revision or "")


def parse_path(path: str) -> WorkflowReference:
    """BadReference unless it has 1, 3 or 4 parts that are as the form asks."""
    parts = path.split("/")
    form = _BY_COUNT.get(len(parts))
    if form is None:
        raise BadReference(f"got {len(parts)} parts joined by /, expected 1, 3 or 4")
    return _checked(dict(zip(form, parts, strict=True)))


def parse_mapping(mapping: Mapping[str, Any]) -> WorkflowReference:
    """BadReference unless its keys are one of the three sets and each part is as the form asks."""
    if frozenset(mapping) not in _KEY_SETS:
        raise BadReference(f"got the keys {sorted(map(str, mapping))}, expected one of {[list(f) for f in _FORMS]}")
    return _checked(mapping)


def parse_request(mapping: Mapping[str, Any]) -> WorkflowReference:
    """The `workflow` object of a request. HubRefused(invalid_request_body) when it is malformed."""
    try:
        return parse_mapping(mapping)
    except BadReference as exc:
        raise HubRefused("invalid_request_body", f"workflow: {exc}") from exc


def path_of(reference: WorkflowReference) -> str:
    parts = (reference.org, reference.blob, reference.revision, reference.definition)
    return "/".join(part for part in parts if part is not None)


def _checked(parts: Mapping[str, Any]) -> WorkflowReference:
    for name, part in parts.items():
        _check_part(name, part)
    revision = parts.get("revision", DEFAULT)
    if revision != DEFAULT and lenient_id(revision) is None:
        raise BadReference(f"revision: got {revision!r}, expected `default` or an id")
    if "blob" in parts and "org" not in parts and not is_canonical_id(parts["blob"]):
        raise BadReference(f"blob: got {parts['blob']!r} without an org, expected the blob's id")
    return WorkflowReference(**parts)


def _check_part(name: str, part: Any) -> None:
    if not isinstance(part, str):
        raise BadReference(f"{name}: got {type(part).__name__}, expected a text")
    if not part.strip():
        raise BadReference(f"{name}: got a blank text")
    if len(part) > REFERENCE_PART_CHARS:
        raise BadReference(f"{name}: got {len(part)} characters, expected at most {REFERENCE_PART_CHARS}")
    if "/" in part:
        raise BadReference(f"{name}: got {part!r}, expected no /")
