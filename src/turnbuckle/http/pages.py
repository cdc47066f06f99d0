"""What a person's browser gets: the API's description and a page that shows it."""

from collections.abc import Callable
from functools import cache
from html import escape

from turnbuckle.http.endpoints import ENDPOINTS
from turnbuckle.http.openapi import refusals
from turnbuckle.wire.errors import ERRORS

Page = tuple[bytes, Callable[[], bytes]]


def pages(document: Callable[[], bytes]) -> dict[str, Page]:
    return {
        "/openapi.json": (b"application/json", cache(document)),
        "/docs": (b"text/html; charset=utf-8", cache(_docs)),
    }


_STYLE = (
    "body{font:15px/1.5 system-ui;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "code{background:#f2f2f2;padding:.1em .3em;border-radius:3px}h2{font-size:1em;margin:1.6em 0 .2em}"
    "p{margin:.2em 0}small{color:#666}"
)


def _docs() -> bytes:
    """One section for each endpoint, from the table; it loads nothing from elsewhere."""
    parts = [f"<!doctype html><meta charset=utf-8><title>Turnbuckle API</title><style>{_STYLE}</style>"]
    parts.append(
        '<h1>Turnbuckle API</h1><p>Machine-readable: <a href="/openapi.json">/openapi.json</a>, '
        "which has every field. All but /health and /version need <code>Authorization: Bearer KEY</code>.</p>"
    )
    for endpoint in ENDPOINTS:
        taken = endpoint.body or (endpoint.query if endpoint.in_graph else None)
        codes = ", ".join(f"{ERRORS[code].status} <code>{code}</code>" for code in dict.fromkeys(refusals(endpoint)))
        parts.append(
            f"<h2><code>{endpoint.method} {escape(endpoint.path)}</code></h2><p>{escape(endpoint.summary)}</p>"
        )
        parts.append(
            f"<p>Takes {f'<code>{taken.__name__}</code>' if taken else 'nothing'}, "
            f"answers <code>{endpoint.answer.__name__ if endpoint.answer else 'bytes'}</code>.</p>"
        )
        parts.append(f"<small>Refusals: {codes}</small>")
    return "\n".join(parts).encode()
