"""docs/reference/endpoints.md"""

from typing import Any

from reference_pages.markdown import generated_from, table
from turnbuckle.http.endpoints import ENDPOINTS, Endpoint
from turnbuckle.http.openapi import document, refusals
from turnbuckle.wire import limits


def endpoints_page() -> str:
    """A heading per endpoint, then one per shape that bodies and answers are made of."""
    schemas: dict[str, dict[str, Any]] = document()["components"]["schemas"]
    overview = table(
        ("endpoint", "what it does"),
        ((f"[`{title(endpoint)}`](#{anchor(endpoint)})", endpoint.summary) for endpoint in ENDPOINTS),
    )
    described = document()["paths"]
    endpoints = "".join(_endpoint(e, described[e.path][e.method.lower()]) for e in ENDPOINTS)
    shapes = "".join(f"\n### {name}\n\n{fields(schemas[name])}" for name in sorted(schemas))
    return (
        generated_from("turnbuckle.http.endpoints")
        + "# Endpoints\n\n"
        + "`contracts/openapi.json` comes from the same table.\n"
        + "A server gives it at `/openapi.json`, and a page of it at `/docs`.\n"
        + "A key goes into `Authorization: Bearer KEY` or `X-API-Key: KEY`.\n"
        + "Times ending in `_ms` are Unix milliseconds.\n\n"
        + overview
        + endpoints
        + "\n## Shapes\n"
        + shapes
    )


def _endpoint(endpoint: Endpoint, described: dict[str, Any]) -> str:
    roles = "no key needed" if endpoint.roles is None else ", ".join(sorted(endpoint.roles))
    answer = "raw bytes" if endpoint.answer is None else _shape(endpoint.answer.__name__)
    if endpoint.or_answer is not None:
        answer += f" or {_shape(endpoint.or_answer.__name__)}"
    lines = [f"\n## {title(endpoint)}\n", endpoint.summary + "\n", f"- Roles: {roles}", f"- Answer: {answer}"]
    if endpoint.body is not None:
        lines.append(f"- Body: {_shape(endpoint.body.__name__)}")
    if endpoint.raw_body:
        lines.append("- Body: raw bytes")
    lines.append("- Refused with: " + ", ".join(f"[`{code}`](errors.md#{code})" for code in refusals(endpoint)))
    parameters = described.get("parameters", [])
    query = {
        "properties": {parameter["name"]: parameter["schema"] for parameter in parameters},
        "required": [parameter["name"] for parameter in parameters if parameter["required"]],
    }
    return "\n".join(lines) + "\n" + (f"\nQuery:\n\n{fields(query)}" if parameters else "")


def fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = (
        (f"`{name}`", _type(field), _presence(name in required, field)) for name, field in schema["properties"].items()
    )
    return table(("field", "type", ""), rows)


def _presence(required: bool, field: dict[str, Any]) -> str:
    if required:
        return "required"
    default = field.get("default")
    return (
        "optional" if default is None else f"default `{str(default).lower() if default in (True, False) else default}`"
    )


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _shape(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " or ".join(f"`{word}`" for word in schema["enum"])
    if "anyOf" in schema:  # an optional field: null is what "optional" says already
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"] if one != {"type": "null"}))
    if schema.get("type") == "array":
        return "list of " + _type(schema.get("items", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        return "map of " + _type(schema["additionalProperties"])
    return _kind(schema)


def _kind(schema: dict[str, Any]) -> str:
    kind = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}.get(
        schema.get("type", ""), "any JSON"
    )
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and high != limits.INT_MAX:
        return f"{kind}, {low:,} to {high:,}"
    if "maxLength" in schema:
        return f"{kind}, at most {schema['maxLength']:,} characters"
    return f"{kind} like `{schema['pattern']}`" if "pattern" in schema else kind


def _shape(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def title(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def anchor(endpoint: Endpoint) -> str:
    """As GitHub makes it from the heading: lower case, slashes dropped, spaces to hyphens."""
    return title(endpoint).lower().replace("/", "").replace(" ", "-")
