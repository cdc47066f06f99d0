"""Whether a request is tried again, and after how long (lbb-engine 2.5). Time and chance are arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lbb.errors import error_object
from lbb.request import PreparedRequest, RetryClass
from lbb.retry_after import retry_after_seconds
from lbb.retry_event import RetryEvent
from lbb.sender import SenderReply

MAX_DELAY_SECONDS = 60.0
_MAX_DOUBLINGS = 30  # past any cap; keeps the power from overflowing


@dataclass(frozen=True, slots=True)
class Chance:
    """The clocks and the dice of a client; tests bring their own."""

    monotonic: Callable[[], float]  # seconds
    unix_time: Callable[[], float]  # seconds
    uniform: Callable[[float, float], float]


class Tries:
    """The tries of one request. Tell it how each ended; it answers with the delay before the next, or None: final."""

    def __init__(
        self, request: PreparedRequest, chance: Chance, on_retry: Callable[[RetryEvent], object] | None
    ) -> None:
        self._request = request
        self._chance = chance
        self._on_retry = on_retry
        self._started_at = chance.monotonic()
        self.attempts = 0  # finished ones

    @property
    def elapsed_ms(self) -> float:
        return (self._chance.monotonic() - self._started_at) * 1000

    def after_reply(self, reply: SenderReply) -> float | None:
        """Seconds to wait before the next try; None when this answer is the last."""
        self.attempts += 1
        status = reply.status_code
        if not _may_repeat(self._request.policy.retry, status):
            return None
        error = error_object(reply.content) or {}
        if error.get("retryable") is False:
            return None
        told = retry_after_seconds(reply.headers.get("retry-after"), self._chance.unix_time())
        return self._next(_capped(told, error.get("retry_after_seconds")), status, error.get("code"))

    def after_no_reply(self) -> float | None:
        """The same after a transport failure, which only the class True repeats."""
        self.attempts += 1
        return self._next(None, None, None) if self._request.policy.retry is True else None

    def _next(self, told: float | None, status: int | None, code: Any) -> float | None:
        policy, elapsed_ms = self._request.policy, self.elapsed_ms
        if self.attempts > policy.max_retries:
            return None
        delay = self._jittered() if told is None else told
        if elapsed_ms + delay * 1000 > policy.budget_ms:
            return None
        if self._on_retry is not None:
            code = code if isinstance(code, str) else None
            event = RetryEvent(self._request.method, self._request.path, self.attempts, status, code, delay, elapsed_ms)
            self._on_retry(event)
        return delay

    def _jittered(self) -> float:
        doublings = min(self.attempts - 1, _MAX_DOUBLINGS)
        return self._chance.uniform(0, min(self._request.policy.base_delay * 2**doublings, MAX_DELAY_SECONDS))


def _may_repeat(retry: RetryClass, status: int) -> bool:
    if status == 429:
        return retry is not False
    return status >= 500 and retry is True


def _capped(header: float | None, body: Any) -> float | None:
    """The wait the server asked for: of its header, else of its body; None when it asked for none."""
    if header is not None and header >= 0:
        return min(header, MAX_DELAY_SECONDS)
    is_number = isinstance(body, int | float) and not isinstance(body, bool)
    return min(float(body), MAX_DELAY_SECONDS) if is_number and body >= 0 else None
