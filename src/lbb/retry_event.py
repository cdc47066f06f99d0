"""What `on_retry` is told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryEvent:
    """One try failed and another follows after `delay_seconds` (lbb-engine 2.5)."""

    method: str  # upper case
    path: str
    attempt: int  # the try that failed, from 1
    status_code: int | None  # None: no answer came
    error_code: str | None
    delay_seconds: float
    elapsed_ms: float  # since the first try began
