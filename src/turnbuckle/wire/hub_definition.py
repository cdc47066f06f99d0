"""Definitions: documents on a revision, and the check of one (blobhub 3.2)."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from turnbuckle.wire.base import Json
from turnbuckle.wire.hub_base import HubChannelRequest, Named

DefinitionCategory = Literal["workflow", "playground"]


class HubListDefinitionsRequest(HubChannelRequest, tag="list_definitions", frozen=True, kw_only=True):
    category: DefinitionCategory


class HubCreateDefinitionRequest(HubChannelRequest, tag="create_definition", frozen=True, kw_only=True):
    alias: str  # grammar: hub/alias.py
    category: DefinitionCategory
    layout: dict[str, Any] | UnsetType = UNSET  # of a playground only


class HubUploadDefinitionRequest(HubChannelRequest, tag="upload_definition", frozen=True, kw_only=True):
    definition_id: Named
    definition: Json  # the document, kept as the bytes that came


class HubDownloadDefinitionRequest(HubChannelRequest, tag="download_definition", frozen=True, kw_only=True):
    definition_id: Named


class HubDeleteDefinitionRequest(HubChannelRequest, tag="delete_definition", frozen=True, kw_only=True):
    definition_id: Named


class HubCheckDefinitionRequest(HubChannelRequest, tag="check_definition", frozen=True, kw_only=True):
    definition_id: Named
