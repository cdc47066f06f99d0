"""One server over one store, its workers and its clients: what a test of the fault suite acts on."""

import contextlib
import json
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowHandle
from tests.faults import waiting
from tests.faults.clock import MovableClock
from tests.faults.processes import Child, Nursery
from tests.faults.sink import Place, Sink
from tests.faults.workflows import gate
from turnbuckle.operations import doctor, key
from turnbuckle.store.database import Database, open_database, read, write

LEASE_MS = 1_000  # decision 8


class Deployment:
    """`start_server` first. Everything lies in `folder`; the nursery kills what is left at the end of the test."""

    def __init__(self, nursery: Nursery, folder: Path, clock: MovableClock | None = None, **env: str) -> None:
        self.folder = folder
        self.sink = Sink(folder)
        self.store = folder / "data" / "turnbuckle.db"
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._nursery = nursery
        self._clock = clock
        self._env = env
        self._starts = 0
        self.server: Child
        with self._opened() as database:
            self.key = write(database, lambda tx: key.create(tx, "faults", "live", "user", "admin"))

    # -- processes -----------------------------------------------------------------------------------------------

    def start_server(self) -> Child:
        """A server on the same port and store as before; takes requests when this returns."""
        output = self._output("server")
        clock = None if self._clock is None else str(self._clock.path)
        options = {"data": str(self.store.parent), "port": self.port, "clock": clock}
        self.server = self._nursery.start("serve", "the server", output, self._env, **options)
        self.server.wait_for_line("listening on")
        return self.server

    def restart_server(self) -> None:
        self.server.kill()
        self.start_server()

    def start_worker(
        self,
        worker: str,
        *workflows: str,
        address: str | None = None,
        key: str | None = None,
        graph: str = "main",
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> Child:
        """A worker process. `options` are those of WorkflowWorker; `address` may be a proxy's."""
        child = self._nursery.start(
            "work",
            f"worker {worker}",
            self._output(worker),
            env,
            address=address or self.address,
            key=key or self.key,
            folder=str(self.folder),
            worker=worker,
            workflows=list(workflows),
            graph=graph,
            **options,
        )
        return child

    def client(self, address: str | None = None, **options: Any) -> AsyncLbbClient:
        return AsyncLbbClient(address or self.address, **{"api_key": self.key, "graph": "main", **options})

    def open_gate(self, name: str) -> None:
        gate(self.folder, name).touch()

    def make_key(self) -> str:
        """One more key, made beside the running server."""
        with self._opened() as database:
            return write(database, lambda tx: key.create(tx, "another", "live", "user", "write"))

    def revoke(self, revoked: str) -> None:
        with self._opened() as database:
            assert write(database, lambda tx: key.revoke(tx, revoked)) is not None

    # -- looking at the store, with the server up, frozen or gone ----------------------------------------------------

    def select(self, sql: str, *values: Any) -> list[Any]:
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, values).fetchall()

    def held_turns(self, worker: str | None = None) -> int:
        """Turns that a worker holds: what is in flight."""
        sql = "select count(*) from turn where status = 'held' and (? is null or worker = ?)"
        name = None if worker is None else worker.encode()
        return int(self.select(sql, name, name)[0][0])

    def saved_outputs(self) -> dict[Place, str]:
        """What the store holds for each step that has a run's name as its output."""
        rows = self.select("select instance_id, turn, key, output from step where kind = 'step'")
        return {(instance, turn, step): json.loads(output) for instance, turn, step, output in rows}

    def state_of(self, id: str) -> Any:
        """An instance's present state."""
        present = "select value from state join instance using (graph_id, instance_id) where turn = state_turn"
        return json.loads(self.select(f"{present} and instance_id = ?", id)[0][0])

    def wait_for_effects(self, *instances: str, within_s: float = 20) -> None:
        """Until a step of each of these has sent its effect."""

        def have_sent() -> bool:
            return set(instances) <= {effect.place[0] for effect in self.sink.effects()}

        waiting.wait_until(have_sent, within_s, f"{instances} have sent an effect")

    def back_up(self, target: Path) -> None:
        """As `turnbuckle backup` does, beside the running server."""
        with self._opened() as database:
            database.backup(str(target))

    def problems(self) -> list[str]:
        """What `turnbuckle doctor` would find. Stop the server first, or it may still be settling."""
        with self._opened() as database:
            return read(database, doctor.problems) + database.check()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Database]:
        with contextlib.closing(open_database(str(self.store))) as database:
            yield database

    def _output(self, name: str) -> Path:
        self._starts += 1
        return self.folder / f"{self._starts:03d}-{name}.log"


async def start(client: AsyncLbbClient, id: str, workflow: str, state: Any, **fields: Any) -> WorkflowHandle:
    """An instance of one of the suite's workflows, with the suite's lease."""
    body = {"id": id, "workflow_type": workflow, "version": "v1", "state": state, "lease_ms": LEASE_MS}
    body |= {"max_attempts": 3, **fields}
    await client.raw_request("POST", "/v1/workflows/instances", body=body, options={"retry": True})
    return client.workflows.handle(id)


async def turn(client: AsyncLbbClient, id: str, number: int = 1) -> dict[str, Any]:
    """A turn as the server shows it."""
    params = {"id": id, "turn": number}
    shown: dict[str, Any] = (await client.raw_request("GET", "/v1/workflows/instances/turn", params=params)).data
    return shown


async def until_status(client: AsyncLbbClient, id: str, status: str, within_s: float = 20, number: int = 1) -> None:
    async def has_it() -> bool:
        return bool((await turn(client, id, number))["status"] == status)

    await waiting.until(has_it, within_s, f"turn {number} of {id} is {status}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
