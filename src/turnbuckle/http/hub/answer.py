"""The envelope of every answer (blobhub 2.2), and refusals of the first API's parts in the words of the second."""

import json
from typing import Any, NamedTuple

import msgspec

from turnbuckle.wire.errors import Refused
from turnbuckle.wire.hub_errors import HubRefused, failure_body

JSON, BYTES = b"application/json", b"application/octet-stream"
_CODES = {
    "invalid_request": "invalid_request_body",
    "invalid_param": "invalid_request_body",
    "payload_too_large": "request_too_large",
    "unauthorized": "unauthorized",
    "forbidden": "access_denied",
    "rate_limited": "rate_limited",
    "storage_degraded": "unavailable",
    "stopping": "unavailable",
    "workflows_disabled": "unavailable",
}


class Answer(NamedTuple):
    """What goes out: status, content type, body, further headers."""

    status: int
    kind: bytes
    content: bytes
    headers: list[tuple[bytes, bytes]]


def success(answer: dict[str, Any]) -> Answer:
    """The keys of the answer at the top level; only the check of a definition has a `status` of its own."""
    return Answer(200, JSON, msgspec.json.encode({"status": "success", **answer}), [])


def with_bytes(answer: dict[str, Any], content: bytes) -> Answer:
    """Bytes, with the envelope in a header (blobhub 2.5). A header is ASCII."""
    envelope = json.dumps(json.loads(msgspec.json.encode({"status": "success", **answer})))
    return Answer(200, BYTES, content, [(b"x-response-body", envelope.encode())])


def failure(refused: HubRefused, headers: list[tuple[bytes, bytes]] | None = None) -> Answer:
    body = failure_body(refused) | {"message": f"{refused.message}. {refused.kind.sentence}"}
    return Answer(refused.kind.status, JSON, msgspec.json.encode(body), headers or [])


def in_own_words(refused: Refused) -> HubRefused:
    """A refusal of the engine or the store as this API tells it."""
    return HubRefused(_CODES.get(refused.code, "internal"), refused.message)
