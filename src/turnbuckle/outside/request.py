"""One request to a host outside: bounded in time and size, sent once, without following redirects."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

import httpx

from turnbuckle.outside.address import CheckedTransport, Lookup, NotAllowed, look_up, port_of
from turnbuckle.outside.settings import Outside

JSON_DEPTH: Final = 150  # less than a step's output may have
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The connection's own, and what decides whose request it is.
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
_HIDDEN = frozenset({"set-cookie"})


class NoAnswer(Exception):
    """The host gave no answer; whether it has taken the request is not known."""


@dataclass(frozen=True)
class Asked:
    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None
    content_type: str | None
    timeout_s: float | None
    credential: str | None
    effect_id: str


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    text: str
    json: bytes | None = None  # of a body that says it is JSON, and is


class HttpOutside:
    """What sends requests of executions."""

    def __init__(self, outside: Outside, lookup: Lookup = look_up) -> None:
        self._outside = outside
        self._client = httpx.AsyncClient(
            transport=CheckedTransport(outside, lookup), follow_redirects=False, trust_env=False
        )

    async def send(self, asked: Asked) -> Answered:
        """NotAllowed before anything is sent, or for an answer over the size; NoAnswer when none came in time."""
        timeout_s = asked.timeout_s or self._outside.settings.http.timeout_s
        request = self._built(asked, timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._sent(request)
        except TimeoutError as exc:
            raise NoAnswer(f"no answer within {timeout_s:g} s") from exc
        except httpx.TimeoutException as exc:
            raise NoAnswer(f"no answer within {timeout_s:g} s") from exc
        except httpx.HTTPError as exc:
            raise NoAnswer(self._outside.hidden(f"{type(exc).__name__}: {exc}")) from exc

    def _built(self, asked: Asked, timeout_s: float) -> httpx.Request:
        if asked.method not in METHODS:
            raise NotAllowed(f"method: got {asked.method[:20]!r}, expected one of {', '.join(sorted(METHODS))}")
        headers = {name.lower(): text for name, text in asked.headers.items()}
        if taken := _OURS & headers.keys():
            raise NotAllowed(f"headers: {', '.join(sorted(taken))} cannot be set")
        headers.setdefault("idempotency-key", asked.effect_id)  # a repeat after a crash is known by it
        if asked.content_type is not None:
            headers.setdefault("content-type", asked.content_type)
        try:
            url = httpx.URL(asked.url)
            if asked.credential is not None:
                headers["authorization"] = f"Bearer {self._secret(asked.credential, url)}"
            return self._client.build_request(
                asked.method, url, headers=headers, content=asked.content, timeout=timeout_s
            )
        except (httpx.InvalidURL, UnicodeError, ValueError, TypeError) as exc:
            raise NotAllowed(f"the request cannot be sent as it is: {type(exc).__name__}") from exc

    def _secret(self, name: str, url: httpx.URL) -> str:
        secret = self._outside.secret(name, url.host, port_of(url))
        if secret is None:
            raise NotAllowed(f"the server has no secret {name[:80]!r} for {url.host}")
        return secret

    async def _sent(self, request: httpx.Request) -> Answered:
        answer = await self._client.send(request, stream=True)
        try:
            content, most = bytearray(), self._outside.settings.http.answer_bytes
            async for chunk in answer.aiter_bytes():  # unpacked: a small answer must not become a large one
                content += chunk
                if len(content) > most:
                    raise NotAllowed(f"the answer has over {most} bytes")
        finally:
            await answer.aclose()
        return self._read(answer, bytes(content))

    def _read(self, answer: httpx.Response, content: bytes) -> Answered:
        hidden = self._outside.hidden
        headers = {name: hidden(text) for name, text in answer.headers.items() if name not in _HIDDEN}
        text = hidden(content.decode(answer.charset_encoding or "utf-8", "replace"))
        is_json = "json" in answer.headers.get("content-type", "")
        return Answered(answer.status_code, headers, text, _json(text) if is_json else None)

    async def aclose(self) -> None:
        await self._client.aclose()


def _json(text: str) -> bytes | None:
    """Written anew, as every reader of ours can take it; None for what is no JSON, or nested too deep."""
    try:
        value = json.loads(text)
        written = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return written if _depth(value) <= JSON_DEPTH else None


def _depth(value: Any) -> int:
    """Of lists and objects inside each other."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        one, depth = todo.pop()
        parts = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        if parts is not None:
            deepest = max(deepest, depth)
            todo += [(part, depth + 1) for part in parts]
    return deepest
