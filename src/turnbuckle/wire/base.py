"""What all wire structs share: strict requests, lean answers, and the field types of the protocol."""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw

from turnbuckle.wire import limits

Json = Raw  # a user's JSON value, kept as the bytes that came
NULL = Raw(b"null")


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body or query: a field this server does not know is refused, so a typo is not silence."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A response: fields at their default are left off."""


# Python's `$` also matches before a last line's end; its `\Z` is unknown to other readers of the contract.
_END = r"$(?!\n)"
NAME_PATTERN = limits.NAME_PATTERN.removesuffix("$") + _END
Name = Annotated[str, Meta(pattern=NAME_PATTERN)]
# Not blank, no control characters; slashes and emoji are fine (decision 10).
ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*" + _END
WORKER_PATTERN = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*" + _END
Id = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS, pattern=ID_PATTERN)]
WorkerName = Annotated[str, Meta(min_length=1, max_length=limits.WORKER_CHARS, pattern=WORKER_PATTERN)]
Token = Annotated[str, Meta(max_length=256)]
TurnNumber = Annotated[int, Meta(ge=0, le=limits.INT_MAX)]
Count = Annotated[int, Meta(ge=0, le=limits.INT_MAX)]
AtMs = Annotated[int, Meta(ge=0, le=limits.INT_MAX)]
PageLimit = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)]
PollMs = Annotated[int, Meta(ge=0, le=limits.INT_MAX)]  # longer than limits.POLL_MS is cut, not refused
