"""What looks like an id: two tests, for two uses (blobhub 1.1)."""

import re

_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_id_in_any_spelling(text: str) -> bool:
    """Canonical, without dashes, in braces, as `urn:uuid:`, in any letter case."""
    # Not uuid.UUID(text): its int() also takes `_` between digits, so an alias of 32 characters could pass for an id.
    digits = text.lower().replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")
    return re.fullmatch(r"[0-9a-f]{32}", digits) is not None


def is_canonical_id(text: str) -> bool:
    """8-4-4-4-12 hex digits in lower case."""
    return _CANONICAL.fullmatch(text) is not None
