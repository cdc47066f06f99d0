"""Every endpoint of the API, one row each. Dispatch, OpenAPI, the reference pages and contract tests loop over it."""

import msgspec

from turnbuckle.http.endpoints.activity import ACTIVITIES
from turnbuckle.http.endpoints.endpoint import READERS, REVIEWERS, WRITERS, Endpoint, Method, Role
from turnbuckle.http.endpoints.engine import ENGINE
from turnbuckle.http.endpoints.graph import GRAPH, GRAPH_MODELS
from turnbuckle.http.endpoints.named import NAMED, NAMED_MODELS
from turnbuckle.http.endpoints.query import QUERY
from turnbuckle.http.endpoints.review import REVIEW

ENDPOINTS: tuple[Endpoint, ...] = (*ENGINE, *GRAPH, *ACTIVITIES, *REVIEW, *QUERY, *NAMED)

# What clients and workers read inside other values, such as a trigger's message: described though no route carries it.
MODELS: tuple[type[msgspec.Struct], ...] = (
    *GRAPH_MODELS,
    *NAMED_MODELS,
)

__all__ = ["ENDPOINTS", "MODELS", "READERS", "REVIEWERS", "WRITERS", "Endpoint", "Method", "Role"]
