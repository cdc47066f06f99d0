"""The calls that declare, write and read a graph (lbb-graph 2). What they raise is listed in `lbb.errors`."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from lbb import models
from lbb.call import Call, as_mapping, as_model
from lbb.idempotency import new_key
from lbb.wire_json import dump_body

Body = Mapping[str, Any] | models.GraphCommitRequest | models.TripletCommitFile
RdfFormat = Literal["ntriples", "turtle", "nquads", "trig"]

_COMMIT = "/v1/graph/commit"
_DRY_RUN = {"dry_run": True}
_RDF_TYPES: dict[str, str] = {
    "ntriples": "application/n-triples",
    "turtle": "text/turtle",
    "nquads": "application/n-quads",
    "trig": "application/trig",
}


def create_graph() -> Call[dict[str, Any]]:
    """Create the graph, empty. LbbError 409 when it has facts or an ontology already."""
    return Call("POST", "/v1/graph/create", {}, as_mapping)


def delete_graph(*, confirm: str) -> Call[dict[str, Any]]:
    """Delete the graph with its workflows. `confirm` is its name again."""
    return Call("POST", "/v1/graph/delete", {"params": {"confirm": confirm}, "options": {"retry": True}}, as_mapping)


def commit(body: Body, *, idempotency_key: str | None = None) -> Call[dict[str, Any]]:
    """Write in one commit, all or nothing: the answer as `models.GraphCommitResponse` describes it.

    The key is a new one unless given. A key that was committed before answers its first commit with `replayed: true`.
    """
    key = idempotency_key or new_key("facts.create")
    return Call("POST", _COMMIT, {"body": body, "idempotency_key": key}, as_mapping)


def commit_model(body: Body, *, idempotency_key: str | None = None) -> Call[models.GraphCommitResponse]:
    """As `commit`, with the answer as a model."""
    return Call("POST", _COMMIT, commit(body, idempotency_key=idempotency_key).arguments, _COMMITTED)


def commit_dry_run(body: Body) -> Call[dict[str, Any]]:
    """Check the body as a commit would, and write nothing. A refusal is the commit's own."""
    return Call("POST", _COMMIT, {"params": _DRY_RUN, "body": body, "options": {"retry": True}}, as_mapping)


def commit_dry_run_model(body: Body) -> Call[models.GraphCommitDryRunResponse]:
    """As `commit_dry_run`, with the answer as a model."""
    return Call("POST", _COMMIT, commit_dry_run(body).arguments, _DRY_RAN)


def import_ndjson(
    rows: str | bytes | Iterable[Mapping[str, Any]],
    *,
    batch: int | None = None,
    strict: bool | None = None,
    observed_at: str | None = None,
    expected_graph_epoch: int | None = None,
    idempotency_key: str | None = None,
) -> Call[dict[str, Any]]:
    """Import triplets and property rows, one JSON object a line; mappings are written as lines here.

    The answer counts them and names the lines that were refused in `errors`.
    """
    content = rows if isinstance(rows, str | bytes) else b"".join(dump_body(row) + b"\n" for row in rows)
    params = {
        "batch": batch,
        "strict": strict,
        "observed_at": observed_at,
        "expected_graph_epoch": expected_graph_epoch,
    }
    key = idempotency_key or new_key("facts.import")
    return Call(
        "POST",
        "/v1/graph/import",
        {"params": params, "content": content, "content_type": "application/x-ndjson", "idempotency_key": key},
        as_mapping,
    )


def import_rdf(
    rdf: str | bytes,
    *,
    format: RdfFormat = "ntriples",
    base_iri: str | None = None,
    graph_uri: str | None = None,
    blank_node_scope: str | None = None,
    batch: int | None = None,
    strict: bool | None = None,
    observed_at: str | None = None,
    build: bool | None = None,
    idempotency_key: str | None = None,
) -> Call[dict[str, Any]]:
    """Import an RDF document. A graph whose first write this is stays RDF-native and refuses JSON records.

    ValueError for another format.
    """
    if format not in _RDF_TYPES:
        raise ValueError(f"format is one of {', '.join(_RDF_TYPES)}, got {format!r}")
    params = {
        "format": format,
        "base_iri": base_iri,
        "graph_uri": graph_uri,
        "blank_node_scope": blank_node_scope,
        "batch": batch,
        "strict": strict,
        "observed_at": observed_at,
        "build": build,
    }
    key = idempotency_key or new_key("facts.import_rdf")
    return Call(
        "POST",
        "/v1/graph/import/rdf",
        {"params": params, "content": rdf, "content_type": _RDF_TYPES[format], "idempotency_key": key},
        as_mapping,
    )


def evolve(body: Mapping[str, Any] | models.OntologyEvolveRequest, *, dry_run: bool = False) -> Call[dict[str, Any]]:
    """Apply `{"ops": [...]}` to the ontology in order, all or nothing; with `dry_run` only say what would change."""
    params = _DRY_RUN if dry_run else None
    return Call("POST", "/v1/ontology/evolve", {"params": params, "body": body, "options": {"retry": True}}, as_mapping)


def view(*, counts: bool = False) -> Call[dict[str, Any]]:
    """The declared classes, relations and properties; with `counts` how many records there are of each class."""
    return Call("GET", "/v1/ontology", {"params": {"counts": True if counts else None}}, as_mapping)


def detail(
    *,
    id: str | None = None,
    type: str | None = None,
    name: str | None = None,
    key: str | None = None,
    consistency: str | None = None,
    edges: int | None = None,
    as_of_commit_seq: int | None = None,
    evidence: int | None = None,
) -> Call[dict[str, Any]]:
    """One record with its attributes and edges, by `id`, or by `type` and `name` or `key`. LbbError 404 without one."""
    params = {
        "id": id,
        "type": type,
        "name": name,
        "key": key,
        "consistency": consistency,
        "edges": edges,
        "as_of_commit_seq": as_of_commit_seq,
        "evidence": evidence,
    }
    return Call("GET", "/v1/graph/entity", {"params": params}, as_mapping, is_graph_read=True)


def publication_status() -> Call[dict[str, Any]]:
    """`{state, head_seq, published_seq, lag_commits, ...}`."""
    return Call("GET", "/v1/graph/publication-status", {}, as_mapping)


_COMMITTED = as_model(models.GraphCommitResponse)
_DRY_RAN = as_model(models.GraphCommitDryRunResponse)
