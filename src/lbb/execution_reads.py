"""Reads as the held turn: with the turn's credential in place of the client's key (lbb-engine 5.12).

The credential is renewed while the turn is held. Nothing is ever sent twice.
"""

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import httpx

from lbb.execution_credential import (
    Credential,
    HeldTurn,
    WorkflowExecutionError,
    check_same_graph,
    read_body,
    read_credential,
    read_task,
    read_timeout,
)
from lbb.request import RequestArguments

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient
    from lbb.sync_client import LbbClient

__all__ = ["AsyncWorkflowTurnReader", "WorkflowExecutionError", "WorkflowTurnReader"]

_CREDENTIAL_PATH = "/v1/workflows/turns/execution-credential"
_READ_PATH = "/v1/query/sparql-text"
_SPARE_SECONDS = 1.0


class _Access:
    """The credential in use and how long it lives, counted on the monotonic clock from the start of its request."""

    def __init__(self, held: HeldTurn, credential: Credential) -> None:
        self._held = held
        self._credential = credential
        self._ends_at: float | None = None  # monotonic; None until refreshed once, as the claim may be long ago
        self.is_closed = False

    def needs_refresh(self, timeout: float, now: float) -> bool:
        return self._ends_at is None or self._ends_at - now < timeout + _SPARE_SECONDS

    def refresh(self, timeout: float) -> RequestArguments:
        """The request for a new credential, with the client's own key."""
        return {
            "params": self._credential.query,
            "body": self._held.lease,
            "options": {"retry": False, "max_retries": 0, "timeout": timeout},
        }

    def refreshed(self, answer: Any, asked_at: float) -> None:
        new = read_credential(answer, self._held)
        check_same_graph(self._credential, new)
        self._credential, self._ends_at = new, asked_at + new.life_seconds

    def read(self, body: dict[str, Any], timeout: float) -> RequestArguments:
        bearer = {"authorization": f"Bearer {self._credential.token}"}
        return {
            "params": self._credential.query,
            "body": body,
            "options": {"retry": False, "max_retries": 0, "timeout": timeout, "headers": bearer},
        }

    def life_left(self, now: float) -> float:
        left = (self._ends_at or now) - now
        if left <= 0:
            raise TimeoutError("the execution credential's life has passed")
        return left

    def check_open(self) -> None:
        if self.is_closed:
            raise WorkflowExecutionError("the turn's reader is closed; the turn is no longer held")


class WorkflowTurnReader:
    """Reads as the held turn of a claim's `task`, blocking. Threads may share it.

    WorkflowExecutionError when the task's credential is not for this turn.
    """

    def __init__(self, client: "LbbClient", task: Any) -> None:
        self._client = client
        self._access = _Access(*read_task(task))
        self._refreshing = threading.Lock()

    def sparql(self, request: Any, *, timeout: float = 30.0) -> Any:
        """The answer's JSON. `request` has the fields of `READ_FIELDS`; `timeout` is at most 30 s.

        WorkflowExecutionError (permanent for a turn), TimeoutError when the credential's life passes before the
        answer, RuntimeError when the server does not tell that life, LbbError for a refusal.
        """
        body, timeout = read_body(request), read_timeout(timeout)
        self._refresh(timeout)
        limit = min(timeout, self._access.life_left(self._client._chance.monotonic()))
        try:
            answer = self._client.raw_request("POST", _READ_PATH, **self._access.read(body, limit))
        except httpx.TimeoutException as exc:
            if limit < timeout:
                raise TimeoutError("the execution credential's life passed during the read") from exc
            raise
        self._access.life_left(self._client._chance.monotonic())
        return answer.data

    def close(self) -> None:
        """Refuse further reads."""
        self._access.is_closed = True

    def _refresh(self, timeout: float) -> None:
        with self._refreshing:
            self._access.check_open()
            asked_at = self._client._chance.monotonic()
            if self._access.needs_refresh(timeout, asked_at):
                answer = self._client.raw_request("POST", _CREDENTIAL_PATH, **self._access.refresh(timeout))
                self._access.refreshed(answer.data, asked_at)
            self._access.check_open()


class AsyncWorkflowTurnReader:
    """As `WorkflowTurnReader`, on an event loop; `close` also cancels the reads that run."""

    def __init__(self, client: "AsyncLbbClient", task: Any) -> None:
        self._client = client
        self._access = _Access(*read_task(task))
        self._refreshing = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()

    async def sparql(self, request: Any, *, timeout: float = 30.0) -> Any:  # noqa: ASYNC109  (the public name)
        """As `WorkflowTurnReader.sparql`."""
        body, timeout = read_body(request), read_timeout(timeout)
        reading = asyncio.create_task(self._read(body, timeout))
        self._running.add(reading)
        reading.add_done_callback(self._running.discard)
        try:
            return await reading
        except asyncio.CancelledError:
            # Cancelled by close(): a refusal of this read. Cancelled by the caller's own task: that goes on.
            if reading.cancelled() and self._access.is_closed and not _is_cancelling():
                self._access.check_open()
            raise

    def close(self) -> None:
        """Refuse further reads and end those that run."""
        self._access.is_closed = True
        for reading in self._running:
            reading.cancel()

    async def _read(self, body: dict[str, Any], limit: float) -> Any:
        await self._refresh(limit)
        left = self._access.life_left(self._client._chance.monotonic())
        async with asyncio.timeout(left):
            answer = await self._client.raw_request("POST", _READ_PATH, **self._access.read(body, limit))
        return answer.data

    async def _refresh(self, limit: float) -> None:
        async with self._refreshing:
            self._access.check_open()
            asked_at = self._client._chance.monotonic()
            if self._access.needs_refresh(limit, asked_at):
                answer = await self._client.raw_request("POST", _CREDENTIAL_PATH, **self._access.refresh(limit))
                self._access.refreshed(answer.data, asked_at)
            self._access.check_open()


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
