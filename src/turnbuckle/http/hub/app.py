"""Requests of the second API: find the route, know the credential, run the operation, answer in the envelope.

A data-channel call is checked in the order of blobhub 2.8, all in its one transaction: who (401), where and whether
allowed (403), is the revision ready and writable (409), is the body as it should be (400), then the command itself.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from turnbuckle.config import Config
from turnbuckle.http import body
from turnbuckle.http.hub import answer as answers
from turnbuckle.http.hub import commands, routes
from turnbuckle.http.hub.admission import HubAdmission
from turnbuckle.http.hub.answer import Answer
from turnbuckle.http.hub.routes import Route
from turnbuckle.http.request import ClientGone, Request
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import hub_check, hub_place, hub_revision
from turnbuckle.operations.hub_check import CodeCheck
from turnbuckle.operations.hub_place import Visitor
from turnbuckle.store.database import Lane
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.hub_channel import Channel
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.limits import KIB, MIB

log = logging.getLogger("turnbuckle.http.hub")
_BODY_BYTES = 2 * MIB
_DATA_BYTES = hub_limits.DOCUMENT_BYTES + MIB
_BULK_BYTES = 256 * KIB
_OCTETS = b"application/octet-stream"


_ROOTS = frozenset(prefix.split("/")[2] for prefix in routes.PREFIXES)


def takes(path: str) -> bool:
    """Whether the path is one of the second API's."""
    parts = path.split("/", 3)
    return len(parts) > 2 and parts[1] == "v1" and parts[2] in _ROOTS


class Hub:
    """The second API of one server process."""

    def __init__(self, store: AsyncStore, config: Config, code_check: CodeCheck) -> None:
        """`code_check` is the sandbox's, which lives above this room."""
        self._runs: dict[Callable[..., Any], Callable[..., Any]] = {
            hub_check.check: partial(hub_check.check, code_check=code_check)
        }
        self._store = store
        self._is_on = config.workflows
        self._environment = "test" if config.mode == "dev" else "live"  # of callers without a key
        self.admission = HubAdmission(store)

    async def answer(self, request: Request) -> Answer:
        """Never raises but when the client has gone."""
        try:
            return await self._answer(request)
        except HubRefused as refused:
            return answers.failure(refused, self._allow(request, refused))
        except Refused as refused:
            told = answers.in_own_words(refused)
            if told.code == "internal":
                log.error("%s %s: %s (%s)", request.method, request.path, refused, refused.code)
            return answers.failure(told, _later(refused))
        except ClientGone:
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return answers.failure(HubRefused("internal", "the server met an error of its own"))

    async def _answer(self, request: Request) -> Answer:
        segments = routes.segments_of(request.raw_path)
        if segments is None:
            raise HubRefused("not_found", f"no route for {request.path}")
        if not self._is_on:
            raise HubRefused("unavailable", "the workflow engine is switched off on this server")
        data = routes.match(routes.DATA, segments)
        if data is not None and data["channel"] in ("query", "command"):
            if request.method != "POST":
                raise HubRefused("method_not_allowed", f"{request.path} does not take {request.method}")
            return await self._data(request, data["revision"], data["channel"])  # type: ignore[arg-type]
        for route in routes.ROUTES:
            path = routes.match(route.segments, segments)
            if path is not None and route.method == request.method:
                return await self._route(request, route, path)
        code = "method_not_allowed" if _methods(segments) else "not_found"
        raise HubRefused(code, f"no route for {request.method} {request.path}")

    def _allow(self, request: Request, refused: HubRefused) -> list[tuple[bytes, bytes]]:
        if refused.code != "method_not_allowed":
            return []
        return [(b"allow", ", ".join(_methods(routes.segments_of(request.raw_path) or ())).encode())]

    # -- routes --------------------------------------------------------------------------------------------------

    async def _route(self, request: Request, route: Route, path: routes.Path) -> Answer:
        visitor: Any = self._environment if route.is_open else await self.admission.admit(request)
        if not route.is_open:
            routes.check_runner(route, visitor)
        content = await request.body(_BODY_BYTES)
        taken = body.convert(request.query(), route.query) if route.body is None else body.decode(content, route.body)

        def operation(tx: Transaction) -> dict[str, Any]:
            return route.run(tx, visitor, path, taken)

        return answers.success(await (self._store.write if route.is_write else self._store.read)(operation))

    # -- the data channel ----------------------------------------------------------------------------------------

    async def _data(self, request: Request, revision_id: str, channel: Channel) -> Answer:
        visitor = await self.admission.admit(request)
        content = await request.body(_DATA_BYTES)
        call = await _read(request, content)

        def operation(tx: Transaction) -> Answer:
            return self._run(tx, visitor, revision_id, channel, call)

        if channel == "query":
            return await self._store.read(operation)
        return await self._store.write(operation, Lane.BULK if len(content) > _BULK_BYTES else Lane.TURNS)

    def _run(self, tx: Transaction, visitor: Visitor, revision_id: str, channel: Channel, call: "_Call") -> Answer:
        is_command = channel == "command"
        place = hub_place.place(tx, visitor, revision_id, lock=is_command)
        if is_command:
            hub_place.check_writer(visitor, place.blob)
        hub_revision.check_channel(place.revision, is_command=is_command)
        if call.problem is not None:
            raise call.problem
        command = commands.find(place.blob.type, channel, call.name or "")
        if command is None:
            raise HubRefused("unknown_command", f"{place.blob.type} has no {channel} {(call.name or '')[:80]!r}")
        asked = body.decode_checked(call.command, command.request)
        if command.takes_bytes != (call.octets is not None):
            wanted = "bytes, with the command in X-Request-Body" if command.takes_bytes else "JSON"
            raise HubRefused("invalid_request_body", f"{command.name} takes {wanted}")
        if command.gives_bytes and not call.wants_octets:
            raise HubRefused("invalid_request_body", f"{command.name} gives bytes: ask with Accept: {_OCTETS.decode()}")
        run = self._runs.get(command.run, command.run)
        if command.takes_bytes:
            return answers.success(run(tx, place, asked, call.octets))
        answer = run(tx, place, asked)
        return answers.with_bytes(*answer) if command.gives_bytes else answers.success(answer)


class _Call(msgspec.Struct, frozen=True):
    """A data-channel request as far as it can be read before it is known what its command takes."""

    name: str | None
    command: bytes
    octets: bytes | None = None
    wants_octets: bool = False
    problem: HubRefused | None = None


class _Named(msgspec.Struct):
    command: str


async def _read(request: Request, content: bytes) -> _Call:
    is_octets = request.headers.get(b"content-type", b"").partition(b";")[0].strip() == _OCTETS
    command = request.headers.get(b"x-request-body", b"") if is_octets else content
    call = _Call(None, command, content if is_octets else None, _OCTETS in request.headers.get(b"accept", b""))
    try:
        if len(command) > body.LARGE_BYTES:
            name = (await asyncio.to_thread(body.decode, command, _Named)).command
        else:
            name = body.decode(command, _Named).command
    except Refused as refused:
        return msgspec.structs.replace(call, problem=answers.in_own_words(refused))
    return msgspec.structs.replace(call, name=name)


def _later(refused: Refused) -> list[tuple[bytes, bytes]]:
    return [] if refused.retry_after_s is None else [(b"retry-after", str(refused.retry_after_s).encode())]


def _methods(segments: tuple[str, ...]) -> list[str]:
    """The methods that the path takes."""
    found = {route.method for route in routes.ROUTES if routes.match(route.segments, segments) is not None}
    data = routes.match(routes.DATA, segments)
    return sorted(found | ({"POST"} if data is not None and data["channel"] in ("query", "command") else set()))
