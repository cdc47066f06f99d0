"""The client: one identity on one server (blobhub 4.3). Use one per thread."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import httpx

from blobhub.answer import envelope_of, record_of
from blobhub.api import Api
from blobhub.blob import Blob, blob_record
from blobhub.exchange import open_http
from blobhub.operation import Operation
from blobhub.parts import PartTransfer
from blobhub.request import json_request, path_of
from blobhub.settings import Identity, Settings
from blobhub.timing import API_TIMEOUT_SECONDS, PART_TIMEOUT_SECONDS, Timing
from blobhub.wire_json import Envelope


class Client:
    """Made by `blobhub.connect`. Closed with `close`, or as a context manager.

    `sleep` takes seconds, `clock` and `wall_clock` give seconds, `rng` a number from 0 to below 1; tests bring theirs.
    `api` and `timing` are for the modules of this package.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._http = open_http(transport, API_TIMEOUT_SECONDS)
        self._parts_http = open_http(transport, PART_TIMEOUT_SECONDS)
        self.timing = Timing(sleep=sleep, clock=clock, wall_clock=wall_clock, rng=rng)
        self.api = Api(settings, self._http, self.timing)
        self._parts = PartTransfer(self._parts_http, self.timing)

    @property
    def identity(self) -> Identity:
        return self._settings.identity

    @property
    def anonymous(self) -> bool:
        return self._settings.api_key is None

    def blob(self, org: str, blob: str) -> Blob:
        """The blob, each of both by id or alias. PermissionDenied when it is absent or not accessible."""
        return Blob(self, blob_record(self.request("GET", path_of("blobs", org, blob))))

    def operation(self, operation_id: str) -> Operation:
        return Operation(self, record_of(self.request("GET", path_of("operations", operation_id)), "operation"))

    def whoami(self) -> dict[str, Any] | None:
        """The user of the key; None for an anonymous client, without a request."""
        return None if self.anonymous else record_of(self.request("GET", "users/me"), "user")

    def request(self, method: str, path: str, *, json: Any = None, params: Mapping[str, Any] | None = None) -> Envelope:
        """The success envelope of any route. `path` is relative to the API URL, with its parts percent-encoded.

        `json` is sent exactly as given, parameters that are None are left out. ValueError for an absolute URL.
        """
        return self.api.send(json_request(method, path, json, params), envelope_of)

    def upload_part(self, part: dict[str, Any], data: bytes) -> str:
        """Put one part of an upload plan; the ETag as received."""
        return self._parts.upload(part, data)

    def download_part(self, part: dict[str, Any]) -> bytes:
        """Get one part of a download plan; its length is checked."""
        return self._parts.download(part)

    def close(self) -> None:
        self._http.close()
        self._parts_http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.identity.source} at {self.identity.api_url}>"
