"""What the tests of the `lbb` clients share: a scripted server behind httpx.MockTransport, and a movable clock."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx

from lbb import AsyncLbbClient, LbbClient, RawLbbResponse
from lbb.retry import Chance

START_UNIX = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT

Answer = httpx.Response | Exception
ClientClass = type[LbbClient] | type[AsyncLbbClient]


class Script:
    """Gives its answers in order, the last one for ever, and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers) or [httpx.Response(200, json={})]
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


class MovedTime:
    """Time passes when a client sleeps, and when a test says so. The dice give the highest number."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.rolled: list[tuple[float, float]] = []

    def chance(self) -> Chance:
        return Chance(lambda: 5_000.0 + self.now, lambda: START_UNIX + self.now, self._uniform)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)

    def _uniform(self, low: float, high: float) -> float:
        self.rolled.append((low, high))
        return high


def client_of(cls: ClientClass, script: Callable[[httpx.Request], httpx.Response], **settings: Any) -> Any:
    """A client of either class over the script."""
    settings.setdefault("base_url", "http://server.test")
    return cls(transport=httpx.MockTransport(script), **settings)


def call(client: Any, time: MovedTime | None = None, /, *request: Any, **arguments: Any) -> RawLbbResponse:
    """`client.raw_request`, awaited when there is something to await."""
    if time is not None:
        client._chance = time.chance()
        client._sleep = time.sleep_async if isinstance(client, AsyncLbbClient) else time.sleep
    return finish(lambda: client.raw_request(*request, **arguments))


def finish(made: Callable[[], Any]) -> Any:
    """The value of a call of either client."""

    async def awaited() -> Any:
        value = made()
        return await value if asyncio.iscoroutine(value) else value

    return asyncio.run(awaited())
