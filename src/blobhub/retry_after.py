"""The `Retry-After` header: seconds, or an HTTP date."""

import math
from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after_seconds(header: str | None, now: float) -> float | None:
    """Seconds from `now` (Unix seconds), 0 when they have passed; None without a readable header."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _until_date(header, now)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _until_date(header: str, now: float) -> float | None:
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    # "-0000" gives a date without a zone; HTTP knows no other than GMT.
    return max((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now, 0.0)
