"""What the tests of `blobhub` share: a scripted server behind httpx.MockTransport, and a clock that sleeping moves."""

import json
from collections.abc import Callable
from typing import Any

import httpx

from blobhub import Blob, Client, Revision
from blobhub.settings import Settings

START_UNIX = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT
KEY = "bh_secret_key"
URL = "http://hub.test/v1"
ORG, BLOB, REVISION = "org-1", "blob-1", "revision-1"
WORKFLOW_TYPE = "blobhub.compute.workflow"

Answer = httpx.Response | Exception


def ok(**keys: Any) -> httpx.Response:
    return httpx.Response(200, json={"status": "success", **keys})


def refused(status: int, error: str = "no", message: str = "", **keys: Any) -> httpx.Response:
    return httpx.Response(status, json={"status": "failure", "error": error, "message": message, **keys})


class Script:
    """Gives its answers in order, the last one for ever, and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers) or [ok()]
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        # A response can be read once; the last one is given again.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def request(self) -> httpx.Request:
        """The only request."""
        (request,) = self.requests
        return request

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) if request.content else None for request in self.requests]

    @property
    def commands(self) -> list[str]:
        return [body["command"] for body in self.bodies]


class MovedTime:
    """Time passes when a client sleeps, and when a test says so. The dice give a half."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def client(
        self, server: Callable[[httpx.Request], httpx.Response], *, key: str | None = KEY, url: str = URL
    ) -> Client:
        return Client(
            Settings(api_url=url, source="argument" if key else "anonymous", api_key=key),
            transport=httpx.MockTransport(server),
            sleep=self.sleep,
            clock=lambda: 5_000.0 + self.now,
            wall_clock=lambda: START_UNIX + self.now,
            rng=lambda: 0.5,
        )


def client_of(
    server: Callable[[httpx.Request], httpx.Response], time: MovedTime | None = None, **options: Any
) -> Client:
    return (time or MovedTime()).client(server, **options)


def blob_of(client: Client, type: str = WORKFLOW_TYPE, **record: Any) -> Blob:
    return Blob(client, {"id": BLOB, "org_id": ORG, "type": type, **record})


def revision_of(client: Client, **record: Any) -> Revision:
    return Revision(blob_of(client), {"id": REVISION, "status": "ready", "phase": "draft", **record})
