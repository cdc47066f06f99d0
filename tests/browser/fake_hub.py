"""A server that speaks the hub's documented JSON (blobhub 2, 3.4 to 3.6) and plays one run, as a test directs it.

The page and its files are the real ones. What a run looks like at a moment is in the test's hands: events that come
late, a server that goes away, 60 components.
"""

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from turnbuckle.http import console
from turnbuckle.hub.moment import micro_iso
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.hub_errors import HUB_ERRORS

ORG, BLOB = "5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9b01", "5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9b02"
REVISION, SESSION = "5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9b03", "5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9b04"
EXECUTION = "5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9b05"
KEY = "lbb_sk_test_of_the_browser"
READ_KEY = "lbb_sk_test_that_reads"
START_US = 1_800_000_000_000_000


class _Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def moment(after_ms: int) -> str:
    """So many milliseconds after the start of the run, as the API writes times."""
    return micro_iso(START_US + after_ms * 1_000)


@dataclass
class FakeHub:
    document: dict[str, Any]
    status: str = "running"
    is_public: bool = True
    is_away: bool = False
    record: dict[str, Any] = field(default_factory=dict)  # on top of the usual one
    events: list[dict[str, Any]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)  # data id -> {component_key, value}
    page_events: int = 100  # at most, whatever is asked for
    commands: list[dict[str, Any]] = field(default_factory=list)  # that came
    queries: list[str] = field(default_factory=list)  # their names
    addresses: list[str] = field(default_factory=list)  # of all requests, with the query
    raw: dict[str, str] = field(default_factory=dict)  # what stands in an answer -> the JSON that goes out for it
    hides_definition: bool = False  # it lives where the credential does not reach

    # -- what a run does -----------------------------------------------------------------------------------------

    def post(self, type: str, message: str = "", at_ms: int | None = None, **more: Any) -> None:
        number = len(self.events)
        at = moment(number * 7 if at_ms is None else at_ms)
        self.events.append(
            {"id": f"event-{number}", "created_at": at, "type": type, "message": message, "execution_id": EXECUTION}
            | more
        )

    def enter(self, component_id: str) -> None:
        about = self._about(component_id)
        self.post("processor.entered", f"Entered {about['processor_name']}", attributes=about)

    def leave(
        self, component_id: str, route: str, inputs: Any = None, outputs: Any = None, duration_ms: int = 12, **more: Any
    ) -> None:
        about = self._about(component_id)
        data_id = f"data-{len(self.events)}"
        key = f"c.{component_id}.{len(self.events)}"
        value = {"inputs": inputs or {}, "outputs": outputs or {}, "route": route, "duration_ms": duration_ms} | more
        self.data[data_id] = {"data_id": data_id, "component_id": component_id, "component_key": key, "value": value}
        message = f"{about['processor_name']} left by {route} after {duration_ms} ms"
        result = {"route": route, "duration_ms": duration_ms, "terminal": False}
        self.post("processor.exited", message, attributes=about | result, data={"data_id": data_id})

    def end(self, status: str, message: str = "The run is complete", outputs: Any = None, **record: Any) -> None:
        self.status = status
        self.record |= {"ended_at": moment(len(self.events) * 7), **record}
        self.data["data-end"] = {
            "data_id": "data-end", "component_id": None, "component_key": "end", "value": {"outputs": outputs or {}},
        }  # fmt: skip
        kind = "flow.error" if status == "failed" else "flow.exited"
        self.post(kind, message, attributes={"status": status}, data={"data_id": "data-end"})

    def _about(self, component_id: str) -> dict[str, Any]:
        [found] = [one for one in self.document["components"] if one["id"] == component_id]
        return {
            "processor_id": component_id,
            "processor_type": found["type"],
            "processor_name": found.get("name", component_id),
        }

    # -- what it answers -----------------------------------------------------------------------------------------

    def answer(self, method: str, path: str, credential: str | None, body: dict[str, Any]) -> dict[str, Any]:
        if path == "auth/core/anonymous":
            return {"access_token": "anon_1", "refresh_token": "anon_2", "expires_at": 4_000_000_000_000}
        if credential not in (KEY, READ_KEY, "anon_1"):
            raise _Refused("unauthorized", "the key or token is unknown, revoked or expired")
        if credential == "anon_1" and not self.is_public:
            raise _Refused("access_denied", "it does not exist, or your credential cannot reach it")
        if path == f"blobs/{ORG}/{BLOB}":
            return {"blob": {"id": BLOB, "org_id": ORG, "alias": "support-bot"}}
        if path == f"blobs/{ORG}/{BLOB}/revisions/default":
            return {"revision": {"id": REVISION}}
        if path == f"revisions/{REVISION}/data/query":
            return self._query(body)
        if path == f"revisions/{REVISION}/data/command":
            return self._command(credential, body)
        raise _Refused("access_denied", f"{path} does not exist, or your credential cannot reach it")

    def _query(self, body: dict[str, Any]) -> dict[str, Any]:
        command = body.pop("command")
        self.queries.append(command)
        if command == "get_session":
            return {"session": {"id": SESSION, "alias": "sdk-demo", "status": "open"}}
        if body.pop("execution_id") != EXECUTION:
            raise _Refused("access_denied", "the execution does not exist, or your credential cannot reach it")
        match command:
            case "get_execution":
                return {"execution": self._record()}
            case "get_execution_definition" if self.hides_definition:
                raise _Refused("access_denied", "the definition does not exist, or your credential cannot reach it")
            case "get_execution_definition":
                return {"definition": {"alias": "answer-question"}, "definition_object": self.document}
            case "get_execution_data":
                return {"data": [self.data[body["data_id"]]]}
            case "list_execution_events":
                return self._page(**body)
        raise _Refused("unknown_command", command)

    def _record(self) -> dict[str, Any]:
        return {
            "id": EXECUTION,
            "session_id": SESSION,
            "revision_id": REVISION,
            "definition_alias": "answer-question",
            "status": self.status,
            "document_sha256": None if self.status == "creating" else "1f",
            "input_data": [],
            "trigger": {"type": "api"},
            "created_at": moment(-500),
            "updated_at": moment(len(self.events)),
            "started_at": moment(0),
            "ended_at": None,
            "error": None,
            "pause_before": [],
            "dry_run": False,
        } | self.record

    def _page(
        self, ascending: bool, limit: int, created_since: str | None = None, cursor: str | None = None
    ) -> dict[str, Any]:
        assert ascending
        found = [event for event in self.events if created_since is None or event["created_at"] > created_since]
        first = int(cursor or 0)
        last = first + min(limit, self.page_events)
        return {"execution_events": found[first:last], "cursor": str(last) if last < len(found) else None}

    def _command(self, credential: str, body: dict[str, Any]) -> dict[str, Any]:
        if credential != KEY:
            raise _Refused("access_denied", "a blob that this credential may change")
        self.commands.append(body)
        match body["command"]:
            case "stop_execution":
                self.status = "stopping"
            case "fork_execution":
                return {"execution": self._record() | {"id": "5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9bff"}}
        return {"execution": self._record()}


@contextlib.contextmanager
def serve(hub: FakeHub, port: int = 0) -> Iterator[str]:
    """The URL of the run's page."""
    pages = console.Console()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            path = self.path.partition("?")[0]
            hub.addresses.append(self.path)
            if console.takes(path):
                try:
                    found = pages.answer(self.command, path)
                except Refused as refused:
                    return self._send(refused.kind.status, b"", [])
                return self._send(found.status, found.content, [(b"content-type", found.kind), *found.headers])
            if hub.is_away:
                self.close_connection = True
                return None
            try:
                credential = self.headers["x-api-key"] or (self.headers["authorization"] or "").removeprefix("Bearer ")
                answer = {"status": "success", **hub.answer(self.command, path.removeprefix("/v1/"), credential, body)}
                status = 200
            except _Refused as refused:
                answer = {"status": "failure", "error": refused.code, "message": str(refused)}
                status = HUB_ERRORS[refused.code].status
            content = json.dumps(answer)
            for written, sent in hub.raw.items():
                content = content.replace(written, sent)
            return self._send(status, content.encode(), [(b"content-type", b"application/json")])

        def _send(self, status: int, content: bytes, headers: list[tuple[bytes, bytes]]) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name.decode(), value.decode())
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{ORG}/{BLOB}/debugger/{SESSION}/{EXECUTION}?revision={REVISION}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
