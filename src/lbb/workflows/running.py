"""The turns that run in this process, and which of them a model call belongs to (lbb-engine 5.11).

A call names its turn by its effect id; without one it belongs to the turn of the current task, or to the only turn.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from lbb.workflows.results import RunResultsCollector
from lbb.workflows.task import Task
from lbb.workflows.usage import TurnUsage

INSTANCE_CHARS = 512


@dataclass(eq=False, slots=True)
class RunningTurn:
    """One attempt as its model calls, reviews and writes see it."""

    task: Task
    results: RunResultsCollector | None  # None when the server takes no run results
    usage: TurnUsage = field(default_factory=TurnUsage)
    step_keys: list[str] = field(default_factory=list)  # of the steps whose function ran in this attempt

    def step_of(self, effect_id: str | None) -> str | None:
        """The step a call was made in: its effect id, or the longest one followed by `.` or `:` that starts the id."""
        prefix = self.task.effect_prefix + "/"
        if effect_id is None or not effect_id.startswith(prefix):
            return None
        called = effect_id[len(prefix) :]
        matching = [key for key in self.step_keys if called == key or called.startswith((f"{key}.", f"{key}:"))]
        return max(matching, key=len, default=None)

    def call_mark(self, effect_id: str | None = None, instance: str | None = None) -> dict[str, Any]:
        """The field `workflow` of a model call: `{identity, turn, run_id?, step?, instance?}`."""
        mark: dict[str, Any] = {"identity": self.task.workflow_id, "turn": self.task.turn}
        shown = instance and instance[:INSTANCE_CHARS]
        optional = {"run_id": self.task.run_id or None, "step": self.step_of(effect_id), "instance": shown}
        return mark | {name: value for name, value in optional.items() if value is not None}


current_turn: ContextVar[RunningTurn | None] = ContextVar("lbb_current_turn", default=None)

_running: dict[str, RunningTurn] = {}  # by effect prefix


def enter(turn: RunningTurn) -> None:
    _running[turn.task.effect_prefix] = turn


def leave(turn: RunningTurn) -> None:
    if _running.get(turn.task.effect_prefix) is turn:
        del _running[turn.task.effect_prefix]


def running_turns() -> list[RunningTurn]:
    return list(_running.values())


def turn_of_call(effect_id: str | None) -> RunningTurn | None:
    """The running turn that a call with this effect id, or without one, belongs to."""
    if effect_id is not None and (named := _running.get(effect_id.partition("/")[0])) is not None:
        return named
    if (current := current_turn.get()) is not None:
        return current
    turns = running_turns()
    return turns[0] if len(turns) == 1 else None
