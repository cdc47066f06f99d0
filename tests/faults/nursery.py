"""A process that forks the servers and workers of the fault suite: `python -m tests.faults.nursery`.

Everything they need is imported before the first fork, so a start costs 20 ms instead of most of a second, and a run
of hundreds of kills spends its time on what is killed. Each child is a process like any other: its own pid, its own
main thread, its own exit. It stays single-threaded itself, which is what makes forking safe.

Orders come as lines of JSON on stdin, news go as lines of JSON to stdout. When stdin closes, however the test process
ended, all children are killed.
"""

import json
import os
import selectors
import signal
import sys
import time
from typing import Any

from tests.faults import roles

_STDIN, _STDOUT = 0, 1


class _Child(Exception):
    """Raised in a child, so that it runs its role with nothing of the nursery on the stack."""


def nurse() -> None:
    """Fork what is ordered, tell what ended, until stdin closes."""
    children: set[int] = set()
    died, told = os.pipe()
    os.set_blocking(told, False)
    os.set_blocking(died, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(_STDIN, selectors.EVENT_READ)
    selector.register(died, selectors.EVENT_READ)
    try:
        _listen(selector, died, children)
    finally:  # also in a child, before it opens anything: a number closed later might be another file's by then
        signal.set_wakeup_fd(-1)
        selector.close()
        os.close(died)
        os.close(told)


def _listen(selector: selectors.DefaultSelector, died: int, children: set[int]) -> None:
    orders = b""
    while True:
        ready = {key.fd for key, _ in selector.select()}
        if died in ready:
            os.read(died, 4_096)
        for pid, code in _ended():
            children.discard(pid)
            _tell(ended=pid, code=code)
        if _STDIN in ready:
            piece = os.read(_STDIN, 65_536)
            if not piece:
                _kill(children)
                return
            *lines, orders = (orders + piece).split(b"\n")
            for line in lines:
                pid = _fork(json.loads(line))
                children.add(pid)


def _ended() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found.append((pid, os.waitstatus_to_exitcode(status)))


def _fork(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        raise _Child(order)
    _tell(started=order["order"], pid=pid)
    return pid


def _tell(**news: Any) -> None:
    os.write(_STDOUT, json.dumps(news).encode() + b"\n")


def _kill(children: set[int]) -> None:
    for pid in children:
        os.kill(pid, signal.SIGKILL)  # not reaped yet, so the pid is still theirs
        os.waitpid(pid, 0)


def _become(order: dict[str, Any]) -> None:
    """A process of its own: default signals, its own output file and environment."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(old, new)
    os.close(output)
    os.close(nothing)
    os.environ.update(order["env"])
    time.tzset()


if __name__ == "__main__":
    try:
        nurse()
    except _Child as child:
        ordered = child.args[0]
    else:
        sys.exit()
    _become(ordered)
    roles.ROLES[ordered["role"]](**ordered["options"])
