"""What a process of the fault suite can be: a server, or a worker with the suite's workflows."""

import importlib
import logging
import mmap
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lbb import AsyncLbbClient, RetryEvent
from lbb.workflows import WorkflowWorker
from tests.faults.model_workflows import model_definitions
from tests.faults.sink import Sink
from tests.faults.workflows import definitions
from turnbuckle.cli.main import cli

for late in ("lbb.aiohttp_sender", "turnbuckle.cli.serve"):  # loaded at their first use, which would be after the fork
    importlib.import_module(late)


def serve(data: str, port: int, clock: str | None = None) -> None:
    """`turnbuckle serve`. `clock` is a file that holds how far its wall clock is off (see `clock.MovableClock`)."""
    if clock is not None:
        _follow(clock)
    cli(["serve", "--port", str(port), "--data", data])


def _follow(clock: str) -> None:
    """Move this process's wall clock as the file says. The monotonic one goes on, as it does on a real machine."""
    with Path(clock).open("r+b") as file:
        offset_ms = mmap.mmap(file.fileno(), 8)
    real_ns = time.time_ns
    time.time_ns = lambda: real_ns() + struct.unpack("q", offset_ms)[0] * 1_000_000


def work(
    address: str, key: str | None, folder: str, worker: str, workflows: list[str], graph: str, **options: Any
) -> None:
    """A worker as a user writes one: a client, some workflows, `run`."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    client = AsyncLbbClient(address, api_key=key, graph=graph, on_retry=_tell)
    known = [*definitions(Path(folder), Sink(Path(folder))), *model_definitions(client, Path(folder))]
    wanted = [found for found in known if found.name in workflows]
    logging.info("worker %s starts", worker)
    WorkflowWorker(client, wanted, worker=worker, **options).run()


def _tell(event: RetryEvent) -> None:
    logging.info("retry of %s: %s %s", event.path, event.status_code, event.error_code)


ROLES: dict[str, Callable[..., None]] = {"serve": serve, "work": work}

if sys.platform == "win32":
    raise RuntimeError("the fault suite freezes and forks processes, which needs POSIX")
