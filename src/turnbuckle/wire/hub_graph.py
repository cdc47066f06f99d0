"""Session graphs: mutations and queries of a mutable property graph (blobhub 3.10)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import hub_limits as limits
from turnbuckle.wire.base import Request
from turnbuckle.wire.hub_base import HubChannelRequest, HubPageRequest, Moment, Named, ObjectAlias, Text

ElementType = Literal["vertex", "edge"]
Props = dict[str, Any]
Ids = Annotated[list[Text], Meta(max_length=limits.GRAPH_IDS)]


class HubGraphOperation(Request, tag_field="op", omit_defaults=True, frozen=True, kw_only=True):
    """One mutation. `if_rev` must equal the element's present `rev`."""

    if_rev: int | UnsetType = UNSET


class HubAddVertex(HubGraphOperation, tag="add_vertex", frozen=True, kw_only=True):
    labels: Annotated[list[Text], Meta(min_length=1)]
    element_id: Text | UnsetType = UNSET
    props: Props = msgspec.field(default_factory=dict)


class HubAddEdge(HubGraphOperation, tag="add_edge", frozen=True, kw_only=True):
    label: Text
    from_id: Text
    to_id: Text
    element_id: Text | UnsetType = UNSET
    props: Props = msgspec.field(default_factory=dict)


class HubSetVertexProps(HubGraphOperation, tag="set_vertex_props", frozen=True, kw_only=True):
    element_id: Text
    props: Props  # each key replaces the one there is; the others stay


class HubSetEdgeProps(HubGraphOperation, tag="set_edge_props", frozen=True, kw_only=True):
    element_id: Text
    props: Props


class HubRemoveVertexProps(HubGraphOperation, tag="remove_vertex_props", frozen=True, kw_only=True):
    element_id: Text
    keys: list[str]


class HubRemoveEdgeProps(HubGraphOperation, tag="remove_edge_props", frozen=True, kw_only=True):
    element_id: Text
    keys: list[str]


class HubDeleteVertex(HubGraphOperation, tag="delete_vertex", frozen=True, kw_only=True):
    """Takes its edges with it."""

    element_id: Text


class HubDeleteEdge(HubGraphOperation, tag="delete_edge", frozen=True, kw_only=True):
    element_id: Text


GraphOperation = (
    HubAddVertex
    | HubAddEdge
    | HubSetVertexProps
    | HubSetEdgeProps
    | HubRemoveVertexProps
    | HubRemoveEdgeProps
    | HubDeleteVertex
    | HubDeleteEdge
)


class HubApplySessionGraphMutationsRequest(
    HubChannelRequest, tag="apply_session_graph_mutations", frozen=True, kw_only=True
):
    session_id: Named
    alias: ObjectAlias
    operations: Annotated[list[GraphOperation], Meta(max_length=limits.GRAPH_OPERATIONS)]  # all or none


class HubGraphQuery(Request, omit_defaults=True, frozen=True, kw_only=True):
    start: list[Any]  # ["V"], ["E"], ["V", id] or ["E", id]
    steps: Annotated[list[list[Any]], Meta(max_length=limits.GRAPH_STEPS)] = msgspec.field(default_factory=list)


class HubQuerySessionGraphRequest(HubChannelRequest, tag="query_session_graph", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
    query: HubGraphQuery


class HubListSessionGraphElementsRequest(HubPageRequest, tag="list_session_graph_elements", frozen=True, kw_only=True):
    """By creation; by last change when `updated_since` (exclusive) is given."""

    session_id: Named
    alias: ObjectAlias
    type: ElementType | UnsetType = UNSET
    ascending: bool = False
    updated_since: Moment | UnsetType = UNSET
    ids_only: bool = False


class HubGetSessionGraphElementRequest(HubChannelRequest, tag="get_session_graph_element", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
    element_id: Text


class HubGetSessionGraphElementsRequest(HubChannelRequest, tag="get_session_graph_elements", frozen=True, kw_only=True):
    session_id: Named
    alias: ObjectAlias
    element_ids: Ids


class HubListSessionGraphNeighborsRequest(
    HubPageRequest, tag="list_session_graph_neighbors", frozen=True, kw_only=True
):
    session_id: Named
    alias: ObjectAlias
    from_: Ids = msgspec.field(name="from")
    direction: Literal["out", "in", "both"] = "both"
    label: Text | UnsetType = UNSET
    neighbor_label: Text | UnsetType = UNSET
