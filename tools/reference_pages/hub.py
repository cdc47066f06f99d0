"""docs/reference/hub.md"""

import inspect
import re
from typing import Any

import msgspec

from reference_pages.endpoints import fields
from reference_pages.markdown import generated_from, table
from turnbuckle.http.hub.commands import TABLE, Command
from turnbuckle.http.hub.routes import ROUTES, Route
from turnbuckle.hub.limits import KINDS
from turnbuckle.wire.hub_errors import HUB_ERRORS


def hub_page() -> str:
    """The routes, then the data channel's queries and commands, the shapes they take, the limits, the errors."""
    structs = [command.request for command in TABLE] + [route.body for route in ROUTES if route.body is not None]
    _, schemas = msgspec.json.schema_components(structs, ref_template="#/{name}")
    requests = {struct.__name__ for struct in structs}
    return (
        generated_from("turnbuckle.http.hub")
        + "# The second API\n\n"
        + "The API of blobs, served beside the first by the same process and port.\n"
        + "Every answer is a JSON object with `status`: `success`, or `failure` with `error` and `message`.\n"
        + "A key goes into `X-API-Key: KEY` or `Authorization: Bearer KEY`; without one, public blobs can be read with "
        + "a token of `/v1/auth/core/anonymous`.\n"
        + "Times are UTC with six digits, such as `2026-01-31T09:05:00.123456Z`.\n"
        + "A key that a request does not know is refused, and so is `null` for a key that can be left out.\n"
        + "\n## Routes\n\n"
        + table(("route", "what it does", "takes"), map(_route, ROUTES))
        + "\n## The data channel\n\n"
        + 'A body is `{"command": NAME, ...}`: queries go to `/v1/revisions/{id}/data/query`, commands to '
        + "`/v1/revisions/{id}/data/command`.\n"
        + "A call is checked in this order: the credential (401), whether it may (403), whether the revision is ready "
        + "and can be written (409), the body (400), then the command itself.\n"
        + "".join(_command(command, schemas[command.request.__name__]) for command in TABLE)
        + "\n## Shapes\n"
        + "".join(
            f"\n### {name}\n\n{fields(schema)}" for name, schema in sorted(schemas.items()) if _is_shown(name, requests)
        )
        + "\n## Limits of a blob\n\n"
        + table(("id", "default"), ((f"`{kind.id}`", str(kind.default)) for kind in KINDS.values()))
        + "\n## Errors\n\n"
        + table(
            ("error", "status", "what to do"),
            ((f"`{kind.code}`", str(kind.status), kind.sentence) for kind in HUB_ERRORS.values()),
        )
    )


def _route(route: Route) -> tuple[str, str, str]:
    takes = "" if route.body is None else f"[{route.body.__name__}](#{route.body.__name__.lower()})"
    who = " Open without a key." if route.is_open else " For the runner's key only." if route.is_of_runner else ""
    return f"`{route.method} {route.path}`", route.summary + who, takes


def _command(command: Command, schema: dict[str, Any]) -> str:
    """Its docstring, and what it takes beside its name."""
    text = f"\n### {command.name}\n\nA {command.channel}.\n{_said(command)}"
    text += "The body is bytes, the command goes into the header `X-Request-Body`.\n" if command.takes_bytes else ""
    text += "Ask with `Accept: application/octet-stream`; the envelope is in `X-Response-Body`.\n" * command.gives_bytes
    properties = {name: one for name, one in schema["properties"].items() if name not in ("command", "engine")}
    return text + ("\n" + fields(schema | {"properties": properties}) if properties else "")


def _said(command: Command) -> str:
    """The operation's own words, with the errors it can give named as readers know them."""
    words = " ".join((inspect.getdoc(command.run) or "").split("\n\n")[0].split())
    words = re.sub(r" \((?:decisions?|blobhub) [^)]*\)", "", words)  # those are for who works on the program
    if not words:
        return ""
    return re.sub(r"HubRefused\(([^)]*)\)", lambda codes: f"Errors: {codes[1].replace(' | ', ', ')}", words) + "\n"


def _is_shown(name: str, requests: set[str]) -> bool:
    return name not in requests or not name.startswith("Hub") or name in {r.body.__name__ for r in ROUTES if r.body}
