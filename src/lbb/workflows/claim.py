"""The request that asks for the next turn (lbb-engine 3.12, 5.2). Sent once: a failed claim is not sent again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import httpx

from lbb.errors import LbbError
from lbb.wire_json import dump_body
from lbb.workflows.definition import WorkflowDefinition
from lbb.workflows.task import Task, read_task

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

_PATH = "/v1/workflows/turns/claim"
# How much longer than its wait at the server a claim may take before its connection counts as lost.
_SPARE_SECONDS = 30.0
_FIRST_WAIT_SECONDS, _LAST_WAIT_SECONDS = 1.0, 30.0


def claim_body(
    worker: str, definitions: Iterable[WorkflowDefinition], wait_ms: int, *, wants_credential: bool
) -> bytes:
    pairs = [{"version": definition.version, "workflow_type": definition.name} for definition in definitions]
    credential = {"include_execution_credential": True} if wants_credential else {}
    return dump_body({**credential, "wait_ms": wait_ms, "worker": worker, "workflows": pairs})


async def claim(client: "AsyncLbbClient", body: bytes, wait_ms: int) -> Task | None:
    """The next ready turn, or None. ValueError and WorkflowError as `read_task`, else what the client raises."""
    answer = await client.raw_request(
        "POST",
        _PATH,
        content=body,
        content_type="application/json",
        options={"retry": False, "timeout": wait_ms / 1000 + _SPARE_SECONDS},
    )
    return read_task(answer.data)


def may_pass(error: Exception) -> bool:
    """Whether a failed claim is worth another one: no answer came, or a 429 or 5xx."""
    if isinstance(error, LbbError):
        return error.status_code == 429 or error.status_code >= 500
    return isinstance(error, httpx.RequestError)


class ClaimBackoff:
    """How long to wait after failed claims: 1 s, doubling to 30 s; a claim that was answered starts it again."""

    def __init__(self) -> None:
        self._next = _FIRST_WAIT_SECONDS

    def reset(self) -> None:
        self._next = _FIRST_WAIT_SECONDS

    def seconds(self) -> float:
        seconds, self._next = self._next, min(self._next * 2, _LAST_WAIT_SECONDS)
        return seconds
