"""One execution as the server tells the runner about it, with its document read and wired."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from turnbuckle.hub import document as documents
from turnbuckle.hub.position import Fault, Outcome
from turnbuckle.hub.wiring import Wiring

_WIRINGS: Final = 32  # documents that a worker keeps read


@dataclass(frozen=True)
class RunInfo:
    execution_id: str
    execution: dict[str, Any]
    definition: dict[str, Any]  # id, alias, revision_id
    blob: dict[str, Any]
    session: dict[str, Any]
    wiring: Wiring
    input_data: list[tuple[str, Any]]
    pause_before: tuple[str, ...]
    is_dry_run: bool
    pins: dict[str, Any]  # component key -> the kept `data` of a run that this one was forked from

    @property
    def revision_id(self) -> str:
        """Where the run lives: that of its session."""
        return str(self.execution["revision_id"])

    @property
    def session_id(self) -> str:
        return str(self.execution["session_id"])


def read(answer: dict[str, Any]) -> RunInfo | None:
    """None when there is nothing to run: the definition is gone, or the run ended before it began."""
    execution = answer["execution"]
    if answer["definition_object"] is None:
        return None
    return RunInfo(
        execution_id=execution["id"],
        execution=execution,
        definition=answer["definition"],
        blob=answer.get("blob") or {},
        session=answer.get("session") or {},
        wiring=_wired(execution["document_sha256"], answer["definition_object"]),
        input_data=[(given["alias"], given["value"]) for given in answer["input_data"]],
        pause_before=tuple(answer.get("pause_before") or ()),
        is_dry_run=bool(answer.get("dry_run")),
        pins=_pins(answer.get("pins") or [], answer.get("fork")),
    )


class _Document:
    """Equal by its hash alone, so that a document is read once."""

    def __init__(self, sha256: str, content: Any) -> None:
        self.sha256 = sha256
        self.content = content

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Document) and other.sha256 == self.sha256


def _wired(sha256: str, content: Any) -> Wiring:
    return _read(_Document(sha256, content))


@lru_cache(_WIRINGS)
def _read(document: _Document) -> Wiring:
    return Wiring(documents.parse(document.content))


def _pins(kept: list[dict[str, Any]], fork: dict[str, Any] | None) -> dict[str, Any]:
    pins = {one["component_key"]: one["value"] for one in kept if one["component_key"] and "route" in one["value"]}
    if fork is not None and (forked := pins.get(fork["component_key"])) is not None:
        pins[fork["component_key"]] = forked | _edits(fork)
    return pins


def _edits(fork: dict[str, Any]) -> dict[str, Any]:
    edits: dict[str, Any] = {}
    if fork.get("outputs") is not None:
        edits["outputs"] = {one["route"]: one["value"] for one in fork["outputs"]}
    if fork.get("route") is not None:
        edits["route"] = fork["route"]
    return edits


def pinned_outcome(pin: dict[str, Any]) -> Outcome:
    """What the component gave there. The outputs' large values are blobs still."""
    error = pin.get("error")
    return Outcome(
        pin["route"],
        dict(pin.get("outputs") or {}),
        bool(pin.get("terminal")),
        None if error is None else msgspec.convert(error, Fault),
        bool(pin.get("is_fatal")),
    )
