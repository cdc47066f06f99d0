"""docs/reference/errors.md"""

from reference_pages.endpoints import anchor, title
from reference_pages.markdown import generated_from, table
from turnbuckle.http.endpoints import ENDPOINTS
from turnbuckle.http.openapi import refusals
from turnbuckle.wire.errors import ERRORS, ErrorKind


def errors_page() -> str:
    """A row and a heading per error code, with the endpoints that can answer it."""
    overview = table(
        ("code", "status", "what to do"),
        ((f"[`{kind.code}`](#{kind.code})", str(kind.status), kind.sentence) for kind in ERRORS.values()),
    )
    return (
        generated_from("turnbuckle.wire.errors")
        + "# Errors\n\n"
        + 'Every answer that is not 2xx carries one JSON object, `{"error": {...}}`.\n'
        + "Its `code` is one of these; its `message` names the field, what was got and what was expected.\n"
        + "A request that was refused changed nothing.\n\n"
        + overview
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
        lines.append("- Answered by: " + ", ".join(f"[{title(e)}](endpoints.md#{anchor(e)})" for e in by))
    return "\n".join(lines) + "\n"
