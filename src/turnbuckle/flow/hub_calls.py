"""What the runner asks the server for: its run, the data channel in its session, waits. Every call is safe to repeat.

A call made inside a step carries the step's mark (`lbb-effect`), by which the server knows a repeat.
"""

import json
from http import HTTPStatus
from typing import Any

from lbb import AsyncLbbClient, LbbError
from lbb.request import RequestOptions
from turnbuckle.flow.failures import ComponentFailed

_RETRIED: RequestOptions = {"retry": True}
_RUN = "/v1/hub/executions/run"
_EVENTS = "/v1/hub/executions/events"
_WAIT = "/v1/hub/executions/wait"


class HubRefusal(ComponentFailed):
    """The server said no, and will say no again. `code` is one of wire/hub_errors.py."""


class HubCalls:
    """Over a client with a key of scope `runtime`, in the graph `hub`."""

    def __init__(self, client: AsyncLbbClient) -> None:
        self._client = client

    async def run(self, execution_id: str) -> dict[str, Any]:
        """All that a run needs; the first call is its start."""
        found: dict[str, Any] = await self._ask("GET", _RUN, params={"id": execution_id})
        return found

    async def query(self, revision_id: str, command: str, **arguments: Any) -> dict[str, Any]:
        return await self._channel(revision_id, "query", command, arguments)

    async def command(self, revision_id: str, command: str, **arguments: Any) -> dict[str, Any]:
        return await self._channel(revision_id, "command", command, arguments)

    async def post_events(self, execution_id: str, events: list[dict[str, Any]]) -> None:
        """Events that cannot wait for the next step; each has a `key`."""
        await self._ask("POST", _EVENTS, body={"execution_id": execution_id, "events": events})

    async def wait(self, **asked: Any) -> None:
        """Note what a turn is about to wait for: see `HubWaitRequest`."""
        await self._ask("POST", _WAIT, body=asked)

    async def _channel(self, revision_id: str, channel: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        body = {"command": command} | {name: value for name, value in arguments.items() if value is not None}
        answer: dict[str, Any] = await self._ask("POST", f"/v1/revisions/{revision_id}/data/{channel}", body=body)
        return answer

    async def _ask(self, method: str, path: str, **arguments: Any) -> Any:
        try:
            return (await self._client.raw_request(method, path, options=_RETRIED, **arguments)).data
        except LbbError as error:
            if refusal := refusal_of(error):
                raise refusal from error
            raise


def refusal_of(error: LbbError) -> HubRefusal | None:
    """None for what may pass: a server in trouble, too many requests, a lost lease, a key that is refused."""
    passing = {HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.status_code in passing:
        return None
    told = error.error.get("error")  # the hub's envelope has the code there, the engine's has it as `code`
    if not isinstance(told, str):
        return HubRefusal(error.code or "refused", str(error))
    return HubRefusal(told, _message(error.body) or told)


def _message(body: str) -> str | None:
    """Of the hub's envelope: LbbError takes its code for the message."""
    text = json.loads(body).get("message")
    return text if isinstance(text, str) else None
