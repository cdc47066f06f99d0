"""Requests before they have a credential: paths, bodies, and whether one is safe to repeat (blobhub 2.1, 2.5, 4.12)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from blobhub.wire_json import dump, dump_header

OCTETS = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """`path` is relative to the API URL. `content` and `headers` stay out of the repr: they may hold secrets."""

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_safe(self) -> bool:
        """True when sending it twice does nothing more than sending it once."""
        return self.method == "GET" or self.path.endswith("/data/query")


def path_of(*segments: str) -> str:
    """The segments, percent-encoded, as a path. ValueError for an empty one, `.` and `..`."""
    for segment in segments:
        if segment in ("", ".", ".."):
            raise ValueError(f"{segment!r} cannot be a part of an address; give an id or an alias")
    return "/".join(quote(segment, safe="") for segment in segments)


def json_request(method: str, path: str, json: Any = None, params: Mapping[str, Any] | None = None) -> ApiRequest:
    """A request with an optional JSON body. ValueError for an absolute URL and for a path that leaves the API URL."""
    path = path.lstrip("/")
    if urlsplit(path).scheme:
        raise ValueError("the path is relative to the API URL; an absolute URL is refused, for it would get the key")
    if not {".", ".."}.isdisjoint(path.partition("?")[0].split("/")):
        raise ValueError(f"the path {path!r} has a dot segment")
    sent = {name: value for name, value in (params or {}).items() if value is not None}
    if json is None:
        return ApiRequest(method.upper(), path, sent or None)
    return ApiRequest(method.upper(), path, sent or None, dump(json), {"content-type": "application/json"})


def command_body(command: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The flat body of a data call: arguments that are None are left out, and the name always wins (blobhub 4.5)."""
    return {**{name: value for name, value in args.items() if value is not None}, "command": command}


def octets_out_request(path: str, body: Mapping[str, Any]) -> ApiRequest:
    """JSON goes, bytes come back."""
    return ApiRequest("POST", path, None, dump(body), {"content-type": "application/json", "accept": OCTETS})


def octets_in_request(path: str, body: Mapping[str, Any], data: bytes) -> ApiRequest:
    """Bytes go, with the JSON in a header."""
    return ApiRequest("POST", path, None, data, {"content-type": OCTETS, "x-request-body": dump_header(body)})
