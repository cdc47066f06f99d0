"""What the tests of the worker share: a scripted engine behind the real client, and tasks with defaults."""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowDefinition, WorkflowWorker

TURNS = "/v1/workflows/turns/"
Json = Any
Reply = httpx.Response | Exception | Json
Answer = Reply | Callable[[Json], Reply | Awaitable[Reply]]


@dataclass(frozen=True)
class Sent:
    route: str  # the path below TURNS, or the whole path
    body: Json
    raw: bytes
    headers: httpx.Headers
    params: dict[str, str]


def refused(status: int, code: str = "some_code", **error: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": {"type": "t", "code": code, "message": "no", **error}})


def saved(key: str, output: Json = None, kind: str = "step", **fields: Any) -> dict[str, Any]:
    return {"key": key, "kind": kind, "output": output, "at_ms": 1, **fields}


def make_task(steps: Iterable[Json] = (), *, turn: Json = None, **fields: Any) -> dict[str, Any]:
    """A claimed turn 3 of the instance `a-1`, of the workflow `job` version `v1`."""
    base = {
        "workflow_type": "job",
        "state": {"n": 0},
        "token": "T",
        "lease_ms": 60_000,
        "effect_prefix": "pre",
        "turn": {
            "workflow_id": "a-1",
            "number": 3,
            "message_id": "m-3",
            "message": {"by": 1},
            "version": "v1",
            "status": "running",
            "attempt": 1,
            "steps": list(steps),
            "run": {"id": "run-1", "started_at_ms": 1, "queue_before": 1},
            **(turn or {}),
        },
    }
    return {**base, **fields}


async def until(condition: Callable[[], object]) -> None:
    """Wait for what happens in other tasks and threads, which no event tells of."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


class Engine:
    """Answers a worker; `answer` scripts a route. Claims hand out `tasks`, then wait for more or for `idle`."""

    def __init__(self, *tasks: Json) -> None:
        self.sent: list[Sent] = []
        self.client = AsyncLbbClient(
            "http://engine.test", graph="main", max_retries=2, retry_delay=0, transport=httpx.MockTransport(self._reply)
        )
        self._tasks = list(tasks)
        self._answers: dict[str, list[Answer]] = {}
        self._news = asyncio.Event()
        self._is_idle = False

    def answer(self, route: str, *answers: Answer) -> None:
        """Answer the route with these in order, the last one for ever."""
        self._answers[route] = list(answers)

    def give(self, *tasks: Json) -> None:
        self._tasks += tasks
        self._news.set()

    def idle(self) -> None:
        """Let claims that wait be answered: nothing is ready."""
        self._is_idle = True
        self._news.set()

    def routes(self, *but: str) -> list[str]:
        return [sent.route for sent in self.sent if sent.route not in but]

    def bodies(self, route: str) -> list[Json]:
        return [sent.body for sent in self.sent if sent.route == route]

    def body(self, route: str) -> Json:
        """The body of the only request on the route."""
        (body,) = self.bodies(route)
        return body

    async def until_sent(self, route: str, times: int = 1) -> None:
        await until(lambda: len(self.bodies(route)) >= times)

    async def _reply(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        sent = Sent(
            path.removeprefix(TURNS),
            json.loads(request.content) if request.content.startswith(b"{") else None,
            request.content,
            request.headers,
            dict(request.url.params),
        )
        self.sent.append(sent)
        reply = await self._scripted(sent)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, httpx.Response) else httpx.Response(200, json=reply)

    async def _scripted(self, sent: Sent) -> Any:
        answers = self._answers.get(sent.route)
        if answers is None:
            return await self._claimed(sent.body["wait_ms"]) if sent.route == "claim" else {}
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        reply = answer(sent.body) if callable(answer) else copy.deepcopy(answer)
        return await reply if isinstance(reply, Awaitable) else reply

    async def _claimed(self, wait_ms: int = 1) -> Json:
        while not self._tasks and not self._is_idle and wait_ms:
            self._news.clear()
            await self._news.wait()
        return {"task": copy.deepcopy(self._tasks.pop(0)) if self._tasks else None}


def job(handler: Any, *, name: str = "job", version: str = "v1") -> WorkflowDefinition:
    return WorkflowDefinition(name, version, {"n": 0}, handler)


def make_worker(engine: Engine, *handlers: Any, **options: Any) -> WorkflowWorker:
    definitions = [handler if isinstance(handler, WorkflowDefinition) else job(handler) for handler in handlers]
    return WorkflowWorker(engine.client, definitions, worker="w", **options)


async def run_turn(handler: Any, task: Json = None, *, engine: Engine | None = None, **options: Any) -> Engine:
    """Claim one turn and run it to its end. The engine tells what was sent."""
    engine = engine or Engine()
    engine.give(make_task() if task is None else task)
    await make_worker(engine, handler, **options).run_once()
    return engine


def ended(engine: Engine) -> Json:
    """The body of the turn's only end: its completion or its failure."""
    (end,) = [sent.body for sent in engine.sent if sent.route in ("complete", "fail")]
    return end


def failure(engine: Engine, *, is_permanent: bool) -> str:
    """The error text of the turn's only end, which must be a failure of that kind."""
    end = ended(engine)
    assert end.get("non_retryable") is is_permanent, end
    text: str = end["error"]
    return text
