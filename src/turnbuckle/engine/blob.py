"""A blob's key and when it may go. Source: lbb-engine 3.20."""

import re

from turnbuckle.engine.run import named_workflow

_SHA256 = re.compile(rb"[0-9a-f]{64}")


def key(instance_id: str, sha256: str) -> str:
    return f"{named_workflow(instance_id)}/{sha256}"


def mentions(value: bytes) -> set[str]:
    """Every SHA-256 that a JSON value names; a superset of the blob keys in it, so nothing in use is removed."""
    return {found.decode() for found in _SHA256.findall(value)}
