"""What a name may look like, and whether a text is an id or a name (blobhub 1, 1.1, 3.8)."""

import re
import uuid
from typing import Literal

from turnbuckle.wire import hub_limits as limits
from turnbuckle.wire.hub_errors import HubRefused

_ALIAS = re.compile(limits.ALIAS_PATTERN.removesuffix("$") + r"\Z")
_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OBJECT_SEGMENT = re.compile(r"[A-Za-z0-9._@-]+")


def is_canonical_id(text: str) -> bool:
    """Exactly 8-4-4-4-12 lower-case hex digits: what the server refuses as an alias and takes for a definition's id."""
    return _CANONICAL.fullmatch(text) is not None


def lenient_id(text: str) -> str | None:
    """The canonical form of an id in any spelling a UUID parser takes, or None when it is no id."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def session_key(text: str) -> tuple[Literal["id", "alias"], str]:
    """How a session is looked up: by the stripped, lower-cased text when that is an id, else by the text as alias."""
    folded = text.strip().lower()
    return ("id", folded) if is_canonical_id(folded) else ("alias", text)


def is_alias(text: str) -> bool:
    return _ALIAS.match(text) is not None and not is_canonical_id(text)


def check_alias(alias: str, noun: str = "alias") -> None:
    """HubRefused(invalid_request_body) unless it may name a session, a definition or a schedule."""
    if not is_alias(alias):
        raise HubRefused(
            "invalid_request_body",
            f"{noun}: got {alias[:80]!r}, expected 6 to 42 of a-z, 0-9, _ and -, and not the form of an id",
        )


def is_object_alias(text: str) -> bool:
    segments = text.split("/")
    return len(text) <= limits.OBJECT_ALIAS_CHARS and all(
        _OBJECT_SEGMENT.fullmatch(segment) and segment not in (".", "..") for segment in segments
    )


def check_object_alias(alias: str) -> None:
    """HubRefused(invalid_session_object_alias) unless it may name an object of a session."""
    if not is_object_alias(alias):
        raise HubRefused(
            "invalid_session_object_alias",
            f"alias: got {alias[:80]!r}, expected 1 to {limits.OBJECT_ALIAS_CHARS} characters: segments of letters, "
            "digits and . _ @ - joined by /, none of them . or ..",
        )
