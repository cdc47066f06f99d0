"""Graphs: made, declared, written, read."""

import msgspec

from turnbuckle.http.endpoints.endpoint import READERS, Endpoint
from turnbuckle.http.imports import Imports
from turnbuckle.operations import commit, entity, graph, ontology
from turnbuckle.wire import limits
from turnbuckle.wire.commit import (
    GraphCommitDryRunResponse,
    GraphCommitQuery,
    GraphCommitRequest,
    GraphCommitResponse,
    GraphImportQuery,
    GraphImportResponse,
    GraphRetractRequest,
    GraphRetractResponse,
    TripletCommitFile,
)
from turnbuckle.wire.entity import GraphEntityQuery, GraphEntityResponse
from turnbuckle.wire.graph import (
    GraphCreateResponse,
    GraphDeleteQuery,
    GraphDeleteResponse,
    GraphPublicationStatus,
    GraphsQuery,
    GraphsResponse,
)
from turnbuckle.wire.ontology import (
    OntologyEvolveQuery,
    OntologyEvolveRequest,
    OntologyEvolveResponse,
    OntologyQuery,
    OntologyResponse,
)

_WRITTEN = ("missing_idempotency_key", "not_found", "rdf_native_graph")
GRAPH: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/v1/graph/create",
        graph.create,
        "Make the graph, empty.",
        GraphCreateResponse,
        with_caller=True,
        refusals=("conflict",),
    ),
    Endpoint(
        "POST",
        "/v1/graph/delete",
        graph.delete,
        "Delete the graph with all it has.",
        GraphDeleteResponse,
        query=GraphDeleteQuery,
        with_caller=True,
    ),
    Endpoint(
        "GET",
        "/v1/graphs",
        graph.list_page,
        "Graphs of the environment by name.",
        GraphsResponse,
        query=GraphsQuery,
        with_caller=True,
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/graph/publication-status",
        graph.publication_status,
        "How far reads are behind the newest commit.",
        GraphPublicationStatus,
        with_caller=True,
        refusals=("not_found",),
        roles=READERS,
    ),
    Endpoint(
        "POST",
        "/v1/ontology/evolve",
        ontology.evolve,
        "Declare classes, properties and relations, or try to.",
        OntologyEvolveResponse,
        query=OntologyEvolveQuery,
        body=OntologyEvolveRequest,
        with_caller=True,
        refusals=("not_found", "conflict"),
    ),
    Endpoint(
        "GET",
        "/v1/ontology",
        ontology.view,
        "What the graph declares.",
        OntologyResponse,
        query=OntologyQuery,
        with_caller=True,
        refusals=("not_found",),
        roles=READERS,
    ),
    Endpoint(
        "POST",
        "/v1/graph/commit",
        commit.post,
        "Write records, fields and links at once, or try to.",
        GraphCommitResponse,
        or_answer=GraphCommitDryRunResponse,
        query=GraphCommitQuery,
        body=GraphCommitRequest,
        body_bytes=limits.COMMIT_BYTES,
        with_caller=True,
        refusals=(*_WRITTEN, "unknown_entity", "workflow_fence_lost", "conflict"),
    ),
    Endpoint(
        "POST",
        "/v1/graph/retract",
        commit.retract,
        "End links, and records with all they have.",
        GraphRetractResponse,
        body=GraphRetractRequest,
        body_bytes=limits.COMMIT_BYTES,
        with_caller=True,
        refusals=_WRITTEN,
    ),
    Endpoint(
        "POST",
        "/v1/graph/import",
        Imports.post,
        "Write many records and links, one a line.",
        GraphImportResponse,
        query=GraphImportQuery,
        raw_body=True,
        raw_kind="application/x-ndjson",
        body_bytes=limits.IMPORT_BYTES,
        with_caller=True,
        refusals=(*_WRITTEN, "unknown_entity", "conflict"),
    ),
    Endpoint(
        "GET",
        "/v1/graph/entity",
        entity.get,
        "One record with its fields and links, as a commit left them.",
        GraphEntityResponse,
        query=GraphEntityQuery,
        with_caller=True,
        refusals=("not_found",),
        roles=READERS,
    ),
)

GRAPH_MODELS: tuple[type[msgspec.Struct], ...] = (TripletCommitFile,)
