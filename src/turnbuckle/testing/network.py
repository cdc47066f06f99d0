"""The way from a client to the app, without a network in between: here replies get lost and workers die."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import httpx

from turnbuckle.testing import asgi
from turnbuckle.testing.faults import PREFIX, SAVES, Faults, Point

Note = Callable[[str, str, dict[str, Any], dict[str, Any]], None]  # (graph, route, sent, answer)
Pair = tuple[str, str, str]  # graph name, workflow type, version
_HEARTBEAT = "turns/heartbeat"


class WorkerCrashed(BaseException):
    """A worker died here, as the test asked. `Engine.run` catches it; it unwinds the handler like a cancellation."""


class ReplyDropped(httpx.ReadError):
    """The server has done what it was asked to, and its reply was lost, as the test asked."""


class NothingRuns(Exception):
    """Somebody waits for a turn's result, and nothing is there that could bring it."""


class Network:
    """What all clients of one engine share."""

    def __init__(self, app: asgi.AsgiApp, faults: Faults) -> None:
        self.app = app
        self.faults = faults
        self.requests = 0
        self.pairs: set[Pair] = set()  # that workers have asked for
        self.runs = 0  # of the engine, under way
        self.has_other_workers = False  # which the test made itself, and which may be in a turn without a request

    def is_still_at(self, request: int) -> bool:
        """Whether nobody has done anything since that request, and nobody is about to."""
        return self.requests == request and not self.runs and not self.has_other_workers

    @contextmanager
    def running(self) -> Iterator[None]:
        self.runs += 1
        try:
            yield
        finally:
            self.runs -= 1


class Wire(httpx.AsyncBaseTransport):
    """One client's transport. Once its worker has crashed, nothing goes through any more.

    `note` gets the answered requests of a worker of `Engine.run`; without it this is a client of the test's own.
    """

    def __init__(self, network: Network, note: Note | None) -> None:
        self._network = network
        self._note = note
        self._is_dead = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        route = request.url.path.removeprefix(PREFIX)
        graph = request.url.params.get("graph", "main")
        self._check_alive(route)
        self._network.requests += 1
        sent = json.loads(await request.aread()) if route.startswith("turns/") else {}
        if route == "turns/claim":
            self._claims(graph, sent)
        point = self._network.faults.meet(route, sent.get("key") if route in SAVES else None)
        if point is Point.CRASH_BEFORE:
            self._die(f"before {route} reached the server")
        response = await self._answer(request, route)
        if point is Point.CRASH_AFTER:
            self._die(f"after {route} was done and before its reply came")
        if point is Point.DROP_REPLY:
            raise ReplyDropped(f"the reply of {route} was dropped, as the test asked", request=request)
        if self._note is not None and route.startswith("turns/") and response.is_success:
            self._note(graph, route, sent, response.json())
        return response

    def _claims(self, graph: str, sent: dict[str, Any]) -> None:
        self._network.pairs |= {(graph, pair["workflow_type"], pair["version"]) for pair in sent["workflows"]}
        self._network.has_other_workers |= self._note is None

    async def _answer(self, request: httpx.Request, route: str) -> httpx.Response:
        number = self._network.requests
        response = await asgi.call(self._network.app, request)
        is_wait = route == "instances/turn" and int(request.url.params.get("wait_ms", 0)) > 0
        if is_wait and response.is_success and self._network.is_still_at(number):
            _check_ended(response.json())
        return response

    def _check_alive(self, route: str) -> None:
        if not self._is_dead:
            return
        if route == _HEARTBEAT:  # in a task that nobody awaits
            raise httpx.ConnectError("this worker has crashed")
        raise WorkerCrashed("this worker has crashed; nothing it sends reaches the server")

    def _die(self, when: str) -> NoReturn:
        self._is_dead = True
        raise WorkerCrashed(f"the worker crashed {when}, as the test asked")


def _check_ended(turn: dict[str, Any]) -> None:
    """NothingRuns when a wait would go on: on a clock that stands still it would never end."""
    if turn["status"] not in ("completed", "failed", "cancelled"):
        raise NothingRuns(
            f"turn {turn['number']} of {turn['workflow_id']} is {turn['status']} and nothing runs it: "
            "call engine.run(...), let time pass first if it waits, or ask with timeout=0"
        )
