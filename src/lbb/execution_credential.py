"""The credential a held turn reads with, and what must hold before it is used (lbb-engine 5.12). No I/O."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from lbb.wire_json import wire_value

MAX_READ_SECONDS = 30.0
MAX_LIFE_MS = 60_000
READ_FIELDS = frozenset({"query", "cursor", "as_of_commit_seq", "limit", "offset", "entailment", "profile"})

_TOKEN = re.compile(r"lbb_wke_[A-Za-z0-9._-]+")
_EPOCH = re.compile(r"0|[1-9][0-9]{0,19}")
_EPOCH_MAX = 2**64 - 1


class WorkflowExecutionError(ValueError):
    """A read as the turn that cannot be made, now or later: permanent for the turn."""


@dataclass(frozen=True, slots=True)
class HeldTurn:
    """What a credential must be for, and the lease that asks for a new one."""

    workflow_id: str
    turn: int
    attempt: int
    run_id: str
    token: str

    @property
    def lease(self) -> dict[str, Any]:
        return {"workflow_id": self.workflow_id, "turn": self.turn, "token": self.token}


@dataclass(frozen=True, slots=True)
class Credential:
    token: str
    graph: str
    graph_epoch: str
    issued_at_ms: int | None
    expires_at_ms: int

    @property
    def life_seconds(self) -> float:
        """RuntimeError when the server does not say when it was issued: then its life cannot be counted."""
        if self.issued_at_ms is None:
            raise RuntimeError("the server gives execution credentials without issued_at_ms; it must be upgraded")
        return (self.expires_at_ms - self.issued_at_ms) / 1000

    @property
    def query(self) -> dict[str, str]:
        return {"graph": self.graph, "expected_graph_epoch": self.graph_epoch}


def read_task(task: Any) -> tuple[HeldTurn, Credential]:
    """The turn and its first credential, of a claim's task (a mapping, or a model of `lbb.models`)."""
    task = wire_value(task) if isinstance(task, BaseModel) else task
    try:
        turn = task["turn"]
        held = HeldTurn(turn["workflow_id"], turn["number"], turn["attempt"], turn["run"]["id"], task["token"])
        given = task["execution_credential"]
    except (KeyError, TypeError) as exc:
        raise WorkflowExecutionError(f"the task has no execution credential to read with: {exc!r}") from exc
    return held, read_credential(given, held)


def read_credential(given: Any, held: HeldTurn) -> Credential:
    """WorkflowExecutionError naming the first field that is not as it must be."""
    if not isinstance(given, Mapping):
        raise WorkflowExecutionError(f"the execution credential is no object, got {type(given).__name__}")
    _expect(given, "token", "lbb_wke_...", lambda v: isinstance(v, str) and bool(_TOKEN.fullmatch(v)))
    _expect(given, "graph_id", "a graph's name", lambda v: isinstance(v, str) and v != "")
    _expect(given, "graph_epoch", "an unsigned 64-bit number as text", _is_epoch)
    _expect(given, "expires_at_ms", "a positive integer", lambda v: _is_int(v) and v > 0)
    _expect(given, "operations", '["sparql_read"]', lambda v: v == ["sparql_read"])
    for field in ("workflow_id", "turn", "attempt", "run_id"):
        own = getattr(held, field)
        _expect(given, field, f"{own!r}, as the task says", _equals(own))
    if given.get("issued_at_ms") is not None:
        _expect(given, "issued_at_ms", f"at most {MAX_LIFE_MS} ms before expires_at_ms", _lives_before(given))
    return Credential(
        given["token"], given["graph_id"], given["graph_epoch"], given.get("issued_at_ms"), given["expires_at_ms"]
    )


def check_same_graph(old: Credential, new: Credential) -> None:
    """A refreshed credential must not move the turn's reads to another graph."""
    if new.query != old.query:
        raise WorkflowExecutionError(f"the refreshed credential is for {new.query}, the turn's is for {old.query}")


def read_body(request: Any) -> dict[str, Any]:
    """The body of a read: only `READ_FIELDS` may be asked for."""
    body = wire_value(request)
    if not isinstance(body, dict):
        raise WorkflowExecutionError(f"a read is a mapping such as {{'query': ...}}, got {type(request).__name__}")
    if unknown := body.keys() - READ_FIELDS:
        raise WorkflowExecutionError(f"a read takes {sorted(READ_FIELDS)}, got {sorted(map(str, unknown))}")
    return body


def read_timeout(seconds: float) -> float:
    if not (math.isfinite(seconds) and 0 < seconds <= MAX_READ_SECONDS):
        raise WorkflowExecutionError(f"a read's timeout is above 0 and at most {MAX_READ_SECONDS} s, got {seconds!r}")
    return seconds


def _expect(given: Mapping[str, Any], field: str, expected: str, holds: Callable[[Any], object]) -> None:
    if not holds(given.get(field)):
        got = "another value" if field == "token" else repr(given.get(field))
        raise WorkflowExecutionError(f"execution credential: {field} must be {expected}, got {got}")


def _equals(own: Any) -> Callable[[Any], bool]:
    return lambda value: type(value) is type(own) and value == own


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_epoch(value: Any) -> bool:
    return isinstance(value, str) and bool(_EPOCH.fullmatch(value)) and int(value) <= _EPOCH_MAX


def _lives_before(given: Mapping[str, Any]) -> Callable[[Any], bool]:
    return lambda issued: _is_int(issued) and 0 < given["expires_at_ms"] - issued <= MAX_LIFE_MS
