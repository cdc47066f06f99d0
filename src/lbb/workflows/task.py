"""A claimed turn as the worker reads it from the answer to turns/claim (lbb-engine 3.12).

Read from plain dicts: building a Pydantic model for each turn would cost more than the rest of the worker.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lbb.workflows.errors import WorkflowError


@dataclass(frozen=True)
class Task:
    """What a worker needs to run one turn. It was parsed for this attempt alone, so nobody else holds its values."""

    workflow_type: str
    version: str
    workflow_id: str
    turn: int
    message_id: str
    message: Any
    state: Any
    token: str
    lease_ms: int
    effect_prefix: str
    steps: list[dict[str, Any]]  # the saved steps, in order
    origin: Any
    operation_key: str | None  # the step that an earlier attempt had begun, if any
    run_id: str
    results_max: int  # inputs kept whole in the run results; 0: the server takes none
    raw: dict[str, Any]  # the task as it came

    @property
    def name(self) -> str:
        """How messages name this turn: `review-1/3`."""
        return f"{self.workflow_id}/{self.turn}"

    @cached_property
    def lease_json(self) -> bytes:
        """The lease triple as the end of a body: the fields of a turn route's bodies are in alphabetical order."""
        return self.lease_json_with(b"")

    def lease_json_with(self, usage: bytes) -> bytes:
        """The same with `usage`, a member and its comma or nothing, at its place."""
        token, workflow_id = _written(self.token), _written(self.workflow_id)
        return b'"token":%b,"turn":%d,%b"workflow_id":%b}' % (token, self.turn, usage, workflow_id)


def read_task(answer: Any) -> Task | None:
    """The task of a claim's answer; None when nothing was ready.

    ValueError when the answer is no claim answer at all, WorkflowError when the task lacks what a worker insists on:
    the server and the claim loop are fine then, only this turn cannot be run.
    """
    if not isinstance(answer, dict):
        raise ValueError(f"the answer to turns/claim is no JSON object but {answer!r:.100}")
    found = answer.get("task")
    if found is None:
        return None
    task = _mapping(found, "task")
    turn = _mapping(task.get("turn"), "task.turn")
    return Task(
        workflow_type=_text(task, "workflow_type"),
        version=_text(turn, "version", "turn."),
        workflow_id=_text(turn, "workflow_id", "turn."),
        turn=_whole(turn, "number", "turn."),
        message_id=_text(turn, "message_id", "turn."),
        message=turn.get("message"),
        state=task.get("state"),
        token=_text(task, "token"),
        lease_ms=_whole(task, "lease_ms"),
        effect_prefix=_text(task, "effect_prefix"),
        steps=_steps(turn.get("steps")),
        origin=turn.get("origin"),
        operation_key=_part(turn.get("operation"), "key"),
        run_id=_part(turn.get("run"), "id") or "",
        results_max=_results_max(task.get("results_max")),
        raw=task,
    )


def _written(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _steps(found: Any) -> list[dict[str, Any]]:
    steps = [] if found is None else found
    if not isinstance(steps, list):
        raise WorkflowError(f"task.turn.steps is no list but {steps!r:.100}")
    for index, step in enumerate(steps):
        _text(_mapping(step, f"task.turn.steps[{index}]"), "key", f"turn.steps[{index}].")
    return steps


def _mapping(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise WorkflowError(f"{where} is no JSON object but {found!r:.100}")
    return found


def _text(holder: dict[str, Any], key: str, where: str = "") -> str:
    found = holder.get(key)
    if not isinstance(found, str):
        raise WorkflowError(f"task.{where}{key} is no text but {found!r:.100}")
    return found


def _whole(holder: dict[str, Any], key: str, where: str = "") -> int:
    found = holder.get(key)
    if not isinstance(found, int) or isinstance(found, bool):
        raise WorkflowError(f"task.{where}{key} is no whole number but {found!r:.100}")
    return found


def _part(found: Any, key: str) -> str | None:
    part = found.get(key) if isinstance(found, dict) else None
    return part if isinstance(part, str) else None


def _results_max(found: Any) -> int:
    is_count = isinstance(found, int) and not isinstance(found, bool)
    return found if is_count and found > 0 else 0
