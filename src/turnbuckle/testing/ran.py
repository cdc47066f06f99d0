"""What a run did, as its requests told."""

from dataclasses import dataclass, field
from typing import Any


class EndlessRun(AssertionError):
    """A run took more turns than the test allows: a workflow that continues, or is tried again, for ever."""


@dataclass
class Ran:
    """What `Engine.run` did. Only step functions are named: a sleep or a wait for a signal runs nothing."""

    turns: int = 0  # claims: a turn counts again after a sleep, a wait, a failed attempt and a crash
    steps_run: list[str] = field(default_factory=list)  # keys, in order, also of functions that raised
    steps_replayed: list[str] = field(default_factory=list)  # keys of the saved steps that the claimed turns brought
    errors: list[str] = field(default_factory=list)  # of failed attempts, as the server was told
    crashes: int = 0  # workers that died as the test asked

    def note(self, route: str, sent: dict[str, Any], answer: dict[str, Any]) -> None:
        """An answered request of the worker."""
        match route:
            case "turns/claim" if answer["task"] is not None:
                self.turns += 1
                saved = answer["task"]["turn"]["steps"]
                self.steps_replayed += [step["key"] for step in saved if step["kind"] == "step"]
            case "turns/operation":
                self.steps_run.append(sent["key"])
            case "turns/fail" if sent.get("retry_at_ms") is None:
                self.errors.append(sent["error"])
