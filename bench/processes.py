"""Real server and worker processes for the workloads, and what the kernel says they used."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KEY = "lbb_sk_test_local"
_TICK_MS = 1_000 / os.sysconf("SC_CLK_TCK")
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Process:
    popen: "subprocess.Popen[str]"

    @property
    def cpu_ms(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * _TICK_MS

    @property
    def rss_mb(self) -> float:
        for line in Path(f"/proc/{self.popen.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1_024
        return 0.0

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> None:
        self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


@contextlib.contextmanager
def server() -> Iterator[tuple[Process, str]]:
    """`turnbuckle dev` on a fresh SQLite store and a free port; gives the process and its URL."""
    with tempfile.TemporaryDirectory(prefix="turnbuckle-bench-") as data:
        command = [sys.executable, "-m", "turnbuckle.cli", "dev", "--port", "0", "--data", data]
        popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process = Process(popen)
        try:
            assert popen.stdout is not None
            line = next(line for line in popen.stdout if line.startswith("listening on "))
            yield process, line.removeprefix("listening on ").strip()
        finally:
            process.stop()


@contextlib.contextmanager
def worker(url: str, concurrency: int = 32) -> Iterator[Process]:
    """A process that serves the workflows of bench/workflows.py."""
    process = start_worker(url, concurrency)
    try:
        yield process
    finally:
        process.stop()


def start_worker(url: str, concurrency: int = 32) -> Process:
    command = [sys.executable, str(_HERE / "workflows.py"), url, str(concurrency)]
    popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert popen.stdout is not None
    popen.stdout.readline()  # it says so when it serves
    return Process(popen)


def fsync_ms() -> float:
    """The median time of writing and syncing 4 KiB: the floor under every durable answer."""
    times = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(200):
            file.write(b"x" * 4_096)
            file.flush()
            begin = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return sorted(times)[100] * 1_000
