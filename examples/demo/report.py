"""The demo's report: what was done, what was killed, what was sent again, and where to look."""

import shlex
import statistics
from pathlib import Path

from examples.demo.verdict import Facts
from rich.console import Console
from rich.table import Table


def show(console: Console, facts: Facts, violations: list[str], seconds: float) -> None:
    console.print()
    console.print(_figures(facts))
    console.print(_kills(facts))
    if violations:
        console.print(f"\n[bold red]{len(violations)} promises were broken:[/]")
        for text in violations:
            console.print(f"  - {text}", highlight=False, markup=False)
        return
    console.print(
        f"\n[bold green]Nothing was lost and nothing was saved twice[/], "
        f"in {seconds:.0f} s and {len(facts.kills)} kills.\n"
        "Every message was completed once and in order, every step has one effect id\n"
        "and one saved output, and the word counts are right.\n"
        f"{_resends_told(facts.resends)}",
        highlight=False,
    )


def _resends_told(resends: int) -> str:
    """The one thing a kill may do twice, and why it is no second effect."""
    if resends == 0:
        return "No kill came between an effect and its save, so none had to be sent again."
    return (
        f"{resends} effects were cut off before their save and sent again under the same effect id:\n"
        "a service that takes it as its idempotency key does them once."
    )


def where_to_look(console: Console, folder: Path, is_kept: bool) -> None:
    lines = ["[dim]`make demo ARGS=--keep` keeps the store, the effects and the outputs.[/]"]
    if is_kept:
        store = shlex.quote(str(folder / "store"))
        lines = [
            f"\nKept in {folder}: store/, ledger.jsonl (the effects) and each process's output. To look around:",
            f"  export LBB_API_KEY=$(.venv/bin/turnbuckle keys create --data {store})",
            f"  .venv/bin/turnbuckle serve --data {store} &",
            "  .venv/bin/turnbuckle instances",
            "  .venv/bin/turnbuckle runs docs.howto",
        ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _figures(facts: Facts) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    done = [turn for turn in facts.turns if turn.status == "completed"]
    ids = len({row.effect_id for row in facts.effects})
    resends = f"and {facts.resends} sent again, with the same id (limit {facts.resends_limit})"
    table.add_row("messages sent", str(len(facts.sent)), f"to {len(facts.counted)} instances")
    table.add_row(
        "turns completed", str(len(done)), f"one for each message; {sum(facts.words.values()):,} words counted"
    )
    table.add_row("steps run", str(len(facts.effects)), f"{len(facts.steps)} in each turn, some again after a kill")
    table.add_row("steps replayed", str(len(facts.rows) - len(facts.effects)), "answered from the store, not run again")
    table.add_row("effects", str(ids), resends)
    if facts.lost_without_a_kill:
        table.add_row(
            "leases lost", str(facts.lost_without_a_kill), "without a kill: heartbeats came late, a busy machine"
        )
    table.add_row("time per turn", *_times([turn.took_ms for turn in done]))
    return table


def _times(took_ms: list[int]) -> tuple[str, str]:
    if len(took_ms) < 2:
        return "", ""
    cuts = statistics.quantiles(took_ms, n=20, method="inclusive")
    return f"{cuts[9] / 1_000:.2f} s", f"p50; p95 {cuts[18] / 1_000:.2f} s, with the wait for a lost lease"


def _kills(facts: Facts) -> Table:
    table = Table(title="\nkilled with SIGKILL and started again", title_justify="left", box=None)
    for kill in facts.kills:
        places = ", ".join(f"{instance} #{turn}" for instance, turn in sorted(kill.in_flight))
        table.add_row(f"{kill.at_seconds:.1f} s", kill.what, f"turns in flight: {places or 'none'}")
    table.show_header = False
    return table
