"""Sessions: where executions run and objects are stored (blobhub 3.3, 3.7)."""

from msgspec import UNSET, UnsetType

from turnbuckle.wire.hub_base import Description, HubChannelRequest, HubOrderedPageRequest, HubPageRequest, Named


class HubCreateSessionRequest(HubChannelRequest, tag="create_session", frozen=True, kw_only=True):
    alias: str | UnsetType = UNSET  # grammar: hub/alias.py
    description: Description | UnsetType = UNSET


class HubGetSessionRequest(HubChannelRequest, tag="get_session", frozen=True, kw_only=True):
    session_id: Named  # an id or an alias, as in the next four


class HubUpdateSessionRequest(HubChannelRequest, tag="update_session", frozen=True, kw_only=True):
    session_id: Named
    alias: str | UnsetType = UNSET
    description: Description | UnsetType = UNSET


class HubCloseSessionRequest(HubChannelRequest, tag="close_session", frozen=True, kw_only=True):
    session_id: Named


class HubOpenSessionRequest(HubChannelRequest, tag="open_session", frozen=True, kw_only=True):
    session_id: Named


class HubDeleteSessionRequest(HubChannelRequest, tag="delete_session", frozen=True, kw_only=True):
    session_id: Named


class HubListSessionsRequest(HubPageRequest, tag="list_sessions", frozen=True, kw_only=True):
    ascending: bool = False


class HubListSessionEventsRequest(HubOrderedPageRequest, tag="list_session_events", frozen=True, kw_only=True):
    session_id: Named
