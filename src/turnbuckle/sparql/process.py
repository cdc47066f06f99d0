"""The server's end of one index process: start it, call it, kill it.

It inherits one socket and a bare environment: no keys, no settings. It ends when the socket closes, so also when the
server is killed.
"""

import asyncio
import itertools
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

from turnbuckle.sparql import frames as f

log = logging.getLogger("turnbuckle.sparql")
_START_S = 30.0  # until Hello; a busy machine may need seconds
_PASSED_ON = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
# One heap for each of its threads would use up its address space before any memory.
_SET = {"MALLOC_ARENA_MAX": "2"}


class ProcessEnded(Exception):
    """The process is gone, and with it the answers of its `open_calls`. `by_us`: it was killed for the sake of one."""

    def __init__(self, by_us: bool, open_calls: int = 0) -> None:
        super().__init__("the index process has ended")
        self.by_us = by_us
        self.open_calls = open_calls


class CannotStart(Exception):
    """No index process comes up here."""


class Process:
    """One process; made by `start`, on the loop that uses it."""

    def __init__(
        self, child: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._child = child
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[f.Answer]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._is_killed = False
        self.has_ended = False

    @classmethod
    async def start(cls, folder: Path, memory_bytes: int) -> "Process":
        """CannotStart when it does not say Hello."""
        child, ours = _spawn(folder, memory_bytes)
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        process = cls(child, reader, writer)
        try:
            hello = await asyncio.wait_for(f.read_reply(reader), _START_S)
        except TimeoutError:
            hello = None
        if hello is None or not isinstance(hello.answer, f.Hello):
            process.kill()
            raise CannotStart(f"the index process did not start (exit status {child.returncode})")
        if not hello.answer.is_confined:
            log.warning("this system cannot keep the index process from the network; SERVICE is refused by name alone")
        process._listening = asyncio.create_task(process._listen())
        return process

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, request: f.Request) -> tuple[int, asyncio.Future[f.Answer]]:
        """The call's number and its answer to come. ProcessEnded, at once or instead of the answer."""
        if self.has_ended:
            raise ProcessEnded(self._is_killed)
        number = next(self._numbers)
        answer: asyncio.Future[f.Answer] = asyncio.get_running_loop().create_future()
        if not isinstance(request, f.Cancel):
            self._open[number] = answer
        self._writer.write(f.pack(f.Call(number, request)))
        return number, answer

    async def call(self, request: f.Request) -> f.Answer:
        _, answer = self.send(request)
        await self._drain()
        return await answer

    def kill(self) -> None:
        """End it now, whatever it does. Its open calls get ProcessEnded."""
        self._is_killed = True
        self._child.kill()
        self._child.wait()  # a killed process takes no time to go
        self._end()
        if self._listening is not None:
            self._listening.cancel()

    async def _drain(self) -> None:
        """A large load waits here until the process has taken what was sent before."""
        try:
            await self._writer.drain()
        except ConnectionError:
            self._end()

    async def _listen(self) -> None:
        while (reply := await f.read_reply(self._reader)) is not None:
            answer = self._open.pop(reply.number, None)
            if answer is not None and not answer.done():
                answer.set_result(reply.answer)
        self._child.kill()  # it closed its end, or sent what nobody can read
        status = self._child.wait()
        if not self.has_ended:
            log.warning("the index process ended by itself (status %d); it is started again when needed", status)
        self._end()

    def _end(self) -> None:
        self.has_ended = True
        self._writer.transport.abort()
        lost = [answer for answer in self._open.values() if not answer.done()]
        self._open.clear()
        for answer in lost:
            answer.set_exception(ProcessEnded(self._is_killed, len(lost)))
            answer.exception()  # whoever waited may be gone: no complaint about that


def _spawn(folder: Path, memory_bytes: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The process, and the socket to it. Takes a millisecond or two."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        command = [sys.executable, "-m", "turnbuckle.sparql.child"]
        arguments = [str(theirs.fileno()), str(folder.absolute()), str(memory_bytes)]
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _SET
        pass_fds = (theirs.fileno(),)
        child = subprocess.Popen(command + arguments, pass_fds=pass_fds, stdin=subprocess.DEVNULL, env=environment)
    return child, ours
