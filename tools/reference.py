"""The reference pages that come from the code: `tools/reference.py` writes them, `--check` fails when one is stale.

Errors, limits and endpoints are tables of the server; a page about them that is written by hand would drift.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from turnbuckle.http.endpoints import ENDPOINTS, Endpoint
from turnbuckle.http.openapi import document, refusals
from turnbuckle.wire import limits
from turnbuckle.wire.errors import ERRORS, ErrorKind

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
GENERATED = "<!-- Made by `make docs` from {source}. Change that, not this page. -->\n\n"


def errors_page() -> str:
    """A row and a heading per error code, with the endpoints that can answer it."""
    table = _table(
        ("code", "status", "what to do"),
        ((f"[`{kind.code}`](#{kind.code})", str(kind.status), kind.sentence) for kind in ERRORS.values()),
    )
    return (
        GENERATED.format(source="`turnbuckle.wire.errors`")
        + "# Errors\n\n"
        + 'Every answer that is not 2xx carries one JSON object, `{"error": {...}}`.\n'
        + "Its `code` is one of these; its `message` names the field, what was got and what was expected.\n"
        + "A request that was refused changed nothing.\n\n"
        + table
        + "".join(map(_error, ERRORS.values()))
    )


def _error(kind: ErrorKind) -> str:
    retry = {None: "The client's own rules decide.", True: "Yes.", False: "No."}[kind.retryable]
    by = [endpoint for endpoint in ENDPOINTS if kind.code in refusals(endpoint)]
    lines = [
        f"\n## {kind.code}\n",
        kind.sentence + "\n",
        f"- Status: {kind.status}",
        f"- Type: `{kind.type}`",
        f"- Sent again by a client: {retry}",
    ]
    if len(by) == len(ENDPOINTS):
        lines.append("- Answered by: every endpoint")
    elif by:
        lines.append("- Answered by: " + ", ".join(f"[{_title(e)}](endpoints.md#{_anchor(e)})" for e in by))
    return "\n".join(lines) + "\n"


def limits_page() -> str:
    """One table per group of `turnbuckle.wire.limits`, in its order and with its comments."""
    groups = "".join(
        f"\n## {group}\n\n" + _table(("limit", "value", "name", ""), rows) for group, rows in _limit_groups().items()
    )
    return (
        GENERATED.format(source="`turnbuckle.wire.limits`")
        + "# Limits\n\n"
        + "Sizes are bytes of UTF-8 JSON as it came.\n"
        + "Two numbers are the least and the most.\n"
        + "What is over a size is refused with [`payload_too_large`](errors.md#payload_too_large), "
        + "what is out of range with [`invalid_param`](errors.md#invalid_param).\n"
        + groups
    )


def _limit_groups() -> dict[str, list[tuple[str, str, str, str]]]:
    groups: dict[str, list[tuple[str, str, str, str]]] = {}
    rows: list[tuple[str, str, str, str]] = []
    for line in inspect.getsource(limits).splitlines():
        if heading := re.fullmatch(r"# (\w.*)", line):
            rows = groups.setdefault(heading[1], [])
        elif found := re.fullmatch(r"([A-Z_]+) = .*?(?:  # (.*))?", line):
            rows.append((_words(found[1]), _amount(found[1]), f"`{found[1]}`", found[2] or ""))
    return groups


def _words(name: str) -> str:
    return re.sub(r"_(ms|bytes|chars|pattern)$", "", name.lower()).replace("_", " ")


def _amount(name: str) -> str:
    value = getattr(limits, name)
    return " to ".join(_with_unit(name, part) for part in (value if isinstance(value, tuple) else (value,)))


def _with_unit(name: str, value: int | str) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    units: tuple[tuple[int, str], ...] = ()
    if name.endswith("_BYTES"):
        units = ((limits.MIB, "MiB"), (limits.KIB, "KiB"))
    elif name.endswith("_MS"):
        units = (
            (limits.DAY_MS, "d"),
            (limits.HOUR_MS, "h"),
            (limits.MINUTE_MS, "min"),
            (limits.SECOND_MS, "s"),
            (1, "ms"),
        )
    elif name.endswith("_CHARS"):
        units = ((1, "characters"),)
    for size, unit in units:
        if value >= size and value % size == 0:
            return f"{value // size:,} {unit}"
    return f"{value:,}"


def endpoints_page() -> str:
    """A heading per endpoint, then one per shape that bodies and answers are made of."""
    schemas: dict[str, dict[str, Any]] = document()["components"]["schemas"]
    table = _table(
        ("endpoint", "what it does"),
        ((f"[`{_title(endpoint)}`](#{_anchor(endpoint)})", endpoint.summary) for endpoint in ENDPOINTS),
    )
    described = document()["paths"]
    endpoints = "".join(_endpoint(e, described[e.path][e.method.lower()]) for e in ENDPOINTS)
    shapes = "".join(f"\n### {name}\n\n{_fields(schemas[name])}" for name in sorted(schemas))
    return (
        GENERATED.format(source="`turnbuckle.http.endpoints`")
        + "# Endpoints\n\n"
        + "`contracts/openapi.json` comes from the same table.\n"
        + "A server gives it at `/openapi.json`, and a page of it at `/docs`.\n"
        + "A key goes into `Authorization: Bearer KEY` or `X-API-Key: KEY`.\n"
        + "Times ending in `_ms` are Unix milliseconds.\n\n"
        + table
        + endpoints
        + "\n## Shapes\n"
        + shapes
    )


def _endpoint(endpoint: Endpoint, described: dict[str, Any]) -> str:
    roles = "no key needed" if endpoint.roles is None else ", ".join(sorted(endpoint.roles))
    answer = "raw bytes" if endpoint.answer is None else _shape(endpoint.answer.__name__)
    lines = [f"\n## {_title(endpoint)}\n", endpoint.summary + "\n", f"- Roles: {roles}", f"- Answer: {answer}"]
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
    return "\n".join(lines) + "\n" + (f"\nQuery:\n\n{_fields(query)}" if parameters else "")


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = (
        (f"`{name}`", _type(field), _presence(name in required, field)) for name, field in schema["properties"].items()
    )
    return _table(("field", "type", ""), rows)


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
        return _type(next(one for one in schema["anyOf"] if one != {"type": "null"}))
    if schema.get("type") == "array":
        return "list of " + _type(schema["items"])
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


def _title(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def _anchor(endpoint: Endpoint) -> str:
    """As GitHub makes it from the heading: lower case, slashes dropped, spaces to hyphens."""
    return _title(endpoint).lower().replace("/", "").replace(" ", "-")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    def lines() -> Iterator[str]:
        for cells in (head, ("---",) * len(head), *rows):
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    return "".join(lines())


PAGES: dict[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "limits.md": limits_page,
    "endpoints.md": endpoints_page,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    check = parser.parse_args().check
    pages = {REFERENCE / name: page() for name, page in PAGES.items()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        print(f"{'stale, run `make docs`' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(pages[path], "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
