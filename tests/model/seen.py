"""What the reference model's instances and turns look like on the wire, and where an answer differs from that.

`error` may be a tuple of sentences: the real text begins with one of them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Shown = dict[str, Any]
HELD, OPEN, FAILED, COMPLETED, CANCELLED = "held", "open", "failed", "completed", "cancelled"


@dataclass
class Turn:
    number: int
    message_id: str
    message: str
    origin: Shown | None
    created_at_ms: int
    ready_at_ms: int
    phase: str = OPEN
    wait: str | None = None  # why an open turn is not claimed before ready_at_ms: sleep, signal, deferred, retry
    attempt: int = 0
    counts: bool = True  # whether the next claim is a new attempt
    failures: int = 0
    worker: str = ""
    token: str | None = None
    lease_end_ms: int = 0
    prefix: str | None = None
    steps: list[Shown] = field(default_factory=list)
    identities: list[tuple[Any, ...]] = field(default_factory=list)  # of the steps: what makes a repeat the same
    operation: Shown | None = None
    progress: Shown | None = None  # the operation's last typed one
    cursor: tuple[str, str] | None = None  # key and resume cursor of the step that is not saved yet
    signals: list[Shown] = field(default_factory=list)
    error: str | tuple[str, ...] | None = None
    deferred_at_ms: int | None = None
    run: Shown | None = None
    completion: Any = None
    result: str = "null"
    state_after: str = "null"
    continued_to: int | None = None
    finished_at_ms: int | None = None

    def status(self, now_ms: int) -> str:
        if self.phase == OPEN:
            return "waiting" if self.ready_at_ms > now_ms else "queued"
        return "running" if self.phase == HELD else self.phase

    def show(self, version: str, workflow_id: str, now_ms: int) -> Shown:
        shown: Shown = {
            "workflow_id": workflow_id,
            "number": self.number,
            "message_id": self.message_id,
            "message": json.loads(self.message),
            "origin": self.origin,
            "version": version,
            "status": self.status(now_ms),
            "attempt": self.attempt,
            "worker": self.worker if self.phase == HELD else None,
            "deadline_ms": self.lease_end_ms if self.phase == HELD else None,
            "created_at_ms": self.created_at_ms,
            "finished_at_ms": self.finished_at_ms,
            "steps": [dict(step) for step in self.steps],
            "operation": self.operation
            and self.operation | {"checkpoint": json.loads((self.cursor or ("", "null"))[1])},
            "progress": self.progress,
            "signals": [dict(signal) for signal in self.signals] or None,
            "wait": None,
            "error": self.error,
            "result": json.loads(self.result),
            "state_after": json.loads(self.state_after),
            "continued_to": self.continued_to,
            "run": self.run and dict(self.run),
        }
        if self.phase == OPEN:
            shown["ready_at_ms"] = self.ready_at_ms
        if self.wait == "deferred":
            shown["wait"] = {"since_ms": self.deferred_at_ms, "until_ms": self.ready_at_ms}
        if self.wait == "signal" and self.ready_at_ms > now_ms:
            shown["steps"][-1]["output"] = None
        return shown


@dataclass
class Instance:
    id: str
    workflow_type: str
    version: str
    lease_ms: int
    max_attempts: int
    on_exhausted: str
    state: str
    request: tuple[Any, ...]
    created_at_ms: int
    turns: dict[int, Turn] = field(default_factory=dict)  # without the pruned ones
    ids: dict[str, tuple[int, str]] = field(default_factory=dict)  # a message id's turn and canonical message
    paused: bool = False
    last: int = 0
    pruned: int = 0
    completed: int = 0
    passed_over_at_ms: int | None = None  # when time alone let the last failed turn go

    @property
    def pending(self) -> list[Turn]:
        return [turn for turn in self.turns.values() if turn.finished_at_ms is None]

    @property
    def head(self) -> Turn | None:
        return min(self.pending, key=lambda turn: turn.number, default=None)

    def show_turn(self, turn: Turn, now_ms: int) -> Shown:
        return turn.show(self.version, self.id, now_ms)

    def show(self, now_ms: int) -> Shown:
        head = self.head
        status = "idle" if head is None else head.status(now_ms)
        return {
            "id": self.id,
            "workflow_type": self.workflow_type,
            "version": self.version,
            "state": json.loads(self.state),
            "status": "paused" if self.paused else status,
            "on_exhausted": "skip" if self.on_exhausted == "skip" else None,  # absent while it is block
            "pending_messages": len(self.pending),
            "completed_turns": self.completed,
            "current_turn": None if head is None else self.show_turn(head, now_ms),
            "progress": None if head is None else head.progress,
            "history_through": self.last if head is None else head.number - 1,
            "history_pruned_through": self.pruned or None,
            "created_at_ms": self.created_at_ms,
        }


def differences(shown: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Where an answer is not as expected. Fields the reference does not know are not looked at."""
    if isinstance(expected, dict) and isinstance(shown, dict):
        for name, value in expected.items():
            yield from differences(shown.get(name), value, f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(shown, list) and len(expected) == len(shown):
        for index, (one, other) in enumerate(zip(shown, expected, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif isinstance(expected, tuple):
        if not str(shown).startswith(expected):
            yield f"{path}: got {shown!r}, expected one of {expected}"
    elif shown != expected or type(shown) is not type(expected):
        yield f"{path}: got {shown!r}, expected {expected!r}"
