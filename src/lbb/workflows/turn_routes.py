"""The requests of a worker about one held turn (lbb-engine 3.13 to 3.19, 5.14, 5.15).

Bodies are joined from JSON that was written once, so that a value is never encoded twice and a retry sends the same
bytes. A 409 or 404 ends the attempt here: nothing more is sent for the turn.
"""

from typing import TYPE_CHECKING, Any

from lbb.errors import LbbError
from lbb.request import RequestOptions
from lbb.workflows.attempt import Attempt, End
from lbb.workflows.errors import TurnStopped
from lbb.workflows.json_rules import encode_json

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

TURN_LEASE_LOST_CODE = "turn_lease_lost"

_TURNS = "/v1/workflows/turns/"
_JSON = "application/json"
# The worker reads parts of two answers only; a server may answer `{}` or the whole turn as well.
_MINIMAL = {"prefer": "return=minimal"}
_RETRIED: RequestOptions = {"retry": True, "headers": _MINIMAL}
_ONCE: RequestOptions = {"retry": False, "headers": _MINIMAL}
_CARRIERS = frozenset({"operation", "checkpoint"})


def is_lease_lost(error: LbbError) -> bool:
    """Whether an answer on a turn route says that this worker does not hold the turn."""
    return error.status_code in (404, 409) or error.code == TURN_LEASE_LOST_CODE


def heartbeat_options(timeout_seconds: float) -> RequestOptions:
    return {"retry": False, "timeout": timeout_seconds, "headers": _MINIMAL}


async def send_heartbeat(client: "AsyncLbbClient", attempt: Attempt, options: RequestOptions) -> None:
    """One renewal, sent once. It may run on another loop than the worker's, so it leaves the attempt alone."""
    body = b"{" + attempt.task.lease_json
    await client.raw_request("POST", _TURNS + "heartbeat", content=body, content_type=_JSON, options=options)


async def send_failure(client: "AsyncLbbClient", body: bytes, timeout_seconds: float | None = None) -> None:
    """One turns/fail, sent once. A 409 or 404 is no news: the turn has moved on."""
    options: RequestOptions = _ONCE if timeout_seconds is None else {**_ONCE, "timeout": timeout_seconds}
    try:
        await client.raw_request("POST", _TURNS + "fail", content=body, content_type=_JSON, options=options)
    except LbbError as error:
        if not is_lease_lost(error):
            raise


class TurnRoutes:
    """The mutating routes of one held turn. Each raises TurnStopped once the turn is lost, else what the client raises.

    Keys and names are already checked: they need no escaping in JSON.
    """

    def __init__(self, client: "AsyncLbbClient", attempt: Attempt) -> None:
        self._client = client
        self._attempt = attempt
        self._lease = attempt.task.lease_json
        self._events: list[bytes] = []  # they go with the next begin, save or completion

    def add_event(self, event: bytes) -> None:
        self._events.append(event)

    def drop_events(self) -> None:
        """They went with a step that an earlier attempt has saved."""
        self._events.clear()

    async def begin_step(
        self, key: str, position: int, kind: str, timeout_ms: int, heartbeat_timeout_ms: int | None
    ) -> Any:
        """The resume cursor of an earlier attempt of this step, or None."""
        silent = "" if heartbeat_timeout_ms is None else f'"heartbeat_timeout_ms":{heartbeat_timeout_ms},'
        answer = await self._send(
            "operation",
            f'{silent}"key":"{key}","kind":"{kind}","position":{position},"timeout_ms":{timeout_ms},'.encode(),
        )
        operation = answer.get("operation") if isinstance(answer, dict) else None
        return operation.get("checkpoint") if isinstance(operation, dict) else None

    async def report(self, key: str, sequence: int, details: bytes, cursor: bytes) -> None:
        tail = f',"key":"{key}","sequence":{sequence},'.encode()
        await self._send("progress", b"".join((b'"checkpoint":', cursor, b',"details":', details, tail)))

    async def declare_effect(self, step: str, effect_id: str, kind: str, target: str, state: str) -> None:
        """Saved when it returns: what the running step is about to do outside, or has done."""
        asked = f'"effect_id":"{effect_id}","kind":"{kind}","state":"{state}","step":"{step}","target":'
        await self._send("effect", b"".join((asked.encode(), encode_json(target, "target").text, b",")))

    async def save_step(self, key: str, position: int, output: bytes) -> None:
        value = b"" if output == b"null" else b'"output":%b,' % output
        await self._send("checkpoint", b'"key":"%b","kind":"step",%b"position":%d,' % (key.encode(), value, position))

    async def save_sleep(self, key: str, position: int, delay_ms: int) -> None:
        await self._send(
            "checkpoint", f'"delay_ms":{delay_ms},"key":"{key}","kind":"sleep","position":{position},'.encode()
        )

    async def wait_for_signal(self, key: str, position: int, name: str, timeout_ms: int) -> Any:
        """The turn as the server answers it: `status` and the step."""
        return await self._send(
            "wait-signal", f'"key":"{key}","name":"{name}","position":{position},"timeout_ms":{timeout_ms},'.encode()
        )

    async def complete(self, body: bytes) -> None:
        await self._carrying("complete", body)

    async def _send(self, route: str, members: bytes) -> Any:
        body = b"{" + members + self._lease
        return await (self._carrying(route, body) if route in _CARRIERS else self._post(route, body))

    async def _carrying(self, route: str, body: bytes) -> Any:
        """With the events that wait; they are forgotten once they are known to be saved."""
        sent = list(self._events)
        answer = await self._post(route, b'{"events":[%b],' % b",".join(sent) + body[1:] if sent else body)
        del self._events[: len(sent)]
        return answer

    async def _post(self, route: str, body: bytes) -> Any:
        try:
            answer = await self._client.raw_request(
                "POST", _TURNS + route, content=body, content_type=_JSON, options=_RETRIED
            )
        except LbbError as error:
            if not is_lease_lost(error):
                raise
            self._attempt.stop(End.LOST, f"turns/{route} was answered {error.status_code} {error.code}: {error}")
            raise TurnStopped(self._attempt.task.name, "another attempt may hold the turn") from error
        return answer.data
