"""The outside world of the fault suite: a service that is sent effects, and what handlers saw of their steps.

Two files of JSON lines. A line is one write in append mode, so what a killed process has sent stays sent, and processes
do not disturb each other. Effects are keyed by effect id: a second one under an id is a re-send, which a real service
would absorb.
"""

import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Place = tuple[str, int, str]  # instance, turn, step key


@dataclass(frozen=True)
class Effect:
    place: Place
    effect_id: str
    run: str  # one for each call of the step's function
    pid: int


@dataclass(frozen=True)
class Output:
    """What a handler got from a step, run or replayed."""

    place: Place
    run: str  # whose output it was


class Sink:
    def __init__(self, folder: Path) -> None:
        self._effects = folder / "effects.jsonl"
        self._outputs = folder / "outputs.jsonl"

    def send(self, place: Place, effect_id: str) -> str:
        """Do the effect. A name for this one call of the step function, to be its output."""
        run = uuid.uuid4().hex
        _append(self._effects, {"place": place, "effect_id": effect_id, "run": run, "pid": os.getpid()})
        return run

    def saw(self, place: Place, run: str) -> None:
        _append(self._outputs, {"place": place, "run": run})

    def effects(self) -> list[Effect]:
        rows = _lines(self._effects)
        return [Effect(_place(row), row["effect_id"], row["run"], row["pid"]) for row in rows]

    def outputs(self) -> list[Output]:
        return [Output(_place(row), row["run"]) for row in _lines(self._outputs)]

    def times_sent(self, place: Place) -> int:
        """How often a step has sent its effect, under whatever id."""
        return sum(effect.place == place for effect in self.effects())


@dataclass(frozen=True)
class Count:
    """What once means, in numbers (decision 1)."""

    steps: int
    resends: int
    with_two_effect_ids: int
    with_two_outputs: int


def count(effects: list[Effect], outputs: list[Output], saved: dict[Place, str] | None = None) -> Count:
    """`saved` adds what the store holds for each step, which must be what every handler saw."""
    ids: dict[Place, set[str]] = {}
    for effect in effects:
        ids.setdefault(effect.place, set()).add(effect.effect_id)
    seen: dict[Place, set[str]] = {place: {run} for place, run in (saved or {}).items()}
    for output in outputs:
        seen.setdefault(output.place, set()).add(output.run)
    return Count(
        steps=len(ids),
        resends=len(effects) - len({effect.effect_id for effect in effects}),
        with_two_effect_ids=sum(len(found) > 1 for found in ids.values()),
        with_two_outputs=sum(len(found) > 1 for found in seen.values()),
    )


def _append(path: Path, row: dict[str, Any]) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, json.dumps(row).encode() + b"\n")
    finally:
        os.close(file)


def _lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines only: another process may be writing."""
    if not path.exists():
        return []
    *lines, _ = path.read_text().split("\n")
    return [json.loads(line) for line in lines]


def _place(row: dict[str, Any]) -> Place:
    instance, turn, step = row["place"]
    return instance, turn, step
