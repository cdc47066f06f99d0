"""What a person's browser gets: a first page, the API's description and a page that shows it."""

from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from typing import Any

from turnbuckle import CONTRACT_VERSION, __version__
from turnbuckle.http import openapi
from turnbuckle.http.endpoints import ENDPOINTS, Endpoint
from turnbuckle.wire.errors import ERRORS

Page = tuple[bytes, Callable[[], bytes]]
_HTML = b"text/html; charset=utf-8"


def pages(document: Callable[[], bytes]) -> dict[str, Page]:
    return {
        "/": (_HTML, cache(_first)),
        "/openapi.json": (b"application/json", cache(document)),
        "/docs": (_HTML, cache(_docs)),
    }


_STYLE = (
    "body{font:15px/1.5 system-ui;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "code{background:#f2f2f2;padding:.1em .3em;border-radius:3px}h2,h3{font-size:1em;margin:1.6em 0 .2em}"
    "p{margin:.2em 0}small{color:#666}ul{margin:.2em 0}"
)


def _html(title: str, parts: Iterable[str]) -> bytes:
    head = f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
    return "\n".join((head, *parts)).encode()


def _first() -> bytes:
    """What a newcomer may want next; it tells nothing of what the server holds, as it needs no key."""
    links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in ("/docs", "/openapi.json", "/health"))
    text = "This is a Turnbuckle server: it keeps workflows that workers run. <code>turnbuckle watch</code> shows them."
    return _html("Turnbuckle", (f"<h1>Turnbuckle {__version__}</h1><p>{text}</p>", f"<ul>{links}</ul>"))


def _docs() -> bytes:
    """One section for each endpoint, from the table, then one for each shape; it loads nothing from elsewhere."""
    intro = (
        f"<h1>Turnbuckle API, version {CONTRACT_VERSION}</h1>"
        '<p>Machine-readable: <a href="/openapi.json">/openapi.json</a>. '
        "All but /health and /version need <code>Authorization: Bearer KEY</code>.</p>"
    )
    described = openapi.document()
    shapes = described["components"]["schemas"]
    parts = [intro, *(_endpoint(one, described["paths"][one.path][one.method.lower()]) for one in ENDPOINTS)]
    return _html("Turnbuckle API", [*parts, "<h1>Shapes</h1>", *(_shape(name, shapes[name]) for name in shapes)])


def _endpoint(endpoint: Endpoint, described: dict[str, Any]) -> str:
    codes = dict.fromkeys(openapi.refusals(endpoint))
    refused = ", ".join(f"{ERRORS[code].status} <code>{code}</code>" for code in codes)
    parts = [f"<h2><code>{endpoint.method} {escape(endpoint.path)}</code></h2><p>{escape(endpoint.summary)}</p>"]
    if parameters := described.get("parameters"):
        parts.append(f"<p>In the query:</p><ul>{''.join(_parameter(one) for one in parameters)}</ul>")
    if (body := described.get("requestBody")) is not None:
        parts.append(f"<p>Takes {_content(body)}.</p>")
    parts.append(f"<p>Answers {_content(described['responses']['200'])}.</p><small>Refusals: {refused}</small>")
    return "\n".join(parts)


def _parameter(one: dict[str, Any]) -> str:
    return _field(one["name"], one["schema"], is_required=one["required"])


def _content(described: dict[str, Any]) -> str:
    """The kind of a body or an answer, which has one media type."""
    ((media, content),) = described["content"].items()
    return _kind(content["schema"]) if media == "application/json" else f"<code>{escape(media)}</code>"


def _shape(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    fields = (_field(field, kind, is_required=field in required) for field, kind in schema["properties"].items())
    text = f"<p>{escape(schema.get('description', ''))}</p>"
    return f'<h3 id="{name}"><code>{name}</code></h3>{text}<ul>{"".join(fields)}</ul>'


def _field(name: str, schema: dict[str, Any], *, is_required: bool) -> str:
    return f"<li><code>{escape(name)}</code>: {_kind(schema)}{', required' if is_required else ''}</li>"


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words; what it names is a link."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f'<a href="#{name}"><code>{name}</code></a>'
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return escape(schema.get("type", "any JSON"))
