"""The scripted server: an httpx transport that compares each request with the next exchange and answers it."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from tests.conformance.matching import mismatches, same_json
from tests.conformance.scenario import Scenario

UNEXPECTED = {
    "status": 500,
    "body": {"error": {"type": "api_error", "code": "unexpected", "message": "the scenario has no exchange left"}},
}


@dataclass(frozen=True)
class Received:
    """A request as it arrived; `body` is None when its text is not JSON."""

    method: str
    path: str
    query: dict[str, str]
    headers: httpx.Headers
    text: str
    body: Any
    arrived_at_ms: int

    @classmethod
    def of(cls, request: httpx.Request) -> "Received":
        text = request.content.decode()
        return cls(
            method=request.method,
            path=request.url.path,
            query=dict(request.url.params),
            headers=request.headers,
            text=text,
            body=_json_or_none(text),
            arrived_at_ms=time.time_ns() // 1_000_000,
        )


class ScriptedServer(httpx.AsyncBaseTransport):
    """Answers the n-th request with the n-th exchange; `problems` says what did not fit."""

    def __init__(self, scenario: Scenario) -> None:
        self._exchanges = scenario.exchanges
        self._task = scenario.task
        self.received: list[Received] = []
        self.problems: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        received, index = Received.of(request), len(self.received)
        self.received.append(received)
        if index >= len(self._exchanges):
            self.problems.append(f"request {index}: unexpected {received.method} {received.path} {received.text}")
            return _answer(UNEXPECTED)
        exchange = self._exchanges[index]
        self.problems.extend(f"request {index}: {one}" for one in self._differences(exchange["request"], received))
        return await self._respond(exchange.get("response", {}), request)

    def unused(self) -> Iterator[str]:
        """One sentence for each exchange that no request has used."""
        for index, exchange in enumerate(self._exchanges[len(self.received) :], len(self.received)):
            yield f"exchange {index}: never sent {exchange['request']['method']} {exchange['request']['path']}"

    def _differences(self, expected: dict[str, Any], received: Received) -> Iterator[str]:
        for name in ("method", "path"):
            if (got := getattr(received, name)) != expected[name]:
                yield f"{name}: expected {expected[name]}, got {got}"
        for part, got in (("query", received.query), ("headers", received.headers)):
            for key, value in expected.get(part, {}).items():
                if got.get(key) != value:
                    yield f"{part}.{key}: expected {value!r}, got {got.get(key)!r}"
        if "raw" in expected and received.text != expected["raw"]:
            yield f"raw: expected {expected['raw']}, got {received.text}"
        if "body" in expected:
            yield from mismatches(expected["body"], received.body, "body", received.arrived_at_ms)
        if "same_body_as" in expected:
            earlier = self.received[expected["same_body_as"]]
            if not same_json(earlier.body, received.body):
                yield f"body: expected that of request {expected['same_body_as']}, {earlier.text}, got {received.text}"

    async def _respond(self, response: dict[str, Any], request: httpx.Request) -> httpx.Response:
        await _delay(response.get("delay_ms", 0) / 1000, request)
        if "transport_error" in response:
            raise httpx.ConnectError("the scenario breaks the connection", request=request)
        if "claim" in response:
            claimed = response["claim"]
            task = None if claimed is None else merge(self._task, claimed)
            return _answer({"status": response.get("status", 200), "body": {"task": task}})
        return _answer(response)


async def _delay(delay_s: float, request: httpx.Request) -> None:
    """Wait as a network would: the client's own read timeout ends the wait first."""
    limit_s = request.extensions.get("timeout", {}).get("read")
    if limit_s is not None and delay_s > limit_s:
        await asyncio.sleep(limit_s)
        raise httpx.ReadTimeout("the scenario answers later than the client waits", request=request)
    await asyncio.sleep(delay_s)


def merge(base: Any, over: Any) -> Any:
    """Objects key by key, also inside keys that the base has; anything else replaces."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: merge(base[key], value) if key in base else value for key, value in over.items()}}


def _answer(response: dict[str, Any]) -> httpx.Response:
    return httpx.Response(response.get("status", 200), json=response.get("body", {}))


def _json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
