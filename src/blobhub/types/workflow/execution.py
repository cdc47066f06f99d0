"""One run of a definition (blobhub 4.10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blobhub.answer import invalid_response, record_of
from blobhub.paging import rows_of
from blobhub.polling import poll
from blobhub.request import path_of
from blobhub.timing import EXECUTION_WAIT_SECONDS, POLL_SECONDS
from blobhub.types.workflow.event_tail import Event, EventTail
from blobhub.types.workflow.input_data import check_json
from blobhub.wire_json import Envelope

if TYPE_CHECKING:
    from blobhub.revision import Revision

EVENTS_PER_PAGE = 100
_ENDED = ("completed", "failed", "stopped")


class Execution:
    """`record` is the run as last read; `revision` is where it lives."""

    def __init__(self, revision: Revision, record: dict[str, Any]) -> None:
        self.revision = revision
        self.record = record
        self._tail = EventTail()

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def session_id(self) -> str:
        return self._text("session_id")

    @property
    def status(self) -> str:
        """`creating`, `running`, `stopping`, `stopped`, `completed` or `failed`."""
        return self._text("status")

    @property
    def url(self) -> str:
        """The run in the debugger of the server in use."""
        blob = self.revision.blob
        server = self.revision.client.identity.api_url.removesuffix("/v1")
        page = path_of(blob.org_id, blob.id, "debugger", self.session_id, self.id)
        return f"{server}/{page}?revision={path_of(self.revision.id)}"

    def refresh(self) -> Execution:
        self.record = execution_record(self.revision.query("get_execution", execution_id=self.id))
        return self

    def wait(
        self,
        *,
        timeout: float = EXECUTION_WAIT_SECONDS,
        on_event: Callable[[Event], object] | None = None,
        interval: float = POLL_SECONDS,
    ) -> str:
        """The status once the run is `completed`, `failed` or `stopped`, looked at every `interval` seconds.

        `on_event` gets each event once, the oldest first, over all calls of `wait`; what it raises comes out of here,
        and the next call goes on after that event. The last events may come later: `events` has them all.
        WaitTimeout after `timeout` seconds; the run goes on.
        """

        def look() -> str | None:
            self._pass_events(on_event)
            if self.refresh().status not in _ENDED:
                return None
            self._pass_events(on_event)
            return self.status

        what = f"execution {self.id}"
        return poll(look, timeout=timeout, interval=interval, timing=self.revision.client.timing, what=what)

    def events(self) -> list[Event]:
        """The whole log, the oldest first."""
        return list(self._read_events(None))

    def stop(self) -> None:
        """Ask for a stop; `status` changes when it is read again. CommandError `invalid_execution_status` unless the
        run is `running`.
        """
        self.revision.command("stop_execution", execution_id=self.id)

    def data(self) -> list[Envelope]:
        """What each component run did: its `component_key`, inputs, outputs, route and times, in order.

        Ours, not of the reference SDK. Values over 32 KiB are pointers.
        """
        rows: list[Envelope] = self.revision.query("get_execution_data", execution_id=self.id)["data"]
        return rows

    def fork(
        self,
        component_key: str,
        outputs: Mapping[str, Any] | None = None,
        *,
        route: str | None = None,
        pause_before: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Execution:
        """A new run that takes over what this one did up to a finished component run, named by its key in `data()`.

        `outputs` (port route -> value) stand in place of its own, and `route` in place of its result. Ours, not of the
        reference SDK. TypeError for outputs that JSON cannot carry.
        """
        args: dict[str, Any] = {"execution_id": self.id, "component_key": component_key, "route": route}
        if outputs is not None:
            check_json(outputs, "outputs")
            args["outputs"] = [{"route": port, "value": value} for port, value in outputs.items()]
        if pause_before is not None:
            args["pause_before"] = list(pause_before)
        if dry_run:
            args["dry_run"] = True
        return Execution(self.revision, execution_record(self.revision.command("fork_execution", **args)))

    def resume(self) -> None:
        """Let a run go on that stands before one of its `pause_before` components.

        Ours, not of the reference SDK.
        """
        self.revision.command("continue_execution", execution_id=self.id)

    def _pass_events(self, on_event: Callable[[Event], object] | None) -> None:
        if on_event is not None:
            self._tail.drain(self._read_events, on_event)

    def _read_events(self, after: str | None) -> Iterable[Event]:
        def ask(cursor: str | None) -> Envelope:
            return self.revision.query(
                "list_execution_events",
                execution_id=self.id,
                ascending=True,
                limit=EVENTS_PER_PAGE,
                created_since=after,
                cursor=cursor,
            )

        return rows_of(ask, "execution_events")

    def _text(self, key: str) -> str:
        value = self.record.get(key)
        if not isinstance(value, str):
            raise invalid_response(f"the execution of the answer has no {key}")
        return value

    def __repr__(self) -> str:
        return f"<Execution {self.id} {self.record.get('status')}>"


def execution_record(answer: Envelope) -> dict[str, Any]:
    """The execution of an answer. ServerError `invalid_response` when there is none."""
    return record_of(answer, "execution")
