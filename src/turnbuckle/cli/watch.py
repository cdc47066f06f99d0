"""`turnbuckle watch`: what runs, waits and failed, live in the terminal."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from turnbuckle.cli.api import Api, of_server
from turnbuckle.cli.failure import Failure
from turnbuckle.cli.instances import STYLES, every
from turnbuckle.cli.output import console, plain, print_json, table
from turnbuckle.cli.words import age, amount, clock, heard_ms, is_silent, why

_SECTIONS = ("running", "failed", "waiting", "queued", "paused")  # idle instances are counted only
_KEPT = 200  # instances of a status that are kept; all are counted
_BAR_WIDTH = 20
_HEAD_LINES = 2
_LINES_PER_SECTION = 4  # a blank line, the title, the table's head, and what does not fit


@dataclass
class Snapshot:
    """The instances of a graph at one moment: how many are in each status, and the first of each by id."""

    served: Any
    counts: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[Any]] = field(default_factory=lambda: {status: [] for status in _SECTIONS})

    @property
    def now_ms(self) -> int:
        """The server's time, so that ages are right where this machine's clock is not."""
        now_ms: int = self.served["now_ms"]
        return now_ms

    def add(self, one: Any) -> None:
        self.counts[one["status"]] += 1
        kept = self.shown.get(one["status"])
        if kept is not None and len(kept) < _KEPT:
            kept.append(one)


@click.command()
@click.option("--interval", type=click.FloatRange(0.1), default=1.0, show_default=True, help="Seconds between looks.")
@click.option("--once", is_flag=True, help="Print what is there now and end, as where the output is no terminal.")
@of_server
def watch(api: Api, interval: float, once: bool, as_json: bool) -> None:
    """Show live what runs, waits and failed. Ctrl-C ends it."""
    snapshot = look(api)
    if as_json:
        print_json({"now_ms": snapshot.now_ms, "counts": snapshot.counts, **snapshot.shown})
    elif once or not sys.stdout.isatty():
        console().print(view(snapshot))
    else:
        _live(api, interval, snapshot)


def look(api: Api) -> Snapshot:
    """All instances, a page at a time, without the values that users put in."""
    snapshot = Snapshot(api.get("served").data)
    for one in every(api):
        snapshot.add(one)
    return snapshot


def _live(api: Api, interval_s: float, snapshot: Snapshot) -> None:
    out, trouble = console(), None
    try:
        with Live(console=out, screen=True, auto_refresh=False) as live:
            while True:
                live.update(view(snapshot, out.height, trouble), refresh=True)
                time.sleep(interval_s)
                began = time.monotonic()
                try:
                    snapshot, trouble = look(api), None
                except Failure as failure:  # a server that restarts comes back
                    trouble = failure.message
                # Many pages take long (10,000 instances 2 s): the server has twice as long without us.
                time.sleep(max(0.0, 2 * (time.monotonic() - began) - interval_s))
    except KeyboardInterrupt:
        out.print(view(snapshot, out.height))


# -- the picture -------------------------------------------------------------------------------------------------


def view(snapshot: Snapshot, height: int | None = None, trouble: str | None = None) -> RenderableType:
    """The whole picture in at most `height` lines; None: as long as it gets."""
    parts: list[RenderableType] = [_head(snapshot) if trouble is None else Text(plain(trouble), style="bold red")]
    sections = [status for status in _SECTIONS if snapshot.shown[status]]
    for status, lines in zip(sections, _share(height, [len(snapshot.shown[one]) for one in sections]), strict=True):
        found, total = snapshot.shown[status][:lines], snapshot.counts[status]
        parts += [Text(), Text(status, style=f"bold {STYLES[status]}"), _section(status, found, snapshot)]
        if total > len(found):
            parts.append(Text(f"and {total - len(found):,} more", style="dim"))
    return Group(*parts)


def _head(snapshot: Snapshot) -> Text:
    counts = (
        Text(f"{snapshot.counts[status]:,} {status}", style=STYLES[status] if snapshot.counts[status] else "dim")
        for status in (*_SECTIONS, "idle")
    )
    return Text.assemble(clock(snapshot.now_ms, snapshot.now_ms), "  ", Text("  ").join(counts))


def _share(height: int | None, wanted: list[int]) -> list[int]:
    """Lines for each section: none gets more than it wants, and what one leaves the others have."""
    if height is None or not wanted:
        return wanted
    left = max(len(wanted), height - _HEAD_LINES - _LINES_PER_SECTION * len(wanted))
    given = [0] * len(wanted)
    for index in sorted(range(len(wanted)), key=lambda index: wanted[index]):
        sections_left = sum(1 for lines in given if lines == 0)
        given[index] = min(wanted[index], max(1, left // sections_left))
        left -= given[index]
    return given


def _section(status: str, found: list[Any], snapshot: Snapshot) -> Table:
    if status == "running":
        head = ("instance", "turn", "worker", "step", "for", "", "progress", "sign of life")
        return table(head, (_running(one, snapshot.now_ms) for one in found), long="progress", is_cut=True)
    rows = ((one["id"], why(one, snapshot.served)) for one in found)
    return table(("instance", "what"), rows, long="what", is_cut=True)


def _running(one: Any, now_ms: int) -> Iterator[RenderableType]:
    turn = one["current_turn"]
    operation = turn.get("operation")
    yield one["id"]
    yield str(turn["number"])
    yield turn["worker"]
    yield "between steps" if operation is None else operation["key"]
    yield age(now_ms - (turn["run"] if operation is None else operation)["started_at_ms"])
    yield _bar(turn)
    yield "" if turn.get("progress") is None else f"{amount(turn['progress'])}, {_told(operation, now_ms)}"
    yield (
        Text("none since " + clock(heard_ms(one), now_ms), style="red")
        if is_silent(one, now_ms)
        else _seen(one, now_ms)
    )


def _seen(one: Any, now_ms: int) -> str:
    return f"{age(now_ms - heard_ms(one))} ago"


def _bar(turn: Any) -> RenderableType:
    progress = turn.get("progress")
    if progress is None or not progress.get("total"):
        return ""
    return ProgressBar(total=progress["total"], completed=progress["done"], width=_BAR_WIDTH)


def _told(operation: Any, now_ms: int) -> str:
    return f"{age(now_ms - operation['last_heartbeat_ms'])} ago"
