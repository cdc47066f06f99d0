"""`turnbuckle dev --worker` as a process: server and worker come, are restarted, and go together."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.dev_process import Dev

pytestmark = pytest.mark.slow

TOY = """
import os, sys, time

command = sys.argv[1]
if command == "try":
    {on_try}
try:
    print(f"{version} starts, process {{os.getpid()}}, graph {{os.environ['LBB_GRAPH']}}")
    {on_start}
except KeyboardInterrupt:
    print("{version} gives back what it holds")
"""
WAITS = "time.sleep(600)"
HAS_NO_TRY = "sys.exit(2)"
Start = Callable[..., Dev]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_toy(tmp_path)
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts `turnbuckle dev` with these words; it ends with the test."""
    started: list[Dev] = []

    def start(*words: str) -> Dev:
        started.append(Dev(folder, *words))
        return started[-1]

    yield start
    for dev in started:
        dev.end()


def write_toy(folder: Path, version: str = "v1", on_try: str = HAS_NO_TRY, on_start: str = WAITS) -> None:
    """A module `toy` with the command `start`, which waits, and perhaps `try`."""
    text = TOY.format(version=version, on_try=on_try, on_start=on_start)
    (folder / "toy.py").write_text(text, "utf-8")


def server_of(dev: Dev) -> int:
    """The process id of its server: the child that is not the worker."""
    pid = dev.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()
    (server,) = [child for child in children if "turnbuckle" in Path(f"/proc/{child}/cmdline").read_text("utf-8")]
    return int(server)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_the_worker_then_the_server(folder: Path, start: Start, number: int) -> None:
    dev = start("--worker", "python:toy", "--port", "0")
    address = dev.until(r"dev \| server (http://\S+), key lbb_sk_test_local")[1]
    worker = int(dev.until(r"worker \| v1 starts, process (\d+), graph main")[1])

    code = dev.end(number)

    assert code == 0
    dev.until(r"worker \| v1 gives back")
    dev.until(r"server \| .*stopped, the store is closed")
    assert not is_there(worker)
    with (
        pytest.raises(ConnectionRefusedError),
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))),
    ):
        pass


def test_a_change_of_its_file_starts_the_worker_again(folder: Path, start: Start) -> None:
    dev = start("--worker", "toy", "--port", "0")
    dev.until("v1 starts")

    write_toy(folder, "v2")

    dev.until(r"dev \| changed: toy.py")
    dev.until("v1 gives back")
    dev.until("v2 starts")


def test_samples_are_put_before_the_worker_starts_and_again_after_a_change(folder: Path, start: Start) -> None:
    write_toy(folder, on_try="sys.exit(print('samples of v1'))")
    dev = start("--worker", "toy", "--port", "0")

    dev.until("samples of v1")
    dev.until("v1 starts, .* graph try-toy")
    write_toy(folder, "v2", on_try="sys.exit(print('samples of v2'))")
    dev.until("samples of v2")
    dev.until("v2 starts")

    assert dev.end() == 0


def test_a_worker_that_crashes_is_shown_and_started_again_later_each_time(folder: Path, start: Start) -> None:
    write_toy(folder, on_start="raise OSError('no such printer')")
    dev = start("--worker", "toy", "--port", "0")

    dev.until("OSError: no such printer")
    dev.until(r"the worker ended with 1; again in 1 s")
    dev.until("v1 starts")
    dev.until(r"the worker ended with 1; again in 2 s")
    write_toy(folder, "v2")  # a change does not wait
    dev.until("v2 starts")

    assert dev.end() == 0


def test_samples_that_fail_hold_the_worker_back(folder: Path, start: Start) -> None:
    write_toy(folder, on_try="sys.exit('the ontology is wrong')")
    dev = start("--worker", "toy", "--port", "0")

    dev.until("the ontology is wrong")
    dev.until(r"try ended with 1; again in 1 s")
    write_toy(folder, "v2", on_try="sys.exit(0)")
    dev.until("v2 starts")

    assert not any("v1 starts" in line for line in dev.said)
    assert dev.end() == 0


def test_a_graph_can_be_named(folder: Path, start: Start) -> None:
    dev = start("--worker", "toy", "--port", "0", "--graph", "shop")

    dev.until("v1 starts, .* graph shop")

    assert dev.end() == 0


def test_a_server_that_cannot_start_ends_the_command_with_its_reason(folder: Path, start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        dev = start("--worker", "toy", "--port", str(port))

        dev.until(f"another program listens on 127.0.0.1:{port}")

        assert dev.ended() == 1


def test_a_server_that_dies_takes_the_worker_along(folder: Path, start: Start) -> None:
    dev = start("--worker", "toy", "--port", "0")
    worker = int(dev.until(r"v1 starts, process (\d+)")[1])
    server = server_of(dev)

    os.kill(server, signal.SIGKILL)

    assert dev.ended() != 0
    assert not is_there(worker)


def test_a_worker_that_is_not_there_is_told_before_anything_starts(folder: Path, start: Start) -> None:
    dev = start("--worker", "nobody", "--port", "0")

    assert dev.ended() == 1
    dev.until("turnbuckle: there is no module nobody in this folder")
    assert not (folder / "data").exists()
