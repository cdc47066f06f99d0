"""The live debugger page and its files (src/turnbuckle/console): what a browser gets without a key (decision 20).

The page stands at `/{org}/{blob}/debugger/{session}/{execution}`, as clients derive it, and asks the API as any client
does. Its files have the hash of all of them in their path, so a browser keeps them for ever and never mixes versions.
"""

import hashlib
from importlib.resources import files
from typing import Final

from turnbuckle.http.hub.answer import Answer
from turnbuckle.wire.errors import Refused

Headers = list[tuple[bytes, bytes]]
_PAGE: Final = "debugger.html"
_ROOT: Final = "console"  # the first part of the files' paths
_KINDS: Final = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8", ".svg": b"image/svg+xml"}
# Nothing from elsewhere, no script in the page itself, and nobody shows the page in a frame of theirs.
_POLICY: Final = b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_GUARDS: Final[Headers] = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


def takes(path: str) -> bool:
    """Whether the path is the page's or one of its files'."""
    parts = path.split("/")[1:]
    return parts[0] == _ROOT or _is_page(parts)


def _is_page(parts: list[str]) -> bool:
    return len(parts) == 5 and parts[2] == "debugger" and parts[0] != "v1" and all(parts)


class Console:
    """The files as they were at the start of the server."""

    def __init__(self) -> None:
        folder = files("turnbuckle") / "console"
        found = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        self._files = {name: content for name, content in found.items() if _kind(name) is not None}
        self.version = _hash(found)
        self._page = found[_PAGE].replace(b"{version}", self.version.encode())

    def answer(self, method: str, path: str) -> Answer:
        """Refused(method_not_allowed | not_found)."""
        parts = path.split("/")[1:]
        if not _is_page(parts) and not self._has(parts):
            raise Refused("not_found", f"no page {path}")
        if method != "GET":
            raise Refused("method_not_allowed", f"{path} does not take {method}")
        if _is_page(parts):
            return Answer(200, b"text/html; charset=utf-8", self._page, [(b"cache-control", b"no-cache"), *_GUARDS])
        kept = (b"cache-control", b"public, max-age=31536000, immutable")
        return Answer(200, _kind(parts[2]) or b"", self._files[parts[2]], [kept, *_GUARDS])

    def _has(self, parts: list[str]) -> bool:
        return len(parts) == 3 and parts[1] == self.version and parts[2] in self._files


def _kind(name: str) -> bytes | None:
    return next((kind for ending, kind in _KINDS.items() if name.endswith(ending)), None)


def _hash(found: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in sorted(found):
        whole.update(name.encode() + b"\0" + hashlib.sha256(found[name]).digest())
    return whole.hexdigest()[:12]
