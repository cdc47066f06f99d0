"""The data value that holds code: a message whose attributes tell what it was made from (blobhub 6.4, rule 7).

`content_hash` is of the content alone, so whoever edits the text without it leaves a trace.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

ROLE: Final = "interpreter"
SYNTAX_MODE: Final = "python"


class Drift(StrEnum):
    """Whose the content of a component is."""

    UNMANAGED = "UNMANAGED"  # there is none, or nobody left a hash
    MANAGED_CLEAN = "MANAGED_CLEAN"  # as it was built
    REMOTE_EDIT = "REMOTE_EDIT"  # edited since it was built


def content_of(blocks: Iterable[str]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": block} for block in blocks]


def content_hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def built(content: list[dict[str, Any]], before: Any, now: str) -> dict[str, Any]:
    """The value with this content in place of the value `before`: what it had of other keys, and its time, stay."""
    old = _message(before)
    attributes = _mapping(old.get("attributes"))
    digest = content_hash(content)
    made = {
        "content_hash": digest,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, digest)),
        "created_at": attributes.get("created_at") or now,
        "syntax_mode": SYNTAX_MODE,
    }
    message = {**old, "role": ROLE, "content": content, "attributes": {**attributes, **made}}
    return {"type": "message", "message": message}


def drift_of(value: Any) -> Drift:
    stored = _mapping(_message(value).get("attributes")).get("content_hash")
    if not has_content(value) or not isinstance(stored, str) or not stored:
        return Drift.UNMANAGED
    return Drift.MANAGED_CLEAN if stored == content_hash(content_in(value)) else Drift.REMOTE_EDIT


def has_content(value: Any) -> bool:
    """Whether there is any text; a new component of the editor may come with an empty block."""
    content = content_in(value)
    if isinstance(content, list):
        return any(not isinstance(one, Mapping) or one.get("text") != "" for one in content)
    return bool(content)


def content_in(value: Any) -> Any:
    """The content array; a bare text stands for itself."""
    return value if isinstance(value, str) else _message(value).get("content")


def _message(value: Any) -> dict[str, Any]:
    return _mapping(_mapping(value).get("message"))


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}
