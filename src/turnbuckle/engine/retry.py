"""How long a counted retry waits."""

from turnbuckle.wire.limits import RETRY_DELAY_MS


def delay_ms(failures: int) -> int:
    """1, 2, 4 ... seconds after the first, second, third failure, at most a minute; no jitter (P1)."""
    first, most = RETRY_DELAY_MS
    return min(most, first << min(failures - 1, 16))
