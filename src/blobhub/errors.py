"""What a call can end with, by what the caller can do about it (blobhub 4.11).

    BlobHubError
    - RateLimited            the request did not run: try again later, after `retry_after` seconds
    - NetworkError           no answer: a write may have run, so look before you repeat it
      - RequestNotSent       no connection: the request did not run
    - ServerError            the server failed, or its answer cannot be used: look before you repeat a write
    - AuthError              the credential was refused: bring another one
    - PermissionDenied       not allowed, or not there; the server does not tell which
    - NotFound               not there
    - Conflict               not in this state: a closed session, a revision that is not writable or not ready
    - CommandError           the command was understood and refused: fix the request
    - ConfigError            the profile file: fix it
    - TypeMismatch           a blob of another type
    - OperationFailed        what was waited for has failed
    - WaitTimeout            what was waited for goes on: wait again

Wrong arguments are `ValueError` and `TypeError`, raised before anything is sent.
"""

from typing import Any


class BlobHubError(Exception):
    """`error` is the machine code, `status` the HTTP status or None when no answer of the server's says so.

    `retry_after` is the wait the server asked for, in seconds; `details` a list of objects of the answer.
    """

    def __init__(
        self,
        error: str,
        message: str = "",
        status: int | None = None,
        *,
        retry_after: float | None = None,
        details: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(error, message, status)
        self.error = error
        self.message = message or error
        self.status = status
        self.retry_after = retry_after
        self.details = details

    def __str__(self) -> str:
        status = "" if self.status is None else f", HTTP {self.status}"
        return f"{self.message} ({self.error}{status})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.error, self.message, self.status), dict(self.__dict__)


class AuthError(BlobHubError):
    """401: the credential was refused."""


class PermissionDenied(BlobHubError):
    """403: not allowed, or not there."""


class NotFound(BlobHubError):
    """404."""


class Conflict(BlobHubError):
    """409: not in this state. `session_not_open` without a status was found by the client."""


class RateLimited(BlobHubError):
    """429: refused before it ran."""


class ServerError(BlobHubError):
    """5xx, or an answer that cannot be read or used."""


class NetworkError(BlobHubError):
    """No answer came. What was sent may have run."""


class RequestNotSent(NetworkError):
    """No connection came about, so nothing ran."""


class CommandError(BlobHubError):
    """A refusal under any other status, 2xx included."""


class ConfigError(BlobHubError):
    """The profile file cannot be used, or does not have the profile."""


class TypeMismatch(BlobHubError):
    """The blob is of another type than the typed module."""


class OperationFailed(BlobHubError):
    """An operation or a revision reached `failed`."""


class WaitTimeout(BlobHubError, TimeoutError):
    """A wait ran out of time. What was waited for goes on."""
