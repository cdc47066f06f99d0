"""Requests with the client's credential, tried again where that is safe (blobhub 2.3, 4.12)."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import httpx

from blobhub.anonymous import AnonymousToken, add_hint
from blobhub.answer import envelope_of
from blobhub.errors import AuthError, PermissionDenied
from blobhub.exchange import exchange
from blobhub.request import ApiRequest
from blobhub.retry import with_retries
from blobhub.settings import Settings
from blobhub.timing import Timing
from blobhub.wire_json import Envelope

T = TypeVar("T")
Reader = Callable[[httpx.Response, float], T]  # the answer, and the time in Unix seconds


class Api:
    def __init__(self, settings: Settings, http: httpx.Client, timing: Timing) -> None:
        self._settings = settings
        self._http = http
        self._timing = timing
        self._token = AnonymousToken(self._ask_without_credential, timing.wall_clock)

    def send(self, request: ApiRequest, read: Reader[T]) -> T:
        """What `read` makes of the answer; BlobHubError otherwise."""
        key = self._settings.api_key
        if key is not None:
            return self._tries(request, read, {"x-api-key": key})
        try:
            return self._send_anonymously(request, read)
        except (AuthError, PermissionDenied) as error:
            add_hint(error)
            raise

    def _send_anonymously(self, request: ApiRequest, read: Reader[T]) -> T:
        header = self._token.header()
        try:
            return self._tries(request, read, header)
        except AuthError:
            pass
        # A 401 comes before the request runs, so a write may be sent once more too.
        return self._tries(request, read, self._token.renewed_header())

    def _ask_without_credential(self, request: ApiRequest) -> Envelope:
        return self._tries(request, envelope_of, {})

    def _tries(self, request: ApiRequest, read: Reader[T], credential: Mapping[str, str]) -> T:
        url = f"{self._settings.api_url}/{request.path}"
        return with_retries(
            lambda: read(exchange(self._http, url, request, credential), self._timing.wall_clock()),
            is_safe=request.is_safe,
            timing=self._timing,
            what=f"{request.method} {request.path.partition('?')[0]}",
        )
