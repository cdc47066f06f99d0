"""From an HTTP answer to what the caller gets (lbb-engine 2.4)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from lbb.errors import refusal
from lbb.retry import Tries
from lbb.sender import SenderReply

Model = TypeVar("Model", bound=BaseModel)

_RDF_TEXT = frozenset({"text/turtle", "application/n-triples", "application/trig", "application/n-quads"})


@dataclass(frozen=True, slots=True)
class RawLbbResponse:
    """A 2xx answer. `data` is parsed JSON, a list of it (NDJSON), text (RDF), bytes, or None for an empty body."""

    data: Any
    status_code: int
    request_id: str | None
    version: str | None
    headers: Mapping[str, str]  # case does not matter
    attempts: int
    elapsed_ms: float  # all tries and the waits between them

    @property
    def retry_count(self) -> int:
        return self.attempts - 1

    def model(self, cls: type[Model]) -> Model:
        """`data` as a model of `lbb.models`; pydantic.ValidationError when it does not fit."""
        return cls.model_validate(self.data)


def answer(reply: SenderReply, tries: Tries, unix_time: Callable[[], float], *, binary: bool) -> RawLbbResponse:
    """LbbError unless the status is 2xx; ValueError for a 2xx body that is not the JSON it should be."""
    if not 200 <= reply.status_code < 300:
        raise refusal(reply.status_code, reply.headers, reply.content, unix_time())
    request_id = reply.headers.get("x-request-id")
    return RawLbbResponse(
        data=reply.content if binary else _decoded(reply, request_id),
        status_code=reply.status_code,
        request_id=request_id,
        version=reply.headers.get("lbb-version"),
        headers=reply.headers,
        attempts=tries.attempts,
        elapsed_ms=tries.elapsed_ms,
    )


def _decoded(reply: SenderReply, request_id: str | None) -> Any:
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        text = reply.content.decode()
        if media_type == "application/x-ndjson":
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        if not text:
            return None
        return text if media_type in _RDF_TEXT else json.loads(text)
    except (ValueError, RecursionError) as exc:
        known = f" (request {request_id})" if request_id else ""
        raise ValueError(f"HTTP {reply.status_code}{known} has a body that cannot be read as JSON: {exc}") from exc
