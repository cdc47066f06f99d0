"""The ASGI app: find the endpoint, check key and body, run the operation, answer.

Every path is fixed, so routing is one dictionary; refusals become the one error shape here and nowhere else.
"""

import asyncio
import itertools
import json
import logging
import secrets
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from turnbuckle import CONTRACT_VERSION
from turnbuckle.config import Config
from turnbuckle.http import about, body, console, openapi, pages, reviews
from turnbuckle.http.activities import Activities
from turnbuckle.http.admission import Admission, Admitted
from turnbuckle.http.endpoints import ENDPOINTS, Endpoint
from turnbuckle.http.failures import envelope
from turnbuckle.http.hub import Hub, takes
from turnbuckle.http.imports import Imports
from turnbuckle.http.longpoll import LongPoll
from turnbuckle.http.outside import OutsideActivities
from turnbuckle.http.rdf import Rdf
from turnbuckle.http.request import ClientGone, Receive, Request
from turnbuckle.http.served import Served
from turnbuckle.http.sparql import Sparql
from turnbuckle.http.store import AsyncStore
from turnbuckle.http.waiting import WaitingRoom
from turnbuckle.models.roster import open_models
from turnbuckle.operations import graph, query, review, turn
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.hub_check import CodeCheck, no_code_check
from turnbuckle.outside.settings import open_outside
from turnbuckle.sparql.index import Index, Limits
from turnbuckle.store.database import Database, Lane
from turnbuckle.store.transaction import Announcement, Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.effect import read_mark
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.step import WorkflowTurnCheckpointRequest, WorkflowTurnOperationRequest
from turnbuckle.wire.turn import WorkflowTurnCompleteRequest, WorkflowTurnFailRequest

log = logging.getLogger("turnbuckle.http")
Send = Callable[[dict[str, Any]], Awaitable[None]]
Conductor = Callable[..., Awaitable[Any]]  # (graph id, what the endpoint reads ..., when the client has gone)
_JSON, _BYTES = b"application/json", b"application/octet-stream"
_TELLING = (
    WorkflowTurnOperationRequest,
    WorkflowTurnCheckpointRequest,
    WorkflowTurnCompleteRequest,
    WorkflowTurnFailRequest,
)
_VERSION_HEADER = (b"lbb-version", CONTRACT_VERSION.encode())


class App:
    """One server process's HTTP face over one database."""

    def __init__(
        self,
        database: Database,
        config: Config,
        index: Path | None = None,
        code_check: CodeCheck = no_code_check,
    ) -> None:
        """`index` is the folder of its SPARQL index; without one it has one that goes with it."""
        self._code_check = code_check
        self.config = config
        self._index_folder = index
        self._database = database
        self._models = open_models(config.models, is_dev=config.mode == "dev")
        self._outside = open_outside(config.outside)
        for line in self._models.described():
            log.info("model for %s", line)
        self._routes: dict[tuple[str, str], Endpoint] = {(e.method, e.path): e for e in ENDPOINTS}
        run = secrets.token_hex(4)  # ids of two runs of a server differ
        self._request_ids = (f"req_{run}{number:06x}" for number in itertools.count(1))
        self._console = console.Console()
        self._pages = pages.pages(lambda: json.dumps(openapi.document()).encode())
        self._methods = _methods([*self._routes, *(("GET", path) for path in self._pages)])

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve from this loop. Called once, before the first request."""
        self.store = AsyncStore(self._database, loop)
        self.room = WaitingRoom(loop)
        self._admission = Admission(self.store)
        self.hub = Hub(self.store, self.config, self._code_check)
        self.served = Served(self.room, self._database.clock())
        poll = LongPoll(self.store, self.room, self.served)
        self.activities = Activities(self.store, self.room, self._models)
        self.outside = OutsideActivities(self.activities, self._models, self._outside)
        most = Limits(
            query_s=self.config.sparql_query_ms / 1_000,
            wait_s=limits.SPARQL_WAIT_MS / 1_000,
            memory_bytes=self.config.sparql_memory_bytes,
        )
        self.index = Index(self._index_folder, most)
        self.sparql = Sparql(self.store, self.index)
        rdf = Rdf(self.store)
        self._conductors: dict[Callable[..., Any], Conductor] = {  # what is more, or less, than one transaction
            turn.claim: poll.claim,
            turn.get: poll.finished,
            about.served: partial(about.served, self),
            Activities.reason: self.activities.reason,
            Activities.decide: self.activities.decide,
            Activities.embed: self.activities.embed,
            OutsideActivities.chat: self.outside.chat,
            OutsideActivities.http: self.outside.http,
            query.sparql_text: self.sparql.query,
            Rdf.post: rdf.post,
            Rdf.update: rdf.update,
            review.answer: partial(reviews.answer, self.store),
            review.answer_batch: partial(reviews.answer_batch, self.store),
            Imports.post: Imports(self.store).post,
        }

        thread = threading.get_ident()

        def announce(announced: list[Announcement]) -> None:
            if any(topic[0] == "deleted" for topic, _ in announced):
                self._admission.forget()
                self.hub.admission.forget()  # a name that is made again at once is another graph
            if threading.get_ident() == thread:
                self._hear(announced, self._database.clock())
            elif not loop.is_closed():
                loop.call_soon_threadsafe(self._hear, announced, self._database.clock())

        self._database.listener = announce
        self._database.attach(loop)

    def _hear(self, announced: list[Announcement], now_ms: int) -> None:
        self.room.announce(announced, now_ms)
        for topic, _ in announced:
            if topic[0] == "deleted":
                self.sparql.follower.forget(topic[1])
        if self._index_folder is not None:  # one that is kept is worth keeping up before somebody asks
            for topic, _ in announced:
                if topic[0] == "committed":
                    self.sparql.follower.wake(topic[1])

    def close(self) -> None:
        """End what it has running beside its loop."""
        self.index.close()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} here")
        request_id = next(self._request_ids)
        request, more = Request(scope, receive), list[tuple[bytes, bytes]]()
        try:
            if takes(request.path):
                status, kind, content, more = await self.hub.answer(request)
            elif console.takes(request.path):
                status, kind, content, more = self._console.answer(request.method, request.path)
            else:
                status, kind, content = 200, *await self._answer(request)
        except Refused as refused:
            status, kind, content = refused.kind.status, _JSON, envelope(refused, request_id)
            if refused.retry_after_s is not None:
                more = [(b"retry-after", str(refused.retry_after_s).encode())]
            if status == HTTPStatus.METHOD_NOT_ALLOWED:
                more = [(b"allow", self._methods.get(request.path, "GET").encode())]
        except ClientGone:
            return
        except Exception:
            log.exception("%s %s failed (request %s)", request.method, request.path, request_id)
            status, kind = 500, _JSON
            content = envelope(Refused("internal", "the server met an error of its own"), request_id)
        await _send(send, status, kind, content, request_id, more)

    async def _answer(self, request: Request) -> tuple[bytes, bytes]:
        endpoint = self._routes.get((request.method, request.path))
        if endpoint is None:
            return self._page(request)
        if not endpoint.in_graph:
            return _JSON, msgspec.json.encode(endpoint.run(self))
        admitted = await self._admission.admit(endpoint, request)
        if endpoint.is_of_engine and not self.config.workflows:
            raise Refused("workflows_disabled", "the workflow engine is switched off on this server")
        answer = await self._run(endpoint, request, admitted)
        return (_BYTES, answer) if isinstance(answer, bytes) else (_JSON, msgspec.json.encode(answer))

    async def _run(self, endpoint: Endpoint, request: Request, admitted: Admitted) -> Any:
        content = await request.body(endpoint.body_bytes)
        reads = await _reads(endpoint, request, admitted, content)
        graph_of = partial(_graph_of, endpoint, admitted)
        if endpoint.run in self._conductors:
            graph_id = admitted.graph_id or await self.store.write(graph_of)
            return await self._conductors[endpoint.run](graph_id, *reads, request.gone)
        is_brief = request.headers.get(b"prefer") == b"return=minimal"

        def operation(tx: Transaction) -> Any:
            answer = endpoint.run(tx, graph_of(tx), *reads)
            if isinstance(answer, turn.Changed):
                return answer.brief if is_brief and answer.brief is not None else turn.answer(tx, answer)
            return answer

        if endpoint.method == "GET":
            return await self.store.read(operation)
        lane = Lane.BULK if len(content) > endpoint.bulk_from_bytes else Lane.TURNS
        return await self.store.write(operation, lane)

    def _page(self, request: Request) -> tuple[bytes, bytes]:
        if request.method == "GET" and request.path in self._pages:
            kind, content = self._pages[request.path]
            return kind, content()
        if request.path in self._methods:
            raise Refused("method_not_allowed", f"{request.path} does not take {request.method}")
        raise Refused("not_found", f"no route for {request.path}")


def _graph_of(endpoint: Endpoint, admitted: Admitted, tx: Transaction) -> str:
    """The graph's id. What is refused makes no graph, as it is made in the transaction of its first use."""
    if admitted.graph_id == graph.NOWHERE and endpoint.makes_graph:
        return graph.use(tx, admitted.caller.environment, admitted.caller.graph)
    return admitted.graph_id


def _methods(routes: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The methods that each path takes, as the header `Allow` lists them."""
    return {path: ", ".join(sorted(method for method, other in routes if other == path)) for _, path in routes}


async def _reads(endpoint: Endpoint, request: Request, admitted: Admitted, content: bytes) -> list[Any]:
    """What the operation takes beside the graph, in the order that Endpoint tells."""
    reads: list[Any] = [admitted.query] if endpoint.reads_query else []
    if endpoint.body is not None:
        reads.append(await _decode(content, endpoint.body))
        _check_events(reads[-1], admitted.caller)
    if endpoint.raw_body:
        reads.append(content)
    if endpoint.with_caller:
        reads.append(_caller(request, admitted))
    return reads


def _check_events(body: msgspec.Struct, caller: Caller) -> None:
    """Only the runner of executions tells their events (decision 36)."""
    if getattr(body, "events", None) and isinstance(body, _TELLING) and caller.scope != "runtime":
        raise Refused("forbidden", "events: got some, expected none from a key that is not of scope runtime")


def _caller(request: Request, admitted: Admitted) -> Caller:
    mark = request.header(b"lbb-effect")
    effect = None if mark is None else read_mark(mark)
    if mark is not None and effect is None:
        expected = "graph/instance/turn/step/effect id"
        raise Refused("invalid_param", f"lbb-effect: got {mark[:80]!r}, expected {expected}", param="lbb-effect")
    return msgspec.structs.replace(
        admitted.caller,
        idempotency_key=request.header(b"idempotency-key"),
        content_type=request.header(b"content-type"),
        effect=effect,
    )


async def _decode(content: bytes, kind: type[msgspec.Struct]) -> msgspec.Struct:
    if len(content) > body.LARGE_BYTES:
        return await asyncio.to_thread(body.decode, content, kind)
    return body.decode(content, kind)


async def _send(
    send: Send, status: int, kind: bytes, content: bytes, request_id: str, more: list[tuple[bytes, bytes]]
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(content)).encode()),
        (b"x-request-id", request_id.encode()),
        _VERSION_HEADER,
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
