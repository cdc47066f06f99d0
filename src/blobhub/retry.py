"""Which requests are tried again, and after how long (blobhub 4.12)."""

import logging
from collections.abc import Callable
from typing import TypeVar

from blobhub.errors import BlobHubError, NetworkError, RateLimited, RequestNotSent, ServerError
from blobhub.timing import Timing

ATTEMPTS = 3  # in all
MAX_DELAY_SECONDS = 60.0  # of a wait the server asks for

T = TypeVar("T")

_log = logging.getLogger("blobhub")


def with_retries(attempt: Callable[[], T], *, is_safe: bool, timing: Timing, what: str) -> T:
    """What `attempt` gives, tried at most three times. `what` names the request in the log and holds no secret.

    A safe request is repeated after any failure but a refusal; another one only when it cannot have run.
    """
    for tries_before in range(ATTEMPTS - 1):
        try:
            return attempt()
        except BlobHubError as error:
            if not _may_repeat(error, is_safe):
                raise
            code, delay = error.error, _delay_seconds(error, tries_before, timing)
        _log.debug("%s: %s, again in %.2f s", what, code, delay)
        timing.sleep(delay)
    return attempt()


def _may_repeat(error: BlobHubError, is_safe: bool) -> bool:
    if isinstance(error, RateLimited | RequestNotSent):
        return True
    return is_safe and isinstance(error, ServerError | NetworkError)


def _delay_seconds(error: BlobHubError, tries_before: int, timing: Timing) -> float:
    if error.retry_after is not None:
        return min(error.retry_after, MAX_DELAY_SECONDS)
    return timing.rng() * min(8.0, 0.5 * 2.0**tries_before)
