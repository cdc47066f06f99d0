"""Parts of a transfer plan: bytes to and from another host, without our credential (blobhub 2.6)."""

from collections.abc import Mapping
from typing import Any, TypeVar

import httpx

from blobhub.answer import refusal
from blobhub.api import Reader
from blobhub.errors import ServerError
from blobhub.exchange import exchange
from blobhub.log_redaction import presigned
from blobhub.request import ApiRequest
from blobhub.retry import with_retries
from blobhub.timing import Timing
from blobhub.wire_json import json_object

T = TypeVar("T")


class PartTransfer:
    """A part is `{"size": int, "offset": int, "upload" | "download": {"url": str, "headers"?: {...}}}`."""

    def __init__(self, http: httpx.Client, timing: Timing) -> None:
        self._http = http
        self._timing = timing

    def upload(self, part: Mapping[str, Any], data: bytes) -> str:
        """The ETag as received. ValueError for data of another size; ServerError `missing_etag`."""
        if len(data) != _size_bytes(part):
            raise ValueError(f"the part has {part['size']} bytes, the data {len(data)}")
        return self._send("PUT", part.get("upload"), data, _etag)

    def download(self, part: Mapping[str, Any]) -> bytes:
        """The bytes. ServerError `unexpected_part_size` when there are more or fewer than the plan says."""
        size_bytes = _size_bytes(part)
        return self._send("GET", part.get("download"), None, lambda response, now: _sized(response, size_bytes))

    def _send(self, method: str, place: Any, data: bytes | None, read: Reader[T]) -> T:
        if not isinstance(place, Mapping) or not isinstance(place.get("url"), str):
            raise _invalid_plan("a part has no address")
        request = ApiRequest(method, "", None, data, dict(place.get("headers") or {}))

        url = _checked_url(place["url"])

        def attempt() -> T:
            with presigned():
                response = exchange(self._http, url, request, {})
            if not response.is_success:
                raise refusal(response, json_object(response.content), self._timing.wall_clock())
            return read(response, 0)

        return with_retries(attempt, is_safe=True, timing=self._timing, what=f"{method} of a part")


def _etag(response: httpx.Response, now: float) -> str:
    etag = response.headers.get("etag")
    if not etag:
        raise ServerError("missing_etag", "the part was taken without an ETag", response.status_code)
    return str(etag)


def _sized(response: httpx.Response, size_bytes: int) -> bytes:
    if len(response.content) != size_bytes:
        text = f"the part has {len(response.content)} bytes, the plan says {size_bytes}"
        raise ServerError("unexpected_part_size", text, response.status_code)
    return response.content


def _checked_url(text: str) -> httpx.URL:
    try:
        return httpx.URL(text)
    except httpx.InvalidURL:  # it quotes the address
        pass
    raise _invalid_plan("the address of a part is none")


def _size_bytes(part: Mapping[str, Any]) -> int:
    size = part.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        raise _invalid_plan("a part has no size")
    return size


def _invalid_plan(message: str) -> ServerError:
    return ServerError("invalid_part_plan", message)
