"""Requests that show each refusal about SPARQL and RDF."""

from typing import Any

import httpx

from tests.e2e.api import Api, ok

SPARQL, IMPORT, UPDATE = "/v1/query/sparql-text", "/v1/graph/import/rdf", "/update"
BODIES: dict[str, dict[str, Any]] = {SPARQL: {"query": "ASK {}"}}
QUERIES: dict[str, dict[str, Any]] = {IMPORT: {"format": "turtle"}}
SHOWN = {
    (SPARQL, "invalid_query"),
    (SPARQL, "read_your_writes_pending"),
    (IMPORT, "missing_idempotency_key"),
    (IMPORT, "record_graph"),
    (IMPORT, "invalid_rdf"),
    (UPDATE, "invalid_query"),
    (UPDATE, "record_graph"),
}
# What needs a second of time, a quarter of a million rows or a broken process: see test_sparql*.py.
BY_THE_INDEX = dict.fromkeys(
    ("query_timeout", "query_too_large", "strong_read_pending", "query_interrupted", "index_unavailable"),
    "it is the index's state or cost: see the suites of the index",
)


async def show(api: Api, path: str, code: str) -> httpx.Response:
    key = {"idempotency-key": "k"}
    match code:
        case "read_your_writes_pending":
            return await api.post(path, {"query": "ASK {}"}, min_indexed_seq=1_000)
        case "missing_idempotency_key":
            return await api.post(path, b"", format="turtle")
        case "record_graph":
            await _with_a_record(api)
            return await api.post(path, b"INSERT DATA { <a:b> <a:c> 1 }", headers=key, **QUERIES.get(path, {}))
        case "invalid_rdf":
            return await api.post(path, b"no rdf", headers=key, format="turtle", graph="rdf")
        case _ if path == SPARQL:
            return await api.post(path, {"query": "SELECT"})
        case _:
            return await api.post(path, b"CLEAR ALL", headers=key)


async def _with_a_record(api: Api) -> None:
    await api.post("/v1/graph/create", {})
    ok(await api.post("/v1/ontology/evolve", {"ops": [{"op": "add_entity_type", "name": "OfJson"}]}))
    body = {"entity_properties": [{"type": "OfJson", "name": "a"}]}
    ok(await api.post("/v1/graph/commit", body, headers={"idempotency-key": "a record"}))
