"""What the requests of the hub share: closed bodies, keys that are left out rather than null, and the field types.

A data-channel body is flat, `{"command": name, ...arguments}`: the command's name is the tag of its struct, so one
decode chooses the struct and checks it (blobhub 2.4, 3). wire/hub_channel.py lists all commands.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import hub_limits as limits
from turnbuckle.wire.base import Request

Text = Annotated[str, Meta(min_length=1, max_length=limits.NAME_CHARS)]
Description = Annotated[str, Meta(max_length=limits.DESCRIPTION_CHARS)]
# An id or an alias; whether it names something is the operation's question, and then a 403.
Named = Annotated[str, Meta(min_length=1, max_length=limits.REFERENCE_PART_CHARS)]
ObjectAlias = Annotated[str, Meta(max_length=4 * limits.OBJECT_ALIAS_CHARS)]  # grammar: hub/alias.py, a code of its own
Cursor = Annotated[str, Meta(min_length=1, max_length=limits.CURSOR_CHARS)]
PageLimit = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)]
Moment = Annotated[str, Meta(min_length=1, max_length=40)]  # read by hub/moment.py


class HubChannelRequest(Request, tag_field="command", omit_defaults=True, frozen=True, kw_only=True):
    """A query or command of the data channel. `engine`, which older clients send, is taken and ignored (2.9)."""

    engine: str | UnsetType = UNSET


class HubPageRequest(HubChannelRequest, frozen=True, kw_only=True):
    """A listing in pages: `limits.PAGE_DEFAULT` rows when `limit` is left out."""

    cursor: Cursor | UnsetType = UNSET
    limit: PageLimit | UnsetType = UNSET

    @property
    def rows(self) -> int:
        return limits.PAGE_DEFAULT if isinstance(self.limit, UnsetType) else self.limit


class HubOrderedPageRequest(HubPageRequest, frozen=True, kw_only=True):
    """Newest first unless `ascending`; both bounds are exclusive."""

    ascending: bool = False
    created_since: Moment | UnsetType = UNSET
    created_before: Moment | UnsetType = UNSET
