"""Graphs: made, declared, written, read."""

import msgspec

from turnbuckle.wire.commit import (
    GraphCommitDryRunResponse,
    GraphCommitRequest,
    GraphCommitResponse,
    GraphImportResponse,
    GraphRetractRequest,
    GraphRetractResponse,
    TripletCommitFile,
)
from turnbuckle.wire.entity import GraphEntityResponse
from turnbuckle.wire.graph import GraphCreateResponse, GraphDeleteResponse, GraphPublicationStatus, GraphsResponse
from turnbuckle.wire.ontology import OntologyEvolveRequest, OntologyEvolveResponse, OntologyResponse

GRAPH_MODELS: tuple[type[msgspec.Struct], ...] = (
    GraphCommitDryRunResponse,
    GraphCommitRequest,
    GraphCommitResponse,
    GraphCreateResponse,
    GraphDeleteResponse,
    GraphEntityResponse,
    GraphImportResponse,
    GraphPublicationStatus,
    GraphRetractRequest,
    GraphRetractResponse,
    GraphsResponse,
    OntologyEvolveRequest,
    OntologyEvolveResponse,
    OntologyResponse,
    TripletCommitFile,
)
