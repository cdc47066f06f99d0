"""Every endpoint of the API, one row each. Dispatch, OpenAPI, the reference pages and contract tests loop over it."""

from turnbuckle.http.endpoints.endpoint import READERS, REVIEWERS, WRITERS, Endpoint, Method, Role
from turnbuckle.http.endpoints.engine import ENGINE

ENDPOINTS: tuple[Endpoint, ...] = ENGINE

__all__ = ["ENDPOINTS", "READERS", "REVIEWERS", "WRITERS", "Endpoint", "Method", "Role"]
