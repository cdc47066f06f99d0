"""A commit: records, fields and links written at once (lbb-graph 2.5 to 2.8), and the import of many (2.9)."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, Count, Name, Request, Token, TurnNumber
from turnbuckle.wire.ontology import GraphPreconditions

Text = Annotated[str, Meta(max_length=limits.NAME_CHARS)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Names = Annotated[list[Text], Meta(max_length=limits.OWNED_NAMES)]


class NamedEntityInput(Request, omit_defaults=True, frozen=True, kw_only=True):
    """A record by class and key, or by class and name. A key of NUL, `lbb-eid:` and an id names one by its id."""

    type: Text
    name: Text
    key: Text | None = None


class TypedFieldInput(Request, frozen=True, kw_only=True):
    field: Text
    value: dict[str, Any]  # {"<type>": v}


# A flat object {field: scalar or array}, or a list of fields with typed values.
PropertiesInput = dict[str, Any] | list[TypedFieldInput]


class EvidenceRegion(Request, omit_defaults=True, frozen=True, kw_only=True):
    """A box on a page; coordinates are parts of its width and height, from the top left."""

    page: Count
    x0: Ratio
    y0: Ratio
    x1: Ratio
    y1: Ratio
    confidence: Ratio | None = None


class EvidenceInput(Request, omit_defaults=True, frozen=True, kw_only=True):
    text: Annotated[str, Meta(max_length=limits.EVIDENCE_CHARS)] | None = None
    source_id: Text | None = None
    region: EvidenceRegion | None = None
    observation_id: Text | None = None


class ValidTimeInput(Request, omit_defaults=True, frozen=True, kw_only=True):
    """When the link held in the world. Stored as it came."""

    start: Text | None = None
    end: Text | None = None
    granularity: Text | None = None
    source_text: Text | None = None


class TripletInput(Request, omit_defaults=True, frozen=True, kw_only=True):
    source: NamedEntityInput
    relation: Text
    target: NamedEntityInput
    confidence: Ratio | None = None
    evidence: Annotated[str, Meta(max_length=limits.EVIDENCE_CHARS)] | EvidenceInput | None = None
    properties: PropertiesInput | None = None
    valid_time: ValidTimeInput | None = None


class EntityPropertiesInput(Request, omit_defaults=True, frozen=True, kw_only=True):
    type: Text
    name: Text
    key: Text | None = None
    entity_id: Text | None = None  # 32 hex digits; wins over key and name
    properties: PropertiesInput | None = None
    remove_fields: Annotated[list[Text], Meta(max_length=limits.FIELDS_PER_ROW)] | None = None


Owned = Annotated[list[NamedEntityInput], Meta(max_length=limits.OWNED_RECORDS)]


class ReplaceOwned(Request, omit_defaults=True, frozen=True, kw_only=True):
    """What the writer owns of these records and does not assert again goes, in the same commit (lbb-graph 2.6)."""

    subjects: Owned | None = None
    relations: Names | None = None
    properties: Names | None = None
    retract_entities: Owned | None = None


class WorkflowFence(Request, frozen=True, kw_only=True):
    """The commit is made only while the token holds the turn."""

    workflow_id: Name
    turn: TurnNumber
    token: Token


class GraphCommitRequest(Request, frozen=True, kw_only=True):
    triplets: Annotated[list[TripletInput], Meta(max_length=limits.COMMIT_ROWS)] | None = None
    entity_properties: Annotated[list[EntityPropertiesInput], Meta(max_length=limits.COMMIT_ROWS)] | None = None
    edge_idempotency: Literal["append", "skip_unchanged"] | None = None  # append
    property_merge: Literal["merge", "replace"] | None = None  # merge
    replace_owned: ReplaceOwned | None = None
    workflow_fence: WorkflowFence | None = None
    observed_at: Text | None = None
    preconditions: GraphPreconditions | None = None


class TripletCommitFile(GraphCommitRequest, frozen=True, kw_only=True):
    """The same as a file keeps it."""


class GraphCommitQuery(Request, frozen=True, kw_only=True):
    dry_run: bool = False


class OwnedOutputsOutcome(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """What `replace_owned` removed."""

    edges_retracted: Count
    fields_removed: Count
    entities_retracted: Count


class WrittenProperties(Answer, frozen=True, kw_only=True):
    type: str
    name: str
    fields: list[str]
    removed_fields: list[str] | None = None


class SkippedEdge(Answer, frozen=True, kw_only=True):
    path: str  # `triplets[3]`
    reason: Literal["unchanged"]


class SkippedEntity(Answer, frozen=True, kw_only=True):
    """A row about a record that was retracted since it was read (decisions 27 and 46): the row was left out."""

    path: str  # `entity_properties[3]`
    entity_id: str


class GraphCommitFacts(Answer, frozen=True, kw_only=True):
    """The commit in the inner shape."""

    commit_seq: Count
    entity_ids: list[str]
    edge_event_ids: list[str]
    observation_ids: list[str]
    idempotent_replay: bool
    visibility_token: str
    skipped_edges: list[SkippedEdge] | None = None


class GraphCommitResponse(Answer, frozen=True, kw_only=True):
    commit_seq: Count
    idempotency_key: str
    replayed: bool
    graph_created: bool
    entities_written: Count  # records that were made or changed
    edges_written: Count
    visibility_token: str
    written_properties: list[WrittenProperties]
    commit: GraphCommitFacts
    no_op: bool | None = None
    owned: OwnedOutputsOutcome | None = None
    skipped_entities: list[SkippedEntity] | None = None


class GraphCommitDryRunResponse(Answer, frozen=True, kw_only=True):
    dry_run: bool
    op_count: Count
    triplets: Count  # links that would be written, after unchanged ones are left out
    entity_properties: Count  # rows
    written_properties: list[WrittenProperties]
    owned: OwnedOutputsOutcome | None = None
    skipped_edges: list[SkippedEdge] | None = None
    skipped_entities: list[SkippedEntity] | None = None


# -- taking away -------------------------------------------------------------------------------------------------


class RetractEdgeInput(Request, frozen=True, kw_only=True):
    source: NamedEntityInput
    relation: Text
    target: NamedEntityInput


class GraphRetractRequest(Request, frozen=True, kw_only=True):
    edges: Annotated[list[RetractEdgeInput], Meta(max_length=limits.COMMIT_ROWS)] | None = None
    entities: Annotated[list[NamedEntityInput], Meta(max_length=limits.COMMIT_ROWS)] | None = None
    purge_entity_properties: bool | None = None  # true is all there is: a record goes with its fields


class GraphRetractResponse(Answer, frozen=True, kw_only=True):
    commit_seq: Count
    idempotency_key: str
    replayed: bool
    edges_retracted: Count
    entities_retracted: Count
    visibility_token: str
    no_op: bool | None = None


# -- many rows ---------------------------------------------------------------------------------------------------


class GraphImportQuery(Request, frozen=True, kw_only=True):
    batch: Annotated[int, Meta(ge=1, le=limits.IMPORT_BATCH_MAX)] = limits.IMPORT_BATCH_DEFAULT  # lines in one commit
    strict: bool = False  # a line that cannot be taken refuses the whole import, before anything of it is written
    observed_at: Text | None = None
    expected_graph_epoch: Count | None = None


class GraphImportError(Answer, frozen=True, kw_only=True):
    line: Count  # from 1
    code: str
    message: str


class GraphImportResponse(Answer, frozen=True, kw_only=True):
    lines_read: Count
    imported_triplets: Count
    imported_entity_properties: Count
    batches: Count
    error_count: Count
    errors: list[GraphImportError]  # the first 100
    graph_created: bool
    idempotent_replay: bool  # every batch was committed before
    committed_commit_seq: Count | None = None  # the last of its commits
