"""One instance, from the outside: send, signal, look, control, wait for a result (lbb-engine 3, 8.1)."""

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

from lbb.models import (
    WorkflowEffectsResponse,
    WorkflowInboxResponse,
    WorkflowInstance,
    WorkflowMessageOrigin,
    WorkflowTurn,
    WorkflowTurnHistoryResponse,
)
from lbb.request import RequestOptions
from lbb.workflows import limits
from lbb.workflows.errors import WorkflowTurnFailed
from lbb.workflows.json_rules import encode_json, too_large

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

Model = TypeVar("Model", bound=BaseModel)

_INSTANCES = "/v1/workflows/instances"
_RETRIED: RequestOptions = {"retry": True}
_ONCE: RequestOptions = {"retry": False}

_POLL_MS = 10_000  # the longest wait at the server
_SPARE_SECONDS = 30.0
_LEAST_POLL_SECONDS = 0.25  # a server that does not wait must not be asked in a tight loop
_FINISHED = ("completed", "failed", "cancelled")


class WorkflowHandle:
    """The instance `id` of the client's graph. Making a handle sends nothing. LbbError 404 for an unknown id."""

    def __init__(self, client: "AsyncLbbClient", id: str) -> None:
        self._client = client
        self.id = id

    async def status(self) -> WorkflowInstance:
        return await self._get("/get", WorkflowInstance)

    async def send(
        self, message: Any, *, id: str, origin: WorkflowMessageOrigin | Mapping[str, Any] | None = None
    ) -> WorkflowTurn:
        """Admit the message once under its id: a repeat gives the turn it admitted, another message is a 409.

        WorkflowError for a message that is no JSON, ValueError for one of more than 256 KiB, before anything is sent.
        """
        body = {"workflow_id": self.id, "id": id, "message": _sendable(message, "message", limits.MESSAGE_BYTES)}
        if origin is not None:
            body["origin"] = origin
        return await self._post(_INSTANCES + "/message", body, _RETRIED, WorkflowTurn)

    async def signal(self, name: str, value: Any, *, turn: int, id: str) -> WorkflowTurn:
        """Deliver a signal to one turn, once under the event id. It may come before the turn waits for it.

        WorkflowError for a value that is no JSON, ValueError for one of more than 256 KiB, before anything is sent.
        """
        value = _sendable(value, f'signal "{name}"', limits.SIGNAL_BYTES)
        body = {"workflow_id": self.id, "turn": turn, "id": id, "name": name, "value": value}
        return await self._post("/v1/workflows/turns/signal", body, _RETRIED, WorkflowTurn)

    async def result(self, turn: int, timeout: float | None = None) -> Any:  # noqa: ASYNC109  (the public name)
        """The result of a turn, waited for at the server (ours).

        WorkflowTurnFailed when it failed or was cancelled, TimeoutError after `timeout` seconds (None: no end),
        LbbError 404 at once for an unknown instance or turn.
        """
        ends_at = None if timeout is None else time.monotonic() + timeout
        while True:
            asked_at = time.monotonic()
            found = await self._poll(turn, _wait_ms(ends_at, asked_at))
            if found.status == "completed":
                return found.result
            if found.status in _FINISHED:
                raise WorkflowTurnFailed(found)
            now = time.monotonic()
            if ends_at is not None and now >= ends_at:
                raise TimeoutError(f"turn {turn} of {self.id} is still {found.status} after {timeout} s")
            least = asked_at + _LEAST_POLL_SECONDS
            await asyncio.sleep(max(0.0, (least if ends_at is None else min(least, ends_at)) - now))

    async def inbox(
        self, *, after: int | None = None, limit: int | None = None, payloads: bool = False
    ) -> WorkflowInboxResponse:
        """The unfinished turns, oldest first; with `payloads` their messages too."""
        shown = True if payloads else None
        return await self._get("/inbox", WorkflowInboxResponse, after=after, limit=limit, payloads=shown)

    async def history(self, *, after: int | None = None, limit: int | None = None) -> WorkflowTurnHistoryResponse:
        """The finished turns, oldest first."""
        return await self._get("/history", WorkflowTurnHistoryResponse, after=after, limit=limit)

    async def effects(
        self,
        *,
        turn: int | None = None,
        state: Literal["intended", "confirmed", "in_doubt"] | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> WorkflowEffectsResponse:
        """What the steps did outside, or may have done (ours): after a crash, ask for `state="in_doubt"`."""
        params = {"id": self.id, "turn": turn, "state": state, "after": after, "limit": limit}
        answer = await self._client.raw_request("GET", "/v1/workflows/effects", params=params)
        return answer.model(WorkflowEffectsResponse)

    async def pause(self) -> WorkflowInstance:
        """Claim no more turns of this instance. A held turn goes on to its end."""
        return await self._control("pause")

    async def resume(self) -> WorkflowInstance:
        """Claim turns again. A turn in a retry backoff or an uncounted wait is ready now."""
        return await self._control("resume")

    async def retry(self, turn: int) -> WorkflowInstance:
        """Run the failed turn that holds the inbox again."""
        return await self._control("retry", turn)

    async def skip(self, turn: int) -> WorkflowInstance:
        """Leave the failed turn in the history and go on with the next message."""
        return await self._control("skip", turn)

    async def cancel_turn(self, turn: int) -> WorkflowInstance:
        return await self._control("cancel_turn", turn)

    async def wake(self) -> WorkflowInstance:
        """End an uncounted wait of the current turn now. Does not end a sleep or a signal wait."""
        return await self._control("wake")

    async def _poll(self, turn: int, wait_ms: int) -> WorkflowTurn:
        options: RequestOptions = {"timeout": wait_ms / 1000 + _SPARE_SECONDS}
        params = {"id": self.id, "turn": turn, "wait_ms": wait_ms}
        return (await self._client.raw_request("GET", _INSTANCES + "/turn", params=params, options=options)).model(
            WorkflowTurn
        )

    async def _control(self, action: str, turn: int | None = None) -> WorkflowInstance:
        body: dict[str, Any] = {"workflow_id": self.id, "action": action}
        if turn is not None:
            body["turn"] = turn
        return await self._post(_INSTANCES + "/control", body, _ONCE, WorkflowInstance)

    async def _get(self, path: str, model: type[Model], **params: Any) -> Model:
        answer = await self._client.raw_request("GET", _INSTANCES + path, params={"id": self.id, **params})
        return answer.model(model)

    async def _post(self, path: str, body: dict[str, Any], options: RequestOptions, model: type[Model]) -> Model:
        return (await self._client.raw_request("POST", path, body=body, options=options)).model(model)


def _sendable(value: Any, where: str, limit_bytes: int) -> Any:
    encoded = encode_json(value, where)
    if len(encoded.text) > limit_bytes:
        raise ValueError(too_large(where, len(encoded.text), limit_bytes))
    return encoded.value


def _wait_ms(ends_at: float | None, now: float) -> int:
    return _POLL_MS if ends_at is None else max(0, min(_POLL_MS, int((ends_at - now) * 1000)))
