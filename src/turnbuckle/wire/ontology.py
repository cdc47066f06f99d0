"""The ontology: operations that declare classes, properties and relations, and the view of them (lbb-graph 2.2)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, Count, Request
from turnbuckle.wire.graph import GraphKey

ValueType = Literal["bool", "i64", "f64", "date_time", "keyword", "text", "bytes", "keyword_set", "i64_set"]
Cardinality = Literal["many_to_many", "many_to_one", "one_to_many", "one_to_one"]
Term = Annotated[str, Meta(min_length=1, max_length=limits.TERM_CHARS)]
Terms = Annotated[list[Term], Meta(max_length=limits.TERMS_PER_OP)]
Scalar = bool | int | float | str
AllowedValues = Annotated[list[Scalar], Meta(max_length=limits.ALLOWED_VALUES)]


class _Op(Request, tag_field="op", frozen=True, kw_only=True):
    pass


class AddEntityTypeOp(_Op, tag="add_entity_type", frozen=True, kw_only=True):
    name: Term


class AddSuperTypesOp(_Op, tag="add_super_types", frozen=True, kw_only=True):
    entity_type: Term
    super_types: Terms


class AddPropertyOp(_Op, tag="add_property", frozen=True, kw_only=True):
    name: Term
    value_type: ValueType = "text"
    required: bool | None = None  # told to readers; a commit does not ask for it, as fields belong to no class
    allowed_values: AllowedValues | None = None
    unit: str | None = None


class AddRelationOp(_Op, tag="add_relation", frozen=True, kw_only=True):
    name: Term
    domain: Terms | None = None  # classes of its sources; none: any
    range: Terms | None = None  # classes of its targets; none: any
    cardinality: Cardinality | None = None  # many_to_many
    inverse_name: Term | None = None
    symmetric: bool | None = None
    transitive: bool | None = None
    temporal_semantics: Term | None = None  # bitemporal
    reducer: Term | None = None  # append_only


class WidenRelationOp(_Op, tag="widen_relation", frozen=True, kw_only=True):
    relation: Term
    add_domain: Terms | None = None
    add_range: Terms | None = None


class NarrowRelationOp(_Op, tag="narrow_relation", frozen=True, kw_only=True):
    relation: Term
    remove_domain: Terms | None = None
    remove_range: Terms | None = None


class SetPropertyConstraintOp(_Op, tag="set_property_constraint", frozen=True, kw_only=True):
    property: Term
    allowed_values: AllowedValues  # empty: any value of its type again


class SetPropertyUnitOp(_Op, tag="set_property_unit", frozen=True, kw_only=True):
    property: Term
    unit: str | None = None  # absent: none


class SetRelationInverseOp(_Op, tag="set_relation_inverse", frozen=True, kw_only=True):
    relation: Term
    inverse_name: Term | None = None  # absent: none


class SetRelationCardinalityOp(_Op, tag="set_relation_cardinality", frozen=True, kw_only=True):
    relation: Term
    cardinality: Cardinality


class RenameEntityTypeOp(_Op, tag="rename_entity_type", frozen=True, kw_only=True):
    from_: Term = msgspec.field(name="from")
    to: Term


class RenameRelationOp(_Op, tag="rename_relation", frozen=True, kw_only=True):
    from_: Term = msgspec.field(name="from")
    to: Term


class RemoveEntityTypeOp(_Op, tag="remove_entity_type", frozen=True, kw_only=True):
    name: Term


class RemoveRelationOp(_Op, tag="remove_relation", frozen=True, kw_only=True):
    name: Term


OntologyOp = (
    AddEntityTypeOp
    | AddSuperTypesOp
    | AddPropertyOp
    | AddRelationOp
    | WidenRelationOp
    | NarrowRelationOp
    | SetPropertyConstraintOp
    | SetPropertyUnitOp
    | SetRelationInverseOp
    | SetRelationCardinalityOp
    | RenameEntityTypeOp
    | RenameRelationOp
    | RemoveEntityTypeOp
    | RemoveRelationOp
)


class GraphPreconditions(Request, frozen=True, kw_only=True):
    """What must still be so, else 409 and nothing is written."""

    expected_head_commit_seq: Count | None = None
    expected_ontology_version: Count | None = None
    expected_snapshot_token: str | None = None  # the visibility token of a commit that must be the newest


class OntologyEvolveQuery(Request, frozen=True, kw_only=True):
    dry_run: bool = False


class OntologyEvolveRequest(Request, frozen=True, kw_only=True):
    """Applied in order, each seeing those before it; all or nothing."""

    ops: Annotated[list[OntologyOp], Meta(min_length=1, max_length=limits.OPS_PER_EVOLVE)]
    preconditions: GraphPreconditions | None = None


class OntologyChange(Answer, frozen=True, kw_only=True):
    kind: Literal["additive", "restrictive", "identity_breaking"]
    subject: str  # the class, property or relation
    message: str


class OntologyEvolveResponse(Answer, frozen=True, kw_only=True):
    graph: GraphKey
    base_ontology_version: Count
    ontology_version: Count
    dry_run: bool
    publishable: bool  # false, in a dry run only: data in use is in the way, see `conflicts`
    no_op: bool
    applied: list[OntologyChange]
    messages: list[str]
    conflicts: list[OntologyChange] | None = None


class OntologyQuery(Request, frozen=True, kw_only=True):
    counts: bool = False


class OntologyTypeName(Answer, frozen=True, kw_only=True):
    name: str
    count: Count | None = None  # records there are now, with `counts`


class OntologyRelationName(Answer, frozen=True, kw_only=True):
    name: str


class OntologyEntityType(Answer, frozen=True, kw_only=True):
    name: str
    iri: str  # stays when the class is renamed
    stable_id: str
    since_version: Count
    resolvable: bool  # whether commits may name it
    properties: list[str]  # empty: fields belong to the graph, not to a class
    super_types: list[str] | None = None


class OntologyProperty(Answer, frozen=True, kw_only=True):
    name: str
    value_type: ValueType
    required: bool
    iri: str
    since_version: Count
    unit: str | None = None
    allowed_values: list[Any] | None = None


class OntologyRelation(Answer, frozen=True, kw_only=True):
    name: str
    iri: str
    stable_id: str
    since_version: Count
    domain: list[str]
    range: list[str]
    cardinality: Cardinality
    symmetric: bool
    transitive: bool
    temporal_semantics: str
    reducer: str
    inverse_name: str | None = None


class OntologyResponse(Answer, frozen=True, kw_only=True):
    graph: GraphKey
    ontology_version: Count
    entity_types: list[OntologyTypeName]
    relations: list[OntologyRelationName]
    entity_type_defs: list[OntologyEntityType] | None = None
    property_defs: list[OntologyProperty] | None = None
    relation_defs: list[OntologyRelation] | None = None
