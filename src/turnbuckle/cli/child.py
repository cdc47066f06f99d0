"""A process that runs beside this one, with its lines shown under a name."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Self

import click

from turnbuckle.cli.output import plain

_LINE_BYTES = 1 << 20
_LAST_LINES_S = 1.0


class Child:
    """Start it with `start`; whoever does also stops it."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, seen: Callable[[str], None] | None) -> None:
        self._name = name
        self._process = process
        self._lines = asyncio.create_task(self._show(seen))

    @classmethod
    async def start(
        cls, name: str, command: list[str], env: Mapping[str, str], seen: Callable[[str], None] | None = None
    ) -> Self:
        """`seen` is told each line. In a session of its own, so that Ctrl-C comes here alone and the order of ends is
        chosen here."""
        process = await asyncio.create_subprocess_exec(
            *command,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            limit=_LINE_BYTES,
        )
        return cls(name, process, seen)

    async def wait(self) -> int:
        """Its exit code, when it has ended and its last lines are shown. Minus the signal that ended it."""
        code = await self._process.wait()
        await asyncio.wait([self._lines], timeout=_LAST_LINES_S)  # what it started may hold the pipe open
        self._lines.cancel()
        return code

    async def stop(self, *asking: tuple[int, float]) -> None:
        """Ask it to end by these signals, each with the seconds it gets; then end it with all it started."""
        for number, seconds in asking:
            if self._process.returncode is not None:
                break
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), seconds)
        if self._process.returncode is None:
            say(f"{self._name} does not end; it is killed")
            self.kill()
        await self.wait()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _show(self, seen: Callable[[str], None] | None) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # a line longer than _LINE_BYTES is left out
                continue
            if not line:
                return
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            click.echo(f"{self._name:>6} | {plain(text)}")
            if seen is not None:
                seen(text)


def say(text: str) -> None:
    """A line of our own among those of the children."""
    click.echo(f"{'dev':>6} | {text}")
