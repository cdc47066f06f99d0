"""A server process with its flow worker, one organization and blob in it, and definitions made of few words."""

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.dev_process import Dev
from turnbuckle.operations import graph, hub_blob
from turnbuckle.operations.key import DEV_KEY
from turnbuckle.store.database import open_database, write
from turnbuckle.store.transaction import Transaction

BLOB_TYPE = "blobhub.compute.workflow"
WAIT_S = 40.0
ENDED = ("completed", "failed", "stopped")
Json = dict[str, Any]


class HubFailure(AssertionError):
    def __init__(self, answer: Json) -> None:
        super().__init__(json.dumps(answer))
        self.code = answer.get("error")


class FlowServer:
    """`turnbuckle dev` on a folder; `restart` starts it again on the same port and store."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        self._words = words
        self._port = "0"
        self._http = httpx.Client(timeout=30, headers={"X-API-Key": DEV_KEY})
        self.start()
        self.revision_id = _prepared(folder / "data")

    def start(self) -> None:
        self._dev = Dev(self.folder, "--port", self._port, *self._words)
        self.url = self._dev.until(r"listening on (\S+)")[1]
        self._port = self.url.rsplit(":", 1)[1]

    @property
    def pid(self) -> int:
        return self._dev.process.pid

    @property
    def log(self) -> list[str]:
        return self._dev.said

    def kill(self) -> None:
        self._dev.process.send_signal(signal.SIGKILL)
        self._dev.process.wait()

    def ended(self) -> None:
        """Wait until the process has ended, whoever ended it."""
        self._dev.ended()

    def end(self) -> int:
        return self._dev.end()

    def close(self) -> None:
        self._http.close()
        if self._dev.process.poll() is None:
            self._dev.end()

    # -- the data channel --------------------------------------------------------------------------------------------

    def query(self, name: str, **arguments: Any) -> Json:
        return self._channel("query", name, arguments)

    def command(self, name: str, **arguments: Any) -> Json:
        return self._channel("command", name, arguments)

    def _channel(self, channel: str, name: str, arguments: Json) -> Json:
        url = f"{self.url}/v1/revisions/{self.revision_id}/data/{channel}"
        answer: Json = self._http.post(url, json={"command": name, **arguments}).json()
        if answer["status"] != "success":
            raise HubFailure(answer)
        return answer

    def define(self, document: Json, alias: str = "definition-1") -> str:
        made = self.command("create_definition", alias=alias, category="workflow")["definition"]["id"]
        self.command("upload_definition", definition_id=made, definition=document)
        return alias

    def session(self) -> str:
        return str(self.command("create_session")["session"]["id"])

    def execute(self, alias: str, session: str | None = None, inputs: Json | None = None, **more: Any) -> str:
        given = [{"alias": name, "value": value} for name, value in (inputs or {}).items()]
        target = {"session": session or self.session()}
        arguments = {"target": target, "workflow": {"definition": alias}, "input_data": given, **more}
        return str(self.command("create_execution", **arguments)["execution"]["id"])

    def execution(self, id: str) -> Json:
        found: Json = self.query("get_execution", execution_id=id)["execution"]
        return found

    def until(self, id: str, *statuses: str) -> Json:
        """The execution once it has one of these statuses."""
        deadline = time.monotonic() + WAIT_S
        while (found := self.execution(id))["status"] not in (statuses or ENDED):
            assert time.monotonic() < deadline, f"still {found['status']}: {self.events(id)}\n" + "\n".join(self.log)
            assert found["status"] not in ENDED, f"it is {found}"
            _tick()
        return found

    def until_event(self, id: str, type: str) -> Json:
        deadline = time.monotonic() + WAIT_S
        while True:
            found = next((event for event in self.events(id) if event["type"] == type), None)
            if found is not None:
                return found
            assert time.monotonic() < deadline, f"no {type}: {self.events(id)}"
            _tick()

    def events(self, id: str) -> list[Json]:
        found: list[Json] = []
        more: Json = {}
        while True:
            answer = self.query("list_execution_events", execution_id=id, ascending=True, limit=1000, **more)
            found += answer["execution_events"]
            if answer["cursor"] is None:
                return found
            more = {"cursor": answer["cursor"]}

    def data(self, id: str) -> list[Json]:
        found: list[Json] = self.query("get_execution_data", execution_id=id)["data"]
        return found

    def runs_of(self, id: str) -> list[tuple[str, str]]:
        """(component id, result) of each component that was left, in the order of the log."""
        left = [event for event in self.events(id) if event["type"] == "processor.exited"]
        return [(event["attributes"]["processor_id"], event["attributes"]["route"]) for event in left]

    def ends_with(self, id: str) -> Json:
        """The last values of its data components, by alias."""
        (kept,) = [one["value"] for one in self.data(id) if one["component_key"] == "end"]
        values: Json = kept["outputs"]
        return values


def _tick() -> None:
    """Between two looks at a server in another process, which tells nobody."""
    threading.Event().wait(0.05)


def _prepared(data: Path) -> str:
    """A workflow blob in the server's store; its draft revision."""

    def make(tx: Transaction) -> str:
        org = hub_blob.create_org(tx, graph.use(tx, "test", "hub"), "acme")
        return hub_blob.create_blob(tx, org, "support-bot", BLOB_TYPE)[1].revision_id

    with contextlib.closing(open_database(str(data / "turnbuckle.db"))) as database:
        return write(database, make)


@contextlib.contextmanager
def flow_server(folder: Path, *words: str) -> Iterator[FlowServer]:
    server = FlowServer(folder, *words)
    try:
        yield server
    finally:
        server.close()


# -- documents ---------------------------------------------------------------------------------------------------


def component(id: str, type: str, **ports: Any) -> Json:
    """`ports`: settings by their route; `in_ROUTE` is the own value of a data input."""
    made = [
        {"category": "data_input", "route": name[3:], "value": value}
        if name.startswith("in_")
        else {"category": "setting", "route": name, "value": value}
        for name, value in ports.items()
    ]
    return {"id": id, "category": type.split(".")[0], "type": type, "name": id, "ports": made}


def data(id: str, type: str, persistence: str = "execution", value: Any = None) -> Json:
    return component(id, f"data.{type}", alias=id, persistence={"type": "choice", "id": persistence}, value=value)


def code(id: str, text: str) -> Json:
    message = {"role": "interpreter", "content": [{"type": "text", "text": text}]}
    language = {"type": "choice", "id": "python"}
    return component(id, "logic.code", language=language, code={"type": "message", "message": message})


def flow(source: str, route: str, target: str) -> Json:
    ports = {"source_port": "flow_output", "target_port": "flow_input", "route": route}
    return {"id": f"{source}-{route}-{target}", "source_id": source, "target_id": target, **ports}


def pipe(source: str, target: str) -> Json:
    """`a.route` -> `b.route`; without a route it is `value`."""
    (source_id, source_route), (target_id, target_route) = _end(source), _end(target)
    ports = {"source_port": "data_output", "target_port": "data_input"}
    routes = {"source_route": source_route, "target_route": target_route}
    return {"id": f"{source}-{target}", "source_id": source_id, "target_id": target_id, **ports, **routes}


def _end(name: str) -> tuple[str, str]:
    id, _, route = name.partition(".")
    return id, route or "value"


def document(components: list[Json], connections: list[Json]) -> Json:
    return {
        "type": "workflow_definition",
        "version": "1.0.1",
        "components": components,
        "connections": connections,
    }


def text(contents: str) -> Json:
    return {"type": "text", "text": contents}


def pid_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
