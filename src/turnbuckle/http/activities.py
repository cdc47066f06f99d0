"""Model activities over HTTP: look for the answer, reserve the call, make it, store what came (decision 18).

A call that was begun goes on when its client has gone: whoever asks for the same again gets its answer. The same
request in flight waits, also for a call of another server on the same store.
"""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from turnbuckle.http.request import ClientGone
from turnbuckle.http.store import AsyncStore
from turnbuckle.http.waiting import WaitingRoom
from turnbuckle.models import schema as schemas
from turnbuckle.models.provider import CallFailed, Prompt, Reply
from turnbuckle.models.roster import Models, Seat
from turnbuckle.operations import activity
from turnbuckle.operations.activity import Asked, Made, Reserved, Stored
from turnbuckle.operations.caller import Caller
from turnbuckle.store.database import Lane
from turnbuckle.wire import limits
from turnbuckle.wire.activity import (
    ChatActivityResponse,
    DecideActivityRequest,
    DecideActivityResponse,
    DecisionAnswer,
    EmbedActivityRequest,
    EmbedActivityResponse,
    HttpActivityResponse,
    ReasonActivityRequest,
    ReasonActivityResponse,
)
from turnbuckle.wire.errors import Refused

log = logging.getLogger("turnbuckle.http")
Gone = Callable[[], Awaitable[None]]  # returns when the client has closed the connection
V = TypeVar("V")
A = TypeVar(
    "A",
    ReasonActivityResponse,
    DecideActivityResponse,
    EmbedActivityResponse,
    ChatActivityResponse,
    HttpActivityResponse,
)
RENEW_S = limits.CALL_LEASE_MS / 3_000
LOOK_AGAIN_S = 1.0  # for an answer that another server may have stored
_LARGE_BYTES = 256 * limits.KIB


class Job(msgspec.Struct, Generic[V, A], frozen=True):
    """What differs between the three."""

    asked: Asked
    kind: type[A]
    call: Callable[[Seat], Awaitable[Reply[V]]]
    answer: Callable[[Reply[V], int], A]  # the reply with its cost
    output: Callable[[A], bytes]  # what the log keeps of it
    seat: Seat | None = None  # who is called; None: who serves it by the settings


class Activities:
    def __init__(self, store: AsyncStore, room: WaitingRoom, models: Models) -> None:
        self._store = store
        self._room = room
        self._models = models
        self._calls: set[asyncio.Task[Any]] = set()

    async def aclose(self) -> None:
        """End the calls that are still on their way; their ids are free again when their leases end."""
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        await self._models.aclose()

    # -- the three -----------------------------------------------------------------------------------------------

    async def reason(
        self, graph_id: str, request: ReasonActivityRequest, caller: Caller, gone: Gone
    ) -> ReasonActivityResponse:
        """JSON that follows the schema."""
        schema = await asyncio.to_thread(_schema, request)
        max_tokens = request.max_tokens or limits.ANSWER_TOKENS_DEFAULT
        prompt = Prompt(request.prompt, request.system, schema, max_tokens)
        inputs = {"prompt": prompt.prompt, "schema": request.schema, "system": prompt.system, "max_tokens": max_tokens}
        asked = await asyncio.to_thread(activity.ask, graph_id, caller, "reason", request, inputs, prompt.prompt)
        return await self.answer(
            Job(
                asked,
                ReasonActivityResponse,
                lambda seat: seat.provider.reason(seat.model, prompt),
                lambda reply, cost: ReasonActivityResponse(
                    value=Raw(reply.value),
                    model=reply.model,
                    tokens_in=reply.tokens_in,
                    tokens_out=reply.tokens_out,
                    cost_micro_usd=cost,
                    cached=False,
                ),
                lambda answer: bytes(answer.value),
            ),
            gone,
        )

    async def decide(
        self, graph_id: str, request: DecideActivityRequest, caller: Caller, gone: Gone
    ) -> DecideActivityResponse:
        """Each question's probabilities, and the option with the highest."""
        state = bytes(request.state).decode()
        _check_chars("state", len(state), limits.DECISION_STATE_CHARS)
        inputs = {"state": request.state, "questions": request.questions}
        asked = await asyncio.to_thread(activity.ask, graph_id, caller, "decide", request, inputs, state)
        return await self.answer(
            Job(
                asked,
                DecideActivityResponse,
                lambda seat: seat.provider.decide(seat.model, request),
                lambda reply, cost: DecideActivityResponse(
                    answers={id: _decided(shares) for id, shares in reply.value.items()},
                    model=reply.model,
                    tokens_in=reply.tokens_in,
                    tokens_out=reply.tokens_out,
                    cost_micro_usd=cost,
                    cached=False,
                ),
                lambda answer: msgspec.json.encode(answer.answers),
            ),
            gone,
        )

    async def embed(
        self, graph_id: str, request: EmbedActivityRequest, caller: Caller, gone: Gone
    ) -> EmbedActivityResponse:
        """A vector for each text."""
        inputs = {"texts": request.texts}
        asked = await asyncio.to_thread(activity.ask, graph_id, caller, "embed", request, inputs, request.texts[0])
        return await self.answer(
            Job(
                asked,
                EmbedActivityResponse,
                lambda seat: seat.provider.embed(seat.model, request),
                lambda reply, cost: EmbedActivityResponse(
                    vectors=reply.value,
                    model=reply.model,
                    dim=len(reply.value[0]),
                    tokens_in=reply.tokens_in,
                    cost_micro_usd=cost,
                    cached=False,
                ),
                # Numbers that nobody reads; the input tells what they are of.
                lambda answer: msgspec.json.encode({"vectors": len(answer.vectors), "dim": answer.dim}),
            ),
            gone,
        )

    # -- one call ------------------------------------------------------------------------------------------------

    async def answer(self, job: Job[V, A], gone: Gone) -> A:
        """The stored answer, or that of a call made now."""
        asked = job.asked
        if asked.request.effect_id is not None:
            known = await self._store.read(lambda tx: activity.stored(tx, asked))
            if known is not None:
                return _cached(known, job.kind)
        seat = job.seat or self._models.serving(job.asked.job)  # type: ignore[arg-type]  # one that models serve
        begun = Made(secrets.token_hex(8), seat.name, seat.model)
        known = await self._reserve(asked, begun, gone)
        if known is not None:
            return _cached(known, job.kind)
        call = asyncio.create_task(self._make(job, seat, begun))
        self._calls.add(call)
        call.add_done_callback(self._ended)
        return await _while_asked(call, gone)

    def _ended(self, call: "asyncio.Task[Any]") -> None:
        """Also without a client: what failed is in the log of calls, an error of ours in the server's."""
        self._calls.discard(call)
        if not call.cancelled() and (error := call.exception()) is not None and not isinstance(error, Refused):
            log.error("a model call met an error of the server's own", exc_info=error)

    async def _reserve(self, asked: Asked, call: Made, gone: Gone) -> bytes | None:
        """None when the call is ours to make; else the answer of the one that we waited for."""
        limit = self._models.budget_micro_usd(asked.caller.environment)
        until = time.monotonic() + limits.CALL_WAIT_MS / 1_000
        while True:
            match await self._store.write(lambda tx: activity.begin(tx, asked, call, limit)):
                case Stored(answer):
                    return answer
                case Reserved():
                    return None
            await self._wait(asked, until, gone)

    async def _wait(self, asked: Asked, until: float, gone: Gone) -> None:
        """Until the same call has ended elsewhere, or its server has."""
        waiter = self._room.enter([asked.topic])
        connection = asyncio.ensure_future(gone())
        try:
            while await self._store.read(lambda tx: activity.is_under_way(tx, asked)):
                ends = {waiter.called, connection}
                await asyncio.wait(ends, timeout=LOOK_AGAIN_S, return_when=asyncio.FIRST_COMPLETED)
                if connection.done():
                    raise ClientGone
                if self._room.is_closed:
                    raise Refused("stopping", "the server stops while the same request is on its way")
                if waiter.called.done():
                    return
                if time.monotonic() > until:
                    raise Refused("model_unavailable", "the same request has been on its way for too long")
        finally:
            self._room.leave(waiter, used_call=True)
            connection.cancel()

    async def _make(self, job: Job[V, A], seat: Seat, begun: Made) -> A:
        asked, started = job.asked, time.monotonic()
        renewal = asyncio.create_task(self._renew(asked, begun.id))

        def made(model: str, tokens_in: int, tokens_out: int) -> Made:
            cost = self._models.cost_micro_usd(seat.model, tokens_in, tokens_out)
            ms = round(1_000 * (time.monotonic() - started))
            return Made(begun.id, seat.name, model, tokens_in, tokens_out, cost, ms)

        try:
            reply = await job.call(seat)
        except CallFailed as failed:
            lost, error = made(seat.model, failed.tokens_in, failed.tokens_out), failed.message
            await self._store.write(lambda tx: activity.fail(tx, asked, lost, error))
            raise
        except Exception:  # ours; a cancelled call keeps its lease, as the provider may have answered
            await self._store.write(lambda tx: activity.release(tx, asked, begun.id))
            raise
        finally:
            renewal.cancel()
        done = made(reply.model, reply.tokens_in, reply.tokens_out)
        answer = job.answer(reply, done.cost_micro_usd)
        mine, output = msgspec.json.encode(answer), job.output(answer)
        lane = Lane.BULK if len(mine) > _LARGE_BYTES else Lane.TURNS
        kept = await self._store.write(lambda tx: activity.finish(tx, asked, done, mine, output), lane)
        return answer if kept == mine else replace(msgspec.json.decode(kept, type=job.kind))

    async def _renew(self, asked: Asked, holder: str) -> None:
        """Keep the call's lease until it is cancelled."""
        while asked.request.effect_id is not None:
            await asyncio.sleep(RENEW_S)
            try:
                await self._store.write(lambda tx: activity.renew(tx, asked, holder))
            except Refused as refused:  # the store is in trouble; the next renewal may come in time
                log.warning("a model call's lease was not renewed: %s", refused)


async def _while_asked(call: "asyncio.Task[A]", gone: Gone) -> A:
    """The call's answer. ClientGone as soon as nobody waits for it: a server that stops must not wait, either."""
    connection = asyncio.ensure_future(gone())
    try:
        await asyncio.wait({call, connection}, return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise ClientGone
        return call.result()
    finally:
        connection.cancel()


def _cached(answer: bytes, kind: type[A]) -> A:
    """A stored answer costs nothing again."""
    found: Any = msgspec.json.decode(answer, type=kind)
    counted = ("tokens_in", "tokens_out", "cost_micro_usd")
    nothing = {name: 0 for name in counted if name in kind.__struct_fields__}
    kept: A = replace(found, **nothing, cached=True)
    return kept


def _decided(shares: dict[str, float]) -> DecisionAnswer:
    choice = max(shares, key=lambda option: shares[option])
    probabilities = {option: min(1.0, share) for option, share in shares.items()}
    return DecisionAnswer(choice=choice, confidence=probabilities[choice], probabilities=probabilities)


def _schema(request: ReasonActivityRequest) -> schemas.Schema:
    """The schema, closed. Refused(invalid_param) when it is none, or something is too long."""
    _check_chars("prompt", len(request.prompt) + len(request.system or ""), limits.PROMPT_CHARS)
    raw = bytes(request.schema)
    if len(raw) > limits.SCHEMA_BYTES:
        what = f"schema: got {len(raw)} bytes, expected at most {limits.SCHEMA_BYTES}"
        raise Refused("invalid_param", what, param="schema")
    try:
        return schemas.closed(schemas.check(json.loads(raw)))
    except schemas.BadSchema as exc:
        param = ".".join(("schema", *map(str, exc.path)))
        raise Refused("invalid_param", f"{param}: {exc}", param=param) from None


def _check_chars(param: str, got: int, most: int) -> None:
    if got > most:
        together = " with system" if param == "prompt" else ""
        what = f"{param}: got {got} characters{together}, expected at most {most}"
        raise Refused("invalid_param", what, param=param)
