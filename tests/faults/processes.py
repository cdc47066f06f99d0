"""Processes of the fault suite, seen from the test: started by the nursery, then frozen, woken, stopped or killed."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tests.faults.waiting import wait_until

ROOT = Path(__file__).parents[2]
_START_SECONDS = 30.0


class Child:
    """One process. Its output, stdout and stderr together, is the file `output`."""

    def __init__(self, name: str, output: Path) -> None:
        self.name = name
        self.output = output
        self.pid = 0
        self.code: int | None = None  # negative: the signal that ended it
        self._has_started = threading.Event()
        self._has_ended = threading.Event()

    # -- the levers ----------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        self.wait(10)

    def freeze(self) -> None:
        """SIGSTOP: no thread of it runs until `thaw`."""
        self._signal(signal.SIGSTOP)
        wait_until(lambda: self._state() == "T", 5, f"{self.name} is frozen")

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM. It goes on until it has drained; see `wait`."""
        self._signal(signal.SIGTERM)

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def is_alive(self) -> bool:
        return not self._has_ended.is_set()

    def wait(self, within_s: float) -> int:
        """Its exit code, once it has ended."""
        if not self._has_ended.wait(within_s):
            raise AssertionError(f"{self.name} has not ended within {within_s} s; it says:\n{self.said()}")
        assert self.code is not None
        return self.code

    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def wait_for_line(self, part: str, within_s: float = 20.0, after: int = 0) -> None:
        """Until its output has `part` beyond the first `after` characters."""

        def is_there() -> bool:
            if not self.is_alive:
                raise AssertionError(f"{self.name} ended with {self.code}; it says:\n{self.said()}")
            return part in self.said()[after:]

        wait_until(is_there, within_s, f"{self.name} says {part!r}")

    # -- for the nursery -----------------------------------------------------------------------------------------

    def has_started(self, pid: int) -> None:
        self.pid = pid
        self._has_started.set()

    def has_ended(self, code: int) -> None:
        self.code = code
        self._has_ended.set()

    def wait_for_start(self) -> None:
        if not self._has_started.wait(_START_SECONDS):
            raise AssertionError(f"the nursery has not started {self.name}")

    def _signal(self, number: int) -> None:
        """A process that has ended is left alone: its pid may be another's by now."""
        if self.is_alive:
            os.kill(self.pid, number)

    def _state(self) -> str:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]


class Nursery:
    """Starts processes by fork (see `tests.faults.nursery`). At its end, whatever still runs is killed."""

    def __init__(self) -> None:
        self._orders = itertools.count(1)
        self._ordered: dict[int, Child] = {}
        self._running: dict[int, Child] = {}
        command = [sys.executable, "-m", "tests.faults.nursery"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self._news = threading.Thread(target=self._listen, name="nursery", daemon=True)
        self._news.start()

    def start(self, role: str, name: str, output: Path, env: Mapping[str, str] | None = None, **options: Any) -> Child:
        """A process in one of `roles.ROLES`; `options` are the role's arguments."""
        child, order = Child(name, output), next(self._orders)
        self._ordered[order] = child
        line = {"order": order, "role": role, "output": str(output), "env": dict(env or {}), "options": options}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()
        child.wait_for_start()
        return child

    def kill_all(self) -> None:
        """What a test has left running, frozen ones too."""
        for child in list(self._running.values()):
            child.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._news.join(5)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self) -> None:
        """The order of news is kept: a start is told before its end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            news = json.loads(line)
            if "started" in news:
                child = self._ordered.pop(news["started"])
                self._running[news["pid"]] = child
                child.has_started(news["pid"])
            else:
                self._running.pop(news["ended"]).has_ended(news["code"])
