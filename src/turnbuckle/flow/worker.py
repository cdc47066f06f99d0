"""The flow worker: runs executions in a thread and loop of its own, beside the server or in a process of its own.

It is a worker like any other: HTTP, a key of scope `runtime`, leases, heartbeats (decision 42).
"""

import asyncio
import logging
import os
import signal
import socket
import threading

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowWorker
from turnbuckle.flow.hub_calls import HubCalls
from turnbuckle.flow.registry import load_entry_points
from turnbuckle.flow.runner import FlowSettings, Runtime, flow_workflow
from turnbuckle.flow.sandbox import SandboxPool
from turnbuckle.hub.execution import GRAPH

log = logging.getLogger("turnbuckle.flow")
CONCURRENCY = 32


class FlowWorker:
    """Serves one environment: that of its key."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        name: str | None = None,
        concurrency: int = CONCURRENCY,
        settings: FlowSettings | None = None,
    ) -> None:
        """`name` is what the server shows of it; by default it tells the machine and the process."""
        load_entry_points()
        self._base_url = base_url
        self._api_key = api_key
        self._name = name or f"flow@{socket.gethostname()}:{os.getpid()}"
        self._concurrency = concurrency
        self._settings = settings or FlowSettings()
        self._worker: WorkflowWorker | None = None
        self._stopping: float | None = None  # what the drain may take, once it was told to stop

    async def serve(self, pool: SandboxPool) -> None:
        """Until `stop`."""
        async with (
            AsyncLbbClient(base_url=self._base_url, api_key=self._api_key, graph=GRAPH) as client,
            AsyncLbbClient(base_url=self._base_url, api_key=self._api_key) as asking,
        ):
            runtime = Runtime(client, HubCalls(asking), pool, self._settings)
            worker = WorkflowWorker(client, [flow_workflow(runtime)], worker=self._name, concurrency=self._concurrency)
            self._worker = worker
            if self._stopping is None:
                await worker.run_async()

    def stop(self, drain_s: float) -> None:
        """Claim no more; what is held may finish within that time, the rest is handed back. From any thread."""
        self._stopping = drain_s
        if self._worker is not None:
            self._worker.stop(drain_seconds=drain_s)


class FlowThread:
    """Flow workers, one for each environment, in one thread and loop beside a server."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None  # while it runs
        self._workers: list[FlowWorker] = []
        self._added: asyncio.Queue[FlowWorker | None] = asyncio.Queue()  # None: stop
        self._thread = threading.Thread(target=self._run, name="flow", daemon=True)

    def add(self, worker: FlowWorker) -> None:
        """Serve one more environment."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread.start()
        self._workers.append(worker)
        self._loop.call_soon_threadsafe(self._added.put_nowait, worker)

    def stop(self, drain_s: float) -> None:
        """From any thread. Claims that wait at the server end when it says so, or with their time."""
        for worker in self._workers:
            worker.stop(drain_s)
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._added.put_nowait, None)

    def join(self, timeout_s: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        assert self._loop is not None
        try:
            self._loop.run_until_complete(self._serve())
        except Exception:
            log.exception("the flow worker ended; executions wait for another")
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with SandboxPool() as pool, asyncio.TaskGroup() as group:
            while (worker := await self._added.get()) is not None:
                group.create_task(self._keep(worker, pool))

    async def _keep(self, worker: FlowWorker, pool: SandboxPool) -> None:
        """One environment's trouble, such as a revoked key, ends no other's worker."""
        try:
            await worker.serve(pool)
        except Exception:
            log.exception("the flow worker of an environment ended; its executions wait for another")


def run(base_url: str, api_key: str, *, concurrency: int = CONCURRENCY) -> None:
    """Serve in the foreground until SIGTERM or Ctrl-C."""
    asyncio.run(_run(FlowWorker(base_url, api_key, concurrency=concurrency)))


async def _run(worker: FlowWorker) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, worker.stop, 30.0)
    loop.add_signal_handler(signal.SIGINT, worker.stop, 0.0)
    async with SandboxPool() as pool:
        await worker.serve(pool)
