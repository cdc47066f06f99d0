"""One record with its fields and links (lbb-graph 2.11)."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Request
from turnbuckle.wire.graph import GraphSnapshot

_Text = Annotated[str, Meta(max_length=limits.NAME_CHARS)]


class GraphEntityQuery(Request, frozen=True, kw_only=True):
    """By `id`, or by `type` and `key`, or by `type` and `name`."""

    id: Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{32}$(?!\n)")] | None = None
    type: _Text | None = None
    name: _Text | None = None
    key: _Text | None = None
    edges: Annotated[int, Meta(ge=1, le=limits.ENTITY_EDGES_MAX)] = 1_000  # of each direction
    evidence: Annotated[int, Meta(ge=0, le=limits.ENTITY_EVIDENCE_MAX)] = 5  # observations shown
    as_of_commit_seq: Count | None = None
    consistency: Literal["eventual", "strong"] | None = None  # the same here: a commit is published with itself


class GraphEntityRef(Answer, frozen=True, kw_only=True):
    id: str
    type: str
    name: str


class GraphEntityEdge(Answer, frozen=True, kw_only=True):
    edge_event_id: str
    relation: str
    entity: GraphEntityRef  # the record at the other end
    commit_seq: Count
    confidence: float | None = None
    evidence: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None
    valid_time: dict[str, Any] | None = None


class GraphEntityState(Answer, frozen=True, kw_only=True):
    field: str
    value: Any
    commit_seq: Count  # the commit that set it


class GraphEntityPast(Answer, frozen=True, kw_only=True):
    field: str
    value: Any
    from_commit_seq: Count
    to_commit_seq: Count  # the commit that ended it


class GraphObservation(Answer, frozen=True, kw_only=True):
    """Evidence of a link, the newest first."""

    edge_event_id: str
    relation: str
    evidence: dict[str, Any]


class GraphEntityMetadata(Answer, frozen=True, kw_only=True):
    iri: str
    first_commit_seq: Count  # since when it has been there under its present name
    key: str | None = None
    changed_at_ms: AtMs | None = None


class GraphEntityResponse(Answer, frozen=True, kw_only=True):
    entity: GraphEntityRef
    attributes: dict[str, Any]  # typed values by field name
    outgoing: list[GraphEntityEdge]
    incoming: list[GraphEntityEdge]
    current_state: list[GraphEntityState]
    history: list[GraphEntityPast]  # at most 100 values that are no longer so, the newest first
    observations: list[GraphObservation]
    metadata: GraphEntityMetadata
    snapshot: GraphSnapshot
    unavailable_sections: list[str] | None = None
