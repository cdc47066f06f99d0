"""Times as the wire's texts show them."""

import datetime


def rfc3339(at_ms: int) -> str:
    """`2026-01-31T08:05:00.123Z`"""
    at = datetime.datetime.fromtimestamp(at_ms / 1_000, datetime.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
