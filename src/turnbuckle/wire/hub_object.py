"""Session objects and files: typed values under an alias (blobhub 3.8)."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import hub_limits as limits
from turnbuckle.wire.base import Json
from turnbuckle.wire.hub_base import HubChannelRequest, HubPageRequest, Named, ObjectAlias, Text


class HubUploadSessionObjectRequest(HubChannelRequest, tag="upload_session_object", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
    value: Json  # an object with a `type`


class HubDownloadSessionObjectRequest(HubChannelRequest, tag="download_session_object", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias


class HubDeleteSessionObjectRequest(HubChannelRequest, tag="delete_session_object", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias


class HubListSessionObjectsRequest(HubPageRequest, tag="list_session_objects", frozen=True, kw_only=True):
    session_id: Named
    prefix: Annotated[str, Meta(max_length=limits.OBJECT_ALIAS_CHARS)] | UnsetType = UNSET
    delimiter: Annotated[str, Meta(min_length=1, max_length=8)] | UnsetType = UNSET


class HubUploadSessionFileRequest(HubChannelRequest, tag="upload_session_file", frozen=True, kw_only=True):
    """In the header X-Request-Body; the body is the file (blobhub 2.5)."""

    session_id: Named
    alias: ObjectAlias
    name: Text
    content_type: Text
    size: Annotated[int, Meta(ge=0, le=limits.FILE_BYTES)]


class HubDownloadSessionFileRequest(HubChannelRequest, tag="download_session_file", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
