"""Times as the hub's texts show them: UTC with six digits and `Z`, so that clients may compare them as text.

Source: blobhub 2.1. The store's clock counts milliseconds; texts have microseconds.
"""

import datetime
import re

_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d{1,6}))?Z", re.ASCII)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def micro_iso(at_us: int) -> str:
    """`2026-01-31T09:05:00.123456Z`, for a time in microseconds since 1970."""
    at = _EPOCH + at_us * _MICROSECOND
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def milli_iso(at_ms: int) -> str:
    """The same for a time of the store's clock: `2026-01-31T09:05:00.123000Z`."""
    return micro_iso(at_ms * 1_000)


def parse_us(text: str) -> int:
    """Microseconds since 1970, for zero to six digits after the point. ValueError when it is no such time."""
    if not _TEXT.fullmatch(text):
        raise ValueError(f"got {text[:40]!r}, expected a time such as 2026-01-31T09:05:00.123456Z")
    at = datetime.datetime.fromisoformat(_six_digits(text))
    return (at - _EPOCH) // _MICROSECOND


def _six_digits(text: str) -> str:
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return f"{whole}.{fraction.ljust(6, '0')}+00:00"
