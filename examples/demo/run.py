"""`make demo`: real work with kills in the middle, and whether anything was lost or done twice.

A server and two workers read this project's own pages, one instance per folder, one message per page. Workers and
server are killed with SIGKILL while turns are in flight, and started again. Exit code 0 only when the verdict is clean.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from examples.demo import report
from examples.demo.facts import Observer
from examples.demo.stage import Stage
from examples.demo.verdict import Facts, Kill, violations
from examples.demo.worker import STEPS, page_reader
from rich.console import Console

from lbb import AsyncLbbClient, LbbError

LEASE_MS = 3_000
_MAX_ATTEMPTS = 10  # a page may be hit by several kills; here that is no reason to give it up
_WORKERS = ("worker-a", "worker-b")
_KILLS = ((0.1, "worker-a"), (0.25, "worker-b"), (0.5, "server"), (0.75, "worker-a"))  # at this share of all effects
_TIME_LIMIT_SECONDS = 120.0


@dataclass
class Play:
    """One run of the demo, from the first process to the verdict."""

    stage: Stage
    console: Console
    started_at: float = field(default_factory=time.monotonic)
    kills: list[Kill] = field(default_factory=list)

    async def act(self) -> Facts:
        self.say("two workers will count the words of docs/: one message per page")
        self.say("each takes 4 steps with an effect on the outside: a line in a file")
        self.stage.start_server()
        self.say(f"the server listens on {self.stage.address}, its store is empty")
        for worker in _WORKERS:
            self.stage.start_worker(worker)
        async with AsyncLbbClient(self.stage.address, api_key=self.stage.key) as client:
            observer = Observer(client, self.stage)
            sent = await self._send(client, observer)
            await self._work(observer, len(sent))
            facts = await observer.facts(sent, self.kills)
        self.say("all turns are completed; stop workers and server, check the store")
        self.stage.stop()
        facts.problems.extend(observer.problems())
        return facts

    async def _send(self, client: AsyncLbbClient, observer: Observer) -> list[tuple[str, str]]:
        """One instance per folder, one message per page; the path is the message's id."""
        workflow = page_reader(client, self.stage.docs, observer.ledger)
        sent = []
        for instance, paths in observer.pages.items():
            handle = await workflow.start(client, instance, lease_ms=LEASE_MS, max_attempts=_MAX_ATTEMPTS)
            for path in paths:
                turn = await handle.send({"page": path}, id=path)
                sent.append((instance, turn.message_id))
        self.say(f"sent {len(sent)} messages to {len(observer.pages)} instances, one per folder")
        return sent

    async def _work(self, observer: Observer, messages: int) -> None:
        """Kill as planned, until every message is completed."""
        kills, total = list(_KILLS), messages * len(STEPS)
        while True:
            effects = observer.effects()
            if kills and effects >= kills[0][0] * total and await self._kill(observer, kills[0][1]):
                self.say(f"{effects} of {total} effects: kill -9 {kills[0][1]}, {_in_flight(self.kills[-1])}")
                del kills[0]
            if effects == total and await observer.unfinished() == 0:
                return
            if time.monotonic() - self.started_at > _TIME_LIMIT_SECONDS:
                raise TimeoutError(f"not finished within {_TIME_LIMIT_SECONDS:g} s, {effects} of {total} effects")
            await asyncio.sleep(0.03)

    async def _kill(self, observer: Observer, name: str) -> bool:
        """Freeze the workers, so that what is in flight can be counted; kill one process and start it again.

        False, and nothing is killed, when nothing of it is in flight just now.
        """
        for worker in _WORKERS:
            self.stage.freeze(worker)
        in_flight = await observer.in_flight(None if name == "server" else name)
        if in_flight:
            self.stage.kill(name)
            self.kills.append(Kill(name, time.monotonic() - self.started_at, in_flight))
        for worker in _WORKERS:
            if worker != name or not in_flight:
                self.stage.thaw(worker)
        if in_flight and name == "server":
            self.stage.start_server()
        elif in_flight:
            self.stage.start_worker(name)
        return bool(in_flight)

    def say(self, text: str) -> None:
        self.console.print(f"[dim]{time.monotonic() - self.started_at:5.1f} s[/]  {text}", highlight=False)


def _in_flight(kill: Kill) -> str:
    count = len(kill.in_flight)
    return "1 turn in flight" if count == 1 else f"{count} turns in flight"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="keep the folder with store, ledger and outputs")
    keep = parser.parse_args().keep
    console, folder = Console(), Path(tempfile.mkdtemp(prefix="turnbuckle-demo-"))
    try:
        return _run(console, folder, keep)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _run(console: Console, folder: Path, keep: bool) -> int:
    with Stage(folder) as stage:
        play = Play(stage, console)
        try:
            facts = asyncio.run(play.act())
        except (AssertionError, LbbError, OSError, RuntimeError, TimeoutError) as failure:
            console.print(
                f"\n[bold red]The demo did not come to its end:[/] {failure}\n{stage.tails()}", highlight=False
            )
            return 1
    found = violations(facts)
    report.show(console, facts, found, time.monotonic() - play.started_at)
    report.where_to_look(console, folder, is_kept=keep)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
