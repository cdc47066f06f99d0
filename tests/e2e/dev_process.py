"""`turnbuckle dev` as a process of its own."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

WAIT_S = 40  # on a busy machine; most lines come within a second


class Dev:
    """The command in a folder, and what it says. End it with `end`."""

    def __init__(self, folder: Path, *words: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LBB_")}
        command = [sys.executable, "-m", "turnbuckle.cli", "dev", "--data", str(folder / "data"), *words]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until(self, pattern: str) -> re.Match[str]:
        """The next line that fits."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"no line like {pattern!r} in:\n" + "\n".join(self.said)
            self.said.append(line)
            if found := re.search(pattern, line):
                return found

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit code, after the signal if it still runs."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        code = self.process.wait(WAIT_S)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line.rstrip("\n"))
        self._lines.put(None)
