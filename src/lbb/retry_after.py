"""The `Retry-After` header: seconds, or an HTTP date."""

import math
from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after_seconds(header: str | None, now: float) -> float | None:
    """Seconds from `now` (Unix seconds), negative when a date has passed; None without a readable header."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _until_date(header, now)
    return seconds if math.isfinite(seconds) else None


def _until_date(header: str, now: float) -> float | None:
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    # A date without a zone is UTC (lbb-engine 2.5).
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
