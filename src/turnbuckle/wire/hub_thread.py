"""Threads: session objects that hold an append-only stream of items (blobhub 3.9)."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from turnbuckle.wire.base import Request
from turnbuckle.wire.hub_base import HubChannelRequest, HubOrderedPageRequest, Named, ObjectAlias, Text


class HubTextBlock(Request, tag_field="type", tag="text", frozen=True, kw_only=True):
    text: str


class HubJsonBlock(Request, tag_field="type", tag="json", frozen=True, kw_only=True):
    json: Any


class HubFileLink(Request, omit_defaults=True, frozen=True, kw_only=True):
    alias: ObjectAlias
    name: Text | UnsetType = UNSET
    content_type: Text | UnsetType = UNSET
    size: int | UnsetType = UNSET


class HubFileBlock(Request, tag_field="type", tag="file", frozen=True, kw_only=True):
    file: HubFileLink


ThreadBlock = HubTextBlock | HubJsonBlock | HubFileBlock
BlockType = Literal["text", "json", "file"]


class HubPostSessionThreadItemRequest(HubChannelRequest, tag="post_session_thread_item", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
    content: list[ThreadBlock]
    parent_id: Text | UnsetType = UNSET  # kept, not checked
    metadata: dict[str, Any] | UnsetType = UNSET


class HubListSessionThreadItemsRequest(
    HubOrderedPageRequest, tag="list_session_thread_items", frozen=True, kw_only=True
):
    session_id: Named
    alias: ObjectAlias


class HubGetSessionThreadItemRequest(HubChannelRequest, tag="get_session_thread_item", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
    item_id: Text
