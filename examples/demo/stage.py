"""The demo's processes: one server and two workers, started, frozen, killed and started again."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
_START_SECONDS = 20.0
_STOP_SECONDS = 15.0
_TURNBUCKLE = [sys.executable, "-m", "turnbuckle.cli"]


class Stage:
    """At the end of its `with` block nothing runs any more. The store is `folder/store`, outputs are `folder/*.log`."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        self.docs = folder / "docs"
        shutil.copytree(ROOT / "docs", self.docs)  # an edit while the demo runs would be taken for a loss
        self.ledger = folder / "ledger.jsonl"
        self._folder = folder
        self._port = _free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        made = self.turnbuckle("keys", "create", "--label", "demo", "--role", "admin", "--json", "--data", self.store)
        self.key: str = json.loads(made.stdout)["key"]
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def turnbuckle(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        """A command of the command line, run to its end. CalledProcessError when it fails."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("LBB_")}
        command = [*_TURNBUCKLE, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=own)

    # -- server and workers ----------------------------------------------------------------------------------------

    def start_server(self) -> None:
        """Returns when it takes requests, always on the same port."""
        log = self._log("server")
        before = log.stat().st_size if log.exists() else 0
        command = [*_TURNBUCKLE, "serve", "--port", str(self._port), "--data", str(self.store)]
        self._start("server", command, {})
        ends_at = time.monotonic() + _START_SECONDS
        while b"listening on" not in log.read_bytes()[before:]:
            if self._running["server"].poll() is not None or time.monotonic() > ends_at:
                raise RuntimeError(f"the server did not start; see {log}:\n{log.read_text()[-2_000:]}")
            time.sleep(0.01)

    def start_worker(self, name: str) -> None:
        command = [sys.executable, "-m", "examples.demo.worker", name, str(self.docs), str(self.ledger)]
        self._start(name, command, {"LBB_URL": self.address, "LBB_API_KEY": self.key})

    def freeze(self, name: str) -> None:
        self._running[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._running[name].send_signal(signal.SIGCONT)

    def kill(self, name: str) -> None:
        """SIGKILL: nothing in the process gets to say goodbye."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """SIGTERM for the workers, then for the server; SIGKILL for what does not end."""
        self._stop([name for name in self._running if name != "server"])
        self._stop(list(self._running))

    def tails(self) -> str:
        """The last lines of each process's output."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()[-1_500:]}" for log in logs)

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _stop(self, names: list[str]) -> None:
        processes = [self._running.pop(name) for name in names]
        for process in processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in processes:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, command: list[str], env: Mapping[str, str]) -> None:
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **env},
                cwd=ROOT,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops them
            )

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
