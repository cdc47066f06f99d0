"""contracts/openapi.json from the endpoint table and the structs: `python -m turnbuckle.http.openapi` prints it."""

import json
from typing import Any

import msgspec

from turnbuckle import CONTRACT_VERSION
from turnbuckle.http.endpoints import ENDPOINTS, MODELS, Endpoint
from turnbuckle.wire.errors import ERRORS, ErrorEnvelope

_REF = "#/components/schemas/{name}"
_ANYWHERE = ("invalid_request", "invalid_param", "internal", "storage_degraded", "stopping")
_KEYED = ("unauthorized", "forbidden", "stack_endpoint_mismatch")
_ENGINE = ("rate_limited", "workflows_disabled")


def document() -> dict[str, Any]:
    """The OpenAPI 3.1 description of the whole API."""
    of_routes = {s for e in ENDPOINTS for s in (e.body, e.answer, e.or_answer) if s is not None}
    structs = of_routes | {ErrorEnvelope, *MODELS}
    _, schemas = msgspec.json.schema_components(sorted(structs, key=lambda s: s.__name__), ref_template=_REF)
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Turnbuckle", "version": CONTRACT_VERSION},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def refusals(endpoint: Endpoint) -> tuple[str, ...]:
    """Every error code the endpoint can answer with."""
    if not endpoint.in_graph:
        return ("internal",)  # it reads nothing of the request
    codes = _ANYWHERE + endpoint.refusals
    if endpoint.roles is not None:
        codes += _KEYED
    if endpoint.method != "GET":
        codes += ("payload_too_large",)  # also where none is expected: a body is read before it is looked at
    return codes + _ENGINE if endpoint.is_of_engine else codes


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {"200": _answer(endpoint)} | _errors(endpoint),
        "security": [] if endpoint.roles is None else [{"bearer": []}, {"key": []}],
    }
    if parameters := _parameters(endpoint):
        described["parameters"] = parameters
    if endpoint.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(endpoint.body)}},
        }
    if endpoint.raw_body:
        described["requestBody"] = {
            "required": True,
            "content": {endpoint.raw_kind: {"schema": {"type": "string", "format": "binary"}}},
        }
    return described


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    # `schema` of a struct is a ref into `$defs`; a query has no nested structs, so its own definition is enough.
    definition = msgspec.json.schema(endpoint.query)["$defs"][endpoint.query.__name__]
    required = set(definition.get("required", ()))
    own = [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in definition["properties"].items()
    ]
    shared = [
        {"name": "graph", "in": "query", "required": False, "schema": {"type": "string", "default": "main"}},
        {"name": "stack", "in": "query", "required": False, "schema": {"type": "string"}},
    ]
    return own + shared if endpoint.in_graph else own


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    content: dict[str, Any]
    if endpoint.answer is None:
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    elif endpoint.or_answer is not None:
        either = {"anyOf": [_ref(endpoint.answer), _ref(endpoint.or_answer)]}
        content = {"application/json": {"schema": either}}
    else:
        content = {"application/json": {"schema": _ref(endpoint.answer)}}
    return {"description": "OK", "content": content}


def _errors(endpoint: Endpoint) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in refusals(endpoint):
        if code not in by_status.setdefault(ERRORS[code].status, []):
            by_status[ERRORS[code].status].append(code)
    return {
        str(status): {
            "description": ", ".join(f"`{code}`" for code in codes),
            "content": {"application/json": {"schema": _ref(ErrorEnvelope)}},
        }
        for status, codes in sorted(by_status.items())
    }


def _ref(struct: type[Any]) -> dict[str, str]:
    return {"$ref": _REF.format(name=struct.__name__)}


def text() -> str:
    """The document as it is committed: sorted, indented, one newline at its end."""
    return json.dumps(document(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(text(), end="")  # noqa: T201
