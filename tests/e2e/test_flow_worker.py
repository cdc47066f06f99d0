"""`turnbuckle worker flow`: executions in a process beside the server, which may be killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.flow_server import FlowServer, HubFailure, Json, component, document, flow, flow_server, text
from tests.e2e.test_flow_crash import Sink
from turnbuckle.operations import graph, turn
from turnbuckle.operations import key as keys
from turnbuckle.store.database import open_database, write
from turnbuckle.store.transaction import Transaction

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def worker_of(server: FlowServer) -> Iterator[subprocess.Popen[bytes]]:
    key = in_store(server, lambda tx: keys.create(tx, "a flow worker", "test", "runtime", "write"))
    environment = {**os.environ, "LBB_URL": server.url, "LBB_API_KEY": str(key)}
    command = [sys.executable, "-m", "turnbuckle.cli", "worker", "flow"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(40)


def in_store(server: FlowServer, operation: object) -> object:
    with contextlib.closing(open_database(str(server.folder / "data" / "turnbuckle.db"))) as database:
        return write(database, operation)  # type: ignore[arg-type]


def calls(sink: Sink) -> Json:
    made = [component("start", "flow.start")]
    made += [component(f"call{n}", "io.http", in_url=text(f"{sink.server.url}/call{n}")) for n in range(3)]
    return document(
        made,
        [flow("start", "next", "call0"), flow("call0", "success", "call1"), flow("call1", "success", "call2")],
    )


def test_a_run_waits_for_a_worker_and_cannot_be_stopped_before(tmp_path: Path) -> None:
    with flow_server(tmp_path, "--no-flow") as server:
        id = server.execute(server.define(document([component("start", "flow.start")], [])))
        with pytest.raises(HubFailure) as refused:
            server.command("stop_execution", execution_id=id)
        assert (refused.value.code, server.execution(id)["status"]) == ("invalid_execution_status", "creating")

        with worker_of(server) as worker:
            server.until(id, "completed")

        assert worker.returncode == 0


def test_closing_a_session_ends_runs_that_no_worker_has(tmp_path: Path) -> None:
    with flow_server(tmp_path, "--no-flow") as server:
        session = server.session()
        id = server.execute(server.define(document([component("start", "flow.start")], [])), session)

        server.command("close_session", session_id=session)

        assert server.until(id, "stopped")["stop_reason"] == "session_closed"


def test_another_worker_goes_on_after_the_last_finished_component(tmp_path: Path) -> None:
    sink = Sink()
    place = sink.server.url.removeprefix("http://")
    (tmp_path / "outside.toml").write_text(f"[http]\nallow_private = ['{place}']\n")
    with flow_server(tmp_path, "--no-flow", "--outside", str(tmp_path / "outside.toml")) as server:
        with worker_of(server) as first:
            sink.kill, sink.kill_at = first.kill, "/call1"
            id = server.execute(server.define(calls(sink)))
            first.wait(40)
        in_store(server, lambda tx: _end_leases(tx, first.pid))

        with worker_of(server):
            server.until(id, "completed")

        assert [component for component, _ in server.runs_of(id)] == ["start", "call0", "call1", "call2"]
        assert [path for path, _ in sink.heard].count("/call0") == 1
        assert len({key for path, key in sink.heard if path == "/call1"}) == 1
    sink.server.close()


def _end_leases(tx: Transaction, pid: int) -> None:
    """As when the minute of a lease is over."""
    graph_id = graph.look(tx, "test", "hub")
    turn.give_up(tx, graph_id, f"flow@{socket.gethostname()}:{pid}")
