"""Bodies and queries of the routes beside the data channel: tokens, revisions, keys, members (blobhub 2.3, 2.4)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import hub_limits as limits
from turnbuckle.wire.base import Request
from turnbuckle.wire.hub_base import Cursor, Description, Named

Comment = Annotated[str, Meta(min_length=limits.COMMENT_CHARS[0], max_length=limits.COMMENT_CHARS[1])]


class HubRefreshTokenRequest(Request, frozen=True, kw_only=True):
    refresh_token: Annotated[str, Meta(min_length=1, max_length=limits.CURSOR_CHARS)]


class HubListRevisionsQuery(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=limits.REVISIONS_PAGE_MAX)] = limits.REVISIONS_PAGE_DEFAULT
    cursor: Cursor | UnsetType = UNSET


class HubCreateRevisionRequest(Request, frozen=True, kw_only=True):
    comment: Comment


class HubCommitRevisionRequest(Request, frozen=True, kw_only=True):
    comment: Comment | UnsetType = UNSET


class HubCreateKeyRequest(Request, frozen=True, kw_only=True):
    role: Literal["read", "write"]
    description: Description | UnsetType = UNSET


class HubAddMemberRequest(Request, frozen=True, kw_only=True):
    user_id: Named
    role: Literal["admin", "write", "read"]


class HubSetDefaultRevisionRequest(Request, frozen=True, kw_only=True):
    """Ours: which revision `default` means from now on (decision 39)."""

    revision_id: Named
