"""Refusals as answers: the one JSON shape of every error (lbb-engine 2.6)."""

import msgspec
from msgspec import UNSET

from turnbuckle.wire.errors import ErrorBody, ErrorEnvelope, Refused


def envelope(refused: Refused, request_id: str) -> bytes:
    """The error's JSON: what was wrong, then what to do next."""
    kind = refused.kind
    return msgspec.json.encode(
        ErrorEnvelope(
            error=ErrorBody(
                type=kind.type,
                code=kind.code,
                message=f"{refused.message}. {kind.sentence}",
                param=refused.param,
                request_id=request_id,
                retryable=UNSET if kind.retryable is None else kind.retryable,
                retry_at_ms=UNSET if refused.retry_at_ms is None else refused.retry_at_ms,
                retry_after_seconds=UNSET if refused.retry_after_s is None else refused.retry_after_s,
                details=refused.details,
            )
        )
    )
