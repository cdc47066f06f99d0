"""From an HTTP answer to the success envelope or to an error (blobhub 2.2, 2.5, 4.11)."""

import re
from collections.abc import Mapping
from typing import Any

import httpx

from blobhub.errors import (
    AuthError,
    BlobHubError,
    CommandError,
    Conflict,
    NotFound,
    PermissionDenied,
    RateLimited,
    ServerError,
)
from blobhub.request import OCTETS
from blobhub.retry_after import retry_after_seconds
from blobhub.wire_json import Envelope, json_object

_CLASS_OF_STATUS: dict[int, type[BlobHubError]] = {
    401: AuthError,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}


def envelope_of(response: httpx.Response, now: float) -> Envelope:
    """The success envelope; BlobHubError for everything else. `now` is Unix seconds."""
    body = json_object(response.content)
    if _class_of(response.status_code) is None and body is None:
        raise invalid_response("the answer is not a JSON object", response.status_code)
    if body is None or not response.is_success or body.get("status") != "success":
        raise refusal(response, body, now)
    return body


def octets_of(response: httpx.Response, now: float) -> tuple[Envelope, bytes]:
    """The envelope of the header and the bytes of the body.

    ServerError `unexpected_content_type` for a success that came without bytes.
    """
    if not response.is_success:
        envelope_of(response, now)  # raises
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != OCTETS:
        envelope_of(response, now)  # raises for a refusal under 2xx
        raise ServerError("unexpected_content_type", "bytes were asked for and JSON came", response.status_code)
    envelope = json_object(response.headers.get("x-response-body", ""))
    if envelope is None:
        raise invalid_response("the header X-Response-Body is not a JSON object", response.status_code)
    if envelope.get("status") != "success":
        raise refusal(response, envelope, now)
    return envelope, response.content


def refusal(response: httpx.Response, body: Mapping[str, Any] | None, now: float) -> BlobHubError:
    """The error of an answer that is no success, with what its body tells."""
    status, body = response.status_code, body or {}
    error, message, details = body.get("error"), body.get("message"), body.get("details")
    return (_class_of(status) or CommandError)(
        error if isinstance(error, str) and error else _default_code(status),
        message if isinstance(message, str) else "",
        status,
        retry_after=retry_after_seconds(response.headers.get("retry-after"), now),
        details=details if isinstance(details, list) else None,
    )


def invalid_response(message: str, status: int | None = None) -> ServerError:
    """The error for an answer that cannot be used."""
    return ServerError("invalid_response", message, status)


def record_of(envelope: Envelope, key: str) -> dict[str, Any]:
    """The record under `key`, an object with a string `id`. ServerError `invalid_response` for anything else."""
    record = envelope.get(key)
    if not isinstance(record, dict) or not isinstance(record.get("id"), str) or not record["id"]:
        raise invalid_response(f"the answer has no {key} with an id")
    return record


def _class_of(status: int) -> type[BlobHubError] | None:
    return ServerError if status >= 500 else _CLASS_OF_STATUS.get(status)


def _default_code(status: int) -> str:
    if 200 <= status < 300:
        return "command_failed"
    phrase = httpx.codes.get_reason_phrase(status)
    return re.sub(r"[^a-z0-9]+", "_", phrase.lower()).strip("_") or f"http_{status}"
