"""A blob: bytes kept beside the engine under their SHA-256 (lbb-engine 3.20)."""

from typing import Annotated

from msgspec import Meta

from turnbuckle.wire.base import ID_PATTERN, Answer, Count, Name, Request


class WorkflowBlobPutQuery(Request, frozen=True, kw_only=True):
    workflow_id: Name


class WorkflowBlobGetQuery(Request, frozen=True, kw_only=True):
    key: Annotated[str, Meta(min_length=1, max_length=512, pattern=ID_PATTERN)]


class WorkflowBlob(Answer, frozen=True, kw_only=True):
    key: str
    sha256: str
    bytes: Count
    created: bool
