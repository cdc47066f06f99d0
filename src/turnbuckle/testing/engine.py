"""The engine in the process of a test: the real operations on a real store, behind the real HTTP face."""

import asyncio
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, Self

from lbb import AsyncLbbClient
from lbb.retry import Chance
from lbb.workflows import WorkflowDefinition, WorkflowWorker
from turnbuckle import upkeep as upkeep_loop
from turnbuckle.config import DATA_FILE, Config
from turnbuckle.http import reviews
from turnbuckle.http.app import App
from turnbuckle.operations import graph as graphs
from turnbuckle.operations import key, turn, upkeep, watch
from turnbuckle.pump import Pump
from turnbuckle.store.database import read, write
from turnbuckle.store.transaction import Topic, Transaction
from turnbuckle.testing.clock import Clock, Lease, Leases
from turnbuckle.testing.faults import SAVES, Faults, Point
from turnbuckle.testing.network import Network, Pair, ReplyDropped, Wire, WorkerCrashed
from turnbuckle.testing.ran import EndlessRun, Ran
from turnbuckle.testing.store import open_store
from turnbuckle.wire.turn import WorkflowTurnLeaseRequest

GRAPH = "main"
TURNS_MAX = 1_000
_ENVIRONMENT = "test"
_ADDRESS = "http://engine.test"  # never looked up: the transport is the app itself


class Engine:
    """`async with Engine() as engine:`, one per test, in the test's event loop.

    Nothing works by itself: turns run inside `run` and `run_to_end`, time passes when `clock` is moved. `database` is a
    store to use instead of a new one that is thrown away: a SQLite file or a postgresql:// URL.
    """

    def __init__(
        self, *, clock_start_ms: int | None = None, database: str | None = None, models: Path | None = None
    ) -> None:
        """`clock_start_ms` is Unix time and by default now, so that code which asks the machine for the time agrees.

        `models` is the file that names the model providers; mock models serve without it.
        """
        self._location = database
        self._config = Config(mode="dev", models=models)
        self._faults = Faults()
        self._leases = Leases(self._renew)
        self._network = Network(self._serve, self._faults)
        self._clients: list[AsyncLbbClient] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._is_open = False
        start_ms = time.time_ns() // 1_000_000 if clock_start_ms is None else clock_start_ms
        self._pruned_at_ms = start_ms
        self.clock = Clock(start_ms, self._leases, self._arrived)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._open()
        self._key = write(
            self._database, lambda tx: key.create(tx, "turnbuckle.testing", _ENVIRONMENT, "user", "admin")
        )
        return self

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        """FaultUnused when a crash or a lost reply was asked for and never came, unless the test fails anyway."""
        for client in self._clients:
            await client.aclose()
        write(self._database, lambda tx: key.revoke(tx, self._key))  # the store may be one that stays
        self._close()
        if self._folder is not None:
            self._folder.cleanup()
        if error is None:
            self._faults.check_used()

    # -- what the code under test gets ---------------------------------------------------------------------------

    def client(self, *, graph: str = GRAPH, **options: Any) -> AsyncLbbClient:
        """A client of this engine; `options` are those of AsyncLbbClient. It is closed with the engine."""
        client = self._connect(graph, None, options)
        self._clients.append(client)
        return client

    async def run(
        self,
        *definitions: WorkflowDefinition,
        graph: str = GRAPH,
        worker: str = "test",
        turns_max: int = TURNS_MAX,
    ) -> Ran:
        """A worker of these workflows runs turns, one after the other, until none can be claimed now or it crashes.

        EndlessRun after `turns_max` turns. What a handler raises counts an attempt, as ever, and is in `Ran.errors`.
        """
        ran = Ran()
        await self._work(definitions, ran, graph=graph, worker=worker, turns_max=turns_max)
        return ran

    async def run_to_end(
        self, *definitions: WorkflowDefinition, graph: str = GRAPH, worker: str = "test", turns_max: int = TURNS_MAX
    ) -> Ran:
        """`run` and `advance` by turns, with a new worker after each crash, until time would bring nothing more.

        What is unfinished then waits for a person: it is paused, or it failed.
        """
        ran = Ran()
        while True:
            has_crashed = await self._work(definitions, ran, graph=graph, worker=worker, turns_max=turns_max)
            if not has_crashed and not self.advance(*definitions, graph=graph):
                return ran

    def advance(self, *definitions: WorkflowDefinition, graph: str = GRAPH) -> int:
        """Move the clock to when the next turn can be claimed, or else an attempt ends by itself; how many ms.

        Looks at turns of these workflows, or of all that were run. 0 when one can be claimed now, when nothing waits
        for its time, and while a run is under way.
        """
        pairs = {(graph, definition.name, definition.version) for definition in definitions} or self._network.pairs
        next_at_ms = read(self._database, partial(_next_at, pairs=pairs))
        if next_at_ms is None or next_at_ms <= self.clock() or self._network.runs:
            return 0
        passed_ms = next_at_ms - self.clock()
        self.clock.pass_ms(passed_ms)
        return passed_ms

    def restart(self) -> None:
        """The server ends and starts again on its store: from here on it knows what it had saved, and nothing else."""
        self._close()
        self._open()

    # -- what is to go wrong -------------------------------------------------------------------------------------

    def crash_before_save(self, step: str, *, times: int = 1) -> None:
        """The worker dies when the step's function has run, before the server hears of it. Also sleeps and waits."""
        self._faults.ask(Point.CRASH_BEFORE, *SAVES, key=step, times=times)

    def crash_after_save(self, step: str, *, times: int = 1) -> None:
        """The worker dies when the server has saved the step, before it hears of that. Also sleeps and waits."""
        self._faults.ask(Point.CRASH_AFTER, *SAVES, key=step, times=times)

    def crash_before(self, route: str, *, times: int = 1) -> None:
        """The worker dies before a request reaches the server: `turns/claim`, `turns/progress`, `turns/complete`."""
        self._faults.ask(Point.CRASH_BEFORE, route, times=times)

    def crash_after(self, route: str, *, times: int = 1) -> None:
        """The worker dies when the server has done what the request asked, before the reply comes."""
        self._faults.ask(Point.CRASH_AFTER, route, times=times)

    def drop_reply(self, route: str, *, times: int = 1) -> None:
        """The server does what the request asks, and its sender gets no reply: `instances/message`, `turns/fail`."""
        self._faults.ask(Point.DROP_REPLY, route, times=times)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _work(
        self, definitions: tuple[WorkflowDefinition, ...], ran: Ran, *, graph: str, worker: str, turns_max: int
    ) -> bool:
        """One worker, until nothing can be claimed or it crashes; whether it did. `ran` counts on."""
        await self._prune()
        client = self._connect(graph, ran, {})
        try:
            with self._network.running():
                await _run_turns(WorkflowWorker(client, definitions, worker=worker), ran, turns_max)
        except WorkerCrashed:
            ran.crashes += 1
            return True
        finally:
            self._leases.drop(ran)
            await client.aclose()
        return False

    def _open(self) -> None:
        location = self._location
        if location is None:
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="turnbuckle-")
            location = str(Path(self._folder.name, DATA_FILE))
        self._database = open_store(location, self.clock, is_kept=self._folder is None)
        self._app = App(self._database, self._config)
        self._app.bind(self._loop)
        self._pump = Pump(self._app.store)
        self._is_open = True

    def _close(self) -> None:
        self._is_open = False
        self._app.room.close()
        self._app.close()
        self._database.close()

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].endswith("/turns/claim"):
            await self._send_what_is_due()
        await self._app(scope, receive, send)

    async def _send_what_is_due(self) -> None:
        """What a server does beside its requests: answers of persons are told, triggers fill the inboxes."""
        await reviews.act_on_due(self._app.store)
        while await self._pump.work():
            pass

    def _connect(self, graph: str, ran: Ran | None, options: dict[str, Any]) -> AsyncLbbClient:
        wire = Wire(self._network, None if ran is None else partial(self._note, ran))
        # A request that is tried again waits by the machine's clock, so it should not wait at all.
        settings: dict[str, Any] = {"api_key": self._key, "retry_delay": 0.0} | options
        client = AsyncLbbClient(_ADDRESS, graph=graph, transport=wire, **settings)
        client._chance = Chance(time.monotonic, lambda: self.clock() / 1_000, random.uniform)
        return client

    def _note(self, ran: Ran, graph: str, route: str, sent: dict[str, Any], answer: dict[str, Any]) -> None:
        ran.note(route, sent, answer)
        if route == "turns/claim" and (task := answer["task"]) is not None:
            at = (task["turn"]["workflow_id"], task["turn"]["number"])
            self._leases.add(Lease(graph, *at, task["token"], task["lease_ms"]), ran)

    def _renew(self, lease: Lease) -> None:
        write(self._database, partial(_heartbeat, lease=lease))

    def _arrived(self) -> None:
        """Time has passed: settle what it has decided, and call the claims that wait for it."""
        if not self._is_open:
            return
        while write(self._database, upkeep.settle):
            pass
        now_ms = self.clock()
        times = read(self._database, partial(_ready_times, pairs=self._network.pairs))
        ready = [(topic, at_ms) for topic, at_ms in times if at_ms <= now_ms]
        self._loop.call_soon_threadsafe(self._app.room.announce, ready, now_ms)

    async def _prune(self) -> None:
        """The upkeep that no answer depends on: old history, old runs, unused blobs."""
        if self.clock() > self._pruned_at_ms:
            self._pruned_at_ms = self.clock()
            await upkeep_loop.prune(self._app.store)
            await upkeep_loop.sweep_blobs(self._app.store)


async def _run_turns(worker: WorkflowWorker, ran: Ran, turns_max: int) -> None:
    while ran.turns < turns_max:
        try:
            if not await worker.run_once():
                return
        except ReplyDropped:  # of a claim or a failure, which are sent once: a worker that serves goes on
            continue
    raise EndlessRun(f"{ran.turns} turns ran and more may follow; turns_max={turns_max} allows no further one")


def _heartbeat(tx: Transaction, lease: Lease) -> None:
    graph_id = graphs.look(tx, _ENVIRONMENT, lease.graph)
    request = WorkflowTurnLeaseRequest(workflow_id=lease.workflow_id, turn=lease.turn, token=lease.token)
    turn.heartbeat(tx, graph_id, request)


def _ready_times(tx: Transaction, pairs: set[Pair]) -> list[tuple[Topic, int]]:
    return turn.next_ready_at(tx, [("ready", graphs.look(tx, _ENVIRONMENT, name), *pair) for name, *pair in pairs])


def _next_at(tx: Transaction, pairs: set[Pair]) -> int | None:
    times = [at_ms for _, at_ms in _ready_times(tx, pairs)]
    if (repeat_at_ms := watch.next_repeat_at(tx)) is not None:
        times.append(repeat_at_ms)
    return min(times, default=upkeep.next_due_at(tx))
