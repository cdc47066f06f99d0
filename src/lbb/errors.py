"""What a request can end with, by what the caller can do about it.

- `LbbError` (a RuntimeError): the server answered and refused; read `status_code`, `code` and `retryable`.
- `LbbCapabilityError` (a RuntimeError): the server cannot do this; upgrade it, or do without.
- `httpx.RequestError`: no answer came; when the request changes something, look before repeating it.
- `ValueError`: the request cannot be sent as it is, or a 2xx answer is not what it says.
"""

import json
from collections.abc import Mapping
from typing import Any

from lbb.retry_after import retry_after_seconds

_ENDPOINT_CODES = ("stack_endpoint_required", "stack_endpoint_mismatch")


class LbbError(RuntimeError):
    """A refusal. The attributes are the keys of `error`, the envelope's error object, or None (lbb-engine 2.6).

    `str(error)` is the server's message.
    """

    def __init__(self, status_code: int, body: str, error: Mapping[str, Any] | None = None) -> None:
        self.status_code = status_code
        self.body = body
        self.error: dict[str, Any] = dict(error or {})
        super().__init__(self.error.get("message") or f"the server answered HTTP {status_code}: {body[:500]!r}")
        self.type: str | None = self.error.get("type")
        self.code: str | None = self.error.get("code")
        self.param: str | None = self.error.get("param")
        self.request_id: str | None = self.error.get("request_id")
        self.doc_url: str | None = self.error.get("doc_url")
        self.retryable: bool | None = self.error.get("retryable")
        self.retry_after_seconds: float | None = self.error.get("retry_after_seconds")
        self.retry_at_ms: int | None = self.error.get("retry_at_ms")
        self.details: Any = self.error.get("details")

    @property
    def endpoint_hint(self) -> str | None:
        """What to do when the stack is served at an address of its own; None for other refusals."""
        if self.code not in _ENDPOINT_CODES:
            return None
        details = self.details if isinstance(self.details, Mapping) else {}
        endpoint = self.error.get("endpoint_url") or details.get("endpoint_url")
        hint = "This stack has its own address: build the client with base_url set to the stack's endpoint_url"
        return f"{hint}, {endpoint}" if endpoint else hint

    def __reduce__(self) -> tuple[type["LbbError"], tuple[int, str, dict[str, Any]]]:
        return type(self), (self.status_code, self.body, self.error)


class LbbCapabilityError(RuntimeError):
    """The server does not list `capability` in its `/version`."""

    def __init__(self, capability: str) -> None:
        super().__init__(f"the server does not offer {capability!r}; ask GET /version for what it offers")
        self.capability = capability

    def __reduce__(self) -> tuple[type["LbbCapabilityError"], tuple[str]]:
        return type(self), (self.capability,)


def error_object(content: bytes) -> dict[str, Any] | None:
    """The error object of a refusal's body, in either envelope form; None for a body that has none."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return dict(error)
    if isinstance(error, str):
        return {"type": "api_error", **body, "message": error}
    return None


def refusal(status_code: int, headers: Mapping[str, str], content: bytes, now: float) -> LbbError:
    """The LbbError of an answer that is not 2xx. `now` (Unix seconds) counts a `Retry-After` date."""
    body = content.decode(errors="replace")
    error = error_object(content)
    if error is None:
        error = {"type": "api_error", "code": "unstructured_error", "message": body}
    fallbacks = {
        "request_id": headers.get("x-request-id"),
        "retry_after_seconds": _shown_seconds(retry_after_seconds(headers.get("retry-after"), now)),
    }
    return LbbError(status_code, body, error | {k: v for k, v in fallbacks.items() if error.get(k) is None})


def _shown_seconds(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    seconds = max(seconds, 0)
    return int(seconds) if seconds == int(seconds) else seconds
