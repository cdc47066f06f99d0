"""The steps of a turn as a table: what is saved, and what runs now."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from turnbuckle.cli.output import compact, table
from turnbuckle.cli.words import age, amount, clock

_VALUE_WIDTH = 200


def print_steps(out: Console, turn: Any, now_ms: int) -> None:
    """Nothing for a turn that has none; `turn` is as the API answers it, or None."""
    if turn is not None and (turn["steps"] or turn.get("operation")):
        out.print(table(("step", "kind", "saved", "what"), _rows(turn, now_ms), long="what"))


def _rows(turn: Any, now_ms: int) -> Iterator[tuple[str, str, str, str]]:
    for step in turn["steps"]:
        yield step["key"], step["kind"], clock(step["at_ms"], now_ms), _what(step, turn, now_ms)
    operation = turn.get("operation")
    if operation is not None:
        since = f"runs since {clock(operation['started_at_ms'], now_ms)}, attempt {operation['attempt']}"
        yield operation["key"], operation["kind"], "-", f"{since}{_progress(turn, now_ms)}"


def _what(step: Any, turn: Any, now_ms: int) -> str:
    is_open = (
        step is turn["steps"][-1] and turn["status"] == "waiting" and step.get("wake_at_ms") == turn["ready_at_ms"]
    )
    until = f"until {clock(step['wake_at_ms'], now_ms)}" if step.get("wake_at_ms") is not None else ""
    if step["kind"] == "sleep":
        return f"sleeps {until}" if is_open else f"slept {age(step['delay_ms'])}"
    if is_open:
        return f'waits for signal "{step["signal_name"]}" {until}'
    return compact(step["output"], _VALUE_WIDTH)


def _progress(turn: Any, now_ms: int) -> str:
    progress = turn.get("progress")
    if progress is None:
        return ""
    silence_ms = now_ms - turn["operation"]["last_heartbeat_ms"]
    return f"; {amount(progress)}, told {age(silence_ms)} ago"
