"""How each refusal about graphs is met: (path, code) -> a request for which it is the answer."""

from typing import Any

import httpx

from tests.e2e.api import Api, ok

CREATE, DELETE, STATUS = "/v1/graph/create", "/v1/graph/delete", "/v1/graph/publication-status"
EVOLVE, VIEW = "/v1/ontology/evolve", "/v1/ontology"
COMMIT, RETRACT, IMPORT, ENTITY = "/v1/graph/commit", "/v1/graph/retract", "/v1/graph/import", "/v1/graph/entity"
NOTE = {"type": "Note", "name": "a"}
NOBODY = {"type": "Note", "name": "x", "key": "\0lbb-eid:" + "0" * 32}
OPS = {"ops": [{"op": "add_entity_type", "name": "Note"}]}
BODIES: dict[str, dict[str, Any]] = {
    EVOLVE: OPS,
    COMMIT: {"entity_properties": [NOTE]},
    RETRACT: {"entities": [NOTE]},
}
QUERIES: dict[str, dict[str, Any]] = {ENTITY: {"id": "0" * 32}, DELETE: {"confirm": "main"}}
LINE = b'{"type": "Note", "name": "a"}'
KEY = {"idempotency-key": "k"}


async def show(api: Api, path: str, code: str) -> httpx.Response:
    """The answer of a request to `path` that is refused with `code`."""
    body = BODIES.get(path, LINE)
    if code == "not_found":
        if path in (STATUS, VIEW, ENTITY):
            return await api.get(path, graph="nowhere", **QUERIES.get(path, {}))
        return await api.post(path, body, KEY, graph="nowhere")
    if code == "rdf_native_graph":
        rdf = b'<http://e/a> <http://e/p> "x" .'
        ok(await api.post("/v1/graph/import/rdf", rdf, KEY, graph="rdf", format="ntriples"))
        return await api.post(path, body, {"idempotency-key": "k-2"}, graph="rdf")
    ok(await api.post(EVOLVE, OPS))
    match path, code:
        case _, "missing_idempotency_key":
            return await api.post(path, body)
        case "/v1/graph/create", "conflict":
            return await api.post(path, b"")
        case "/v1/graph/import", "unknown_entity":
            line = b'{"type": "Note", "name": "x", "entity_id": "%s"}' % (b"0" * 32)
            return await api.post(path, line, KEY, strict=True)
        case "/v1/graph/import", "conflict":
            return await api.post(path, body, KEY, expected_graph_epoch=1)
        case _, "unknown_entity":
            return await api.post(path, {"entity_properties": [NOBODY]}, KEY)
        case _, "workflow_fence_lost":
            fence = {"workflow_id": "a", "turn": 1, "token": "lost"}
            return await api.post(path, {**BODIES[path], "workflow_fence": fence}, KEY)
        case _:
            return await api.post(path, {**BODIES[path], "preconditions": {"expected_ontology_version": 9}}, KEY)


_WRITTEN = ("missing_idempotency_key", "not_found", "rdf_native_graph")
SHOWN = [
    (CREATE, "conflict"),
    (STATUS, "not_found"),
    (EVOLVE, "not_found"),
    (EVOLVE, "conflict"),
    (VIEW, "not_found"),
    (ENTITY, "not_found"),
    *((path, code) for path in (COMMIT, RETRACT, IMPORT) for code in _WRITTEN),
    (COMMIT, "unknown_entity"),
    (COMMIT, "workflow_fence_lost"),
    (COMMIT, "conflict"),
    (IMPORT, "unknown_entity"),
    (IMPORT, "conflict"),
]
