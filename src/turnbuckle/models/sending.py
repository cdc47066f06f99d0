"""Requests to a provider: bounded in number, time and size, and sent again when that may help.

What is sent again: 429 and 5xx, and connections that broke. Not what took too long: a slow model is slow again, and
the step that asks may send its request once more under the same effect id.
"""

import asyncio
import datetime
import email.utils
import json
import random
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import httpx

from turnbuckle.models.provider import CallFailed
from turnbuckle.models.settings import OpenAiSettings

ANSWER_BYTES = 64 * 1024 * 1024
_FIRST_DELAY_S, _DELAY_S = 0.5, 20.0
_RETRY_AFTER_S = 30.0  # longer than this nobody waits here: the caller is told
_ERROR_CHARS = 300
_REFUSALS = frozenset({400, 409, 413, 414, 415, 422})
Sleep = Callable[[float], Awaitable[None]]


class Sender:
    """One provider's address, key and limits. Connections are opened at the first request, on the loop that asks."""

    def __init__(
        self,
        name: str,
        settings: OpenAiSettings,
        secret: str | None,
        *,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._name = name
        self._settings = settings
        self._secret = secret
        self._sleep = sleep
        self._chance = chance
        self._transport = transport
        self._free = asyncio.Semaphore(settings.concurrency)
        self._client: httpx.AsyncClient | None = None

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer's JSON object. Raises CallFailed: refused, busy, unavailable, or set up wrongly."""
        attempt = 0
        while True:
            try:
                async with self._free:
                    status, headers, content = await self._attempt(path, body)
                wait_s = None if status < 429 else self._wait_s(status, headers, attempt)
                if wait_s is None:
                    return self._read(status, headers, content)
            except httpx.TimeoutException as exc:
                raise self._unavailable(f"gave no answer within {self._settings.timeout_s:g} s") from exc
            except httpx.HTTPError as exc:  # a connection that was refused, or broke
                if attempt >= self._settings.retries:
                    raise self._unavailable(f"cannot be reached or hung up ({type(exc).__name__})") from exc
                wait_s = self._delay_s(attempt)
            attempt += 1
            await self._sleep(wait_s)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _attempt(self, path: str, body: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        try:
            async with (
                asyncio.timeout(self._settings.timeout_s),  # httpx's own limit begins anew with each byte
                self._opened().stream("POST", path, json=body) as answer,
            ):
                chunks, size = [], 0
                async for chunk in answer.aiter_bytes():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > ANSWER_BYTES:
                        raise self._unavailable(f"answered more than {ANSWER_BYTES} bytes")
                return answer.status_code, answer.headers, b"".join(chunks)
        except TimeoutError as exc:
            raise httpx.ReadTimeout("the whole attempt took too long") from exc

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            headers = {} if self._secret is None else {"authorization": f"Bearer {self._secret}"}
            self._client = httpx.AsyncClient(
                base_url=self._settings.url.rstrip("/") + "/",
                headers=headers,
                timeout=self._settings.timeout_s,
                trust_env=False,
                transport=self._transport,
                limits=httpx.Limits(max_connections=self._settings.concurrency),
            )
        return self._client

    # -- again, or not -------------------------------------------------------------------------------------------

    def _wait_s(self, status: int, headers: httpx.Headers, attempt: int) -> float | None:
        """How long to wait before the next attempt; None when there is none."""
        if (status != HTTPStatus.TOO_MANY_REQUESTS and status < 500) or attempt >= self._settings.retries:
            return None
        asked_s = retry_after_s(headers)
        if asked_s is None:
            return self._delay_s(attempt)
        return asked_s if asked_s <= _RETRY_AFTER_S else None

    def _delay_s(self, attempt: int) -> float:
        """Twice as long each time, with chance, so that many callers do not come back at once."""
        return min(_DELAY_S, _FIRST_DELAY_S * (1 << min(attempt, 10))) * (0.5 + self._chance() / 2)

    def _read(self, status: int, headers: httpx.Headers, content: bytes) -> dict[str, Any]:
        if status == HTTPStatus.OK:
            return self._object(content)
        told = self._told(content)
        if status in _REFUSALS:
            raise CallFailed(
                "activity_request_refused", f"provider {self._name!r} refused the request ({status}){told}"
            )
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            asked_s = retry_after_s(headers)
            raise CallFailed(
                "rate_limited",
                f"provider {self._name!r} takes no more requests for now (429){told}",
                retry_after_s=None if asked_s is None else max(1, round(asked_s)),
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise self._unavailable(f"failed ({status}){told}")
        # What it says of a key it may repeat: it stays unsaid.
        raise CallFailed("models_not_configured", f"provider {self._name!r} refuses this server ({status})")

    def _object(self, content: bytes) -> dict[str, Any]:
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._unavailable("answered what is no JSON object")
        return found

    def _told(self, content: bytes) -> str:
        """The provider's own words, cut, without the key."""
        try:
            error = json.loads(content)["error"]
            text = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError, RecursionError):
            return ""
        if self._secret is not None:
            text = text.replace(self._secret, "(the key)")
        text = " ".join(text[:_ERROR_CHARS].split()).rstrip(".")
        return f": {text}" if text else ""

    def _unavailable(self, what: str) -> CallFailed:
        return CallFailed("model_unavailable", f"provider {self._name!r} {what}")


def retry_after_s(headers: httpx.Headers) -> float | None:
    """Seconds, from a number or a date; None without a header that can be read."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            at = email.utils.parsedate_to_datetime(text)
        except ValueError:
            return None
        if at.tzinfo is None:
            at = at.replace(tzinfo=datetime.UTC)
        seconds = (at - datetime.datetime.now(datetime.UTC)).total_seconds()
    return max(0.0, seconds) if seconds < 1e9 else None  # also what is no number
