"""The limits an owner sees and can change per blob, and when one is reached (blobhub 7.2, decision 38)."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from turnbuckle.wire.hub_channel import SCHEDULER_BLOB, WORKFLOW_BLOB
from turnbuckle.wire.hub_errors import HubRefused

LimitValue = int | list[str]
CODE_IMPORTS: Final = "workflow.code_imports"
DEFINITIONS: Final = "workflow.definitions_per_revision"
PLAYGROUNDS: Final = "workflow.playgrounds_per_revision"
EXECUTIONS: Final = "workflow.executions_per_session"
SESSIONS: Final = "workflow.sessions_per_revision"
SCHEDULES: Final = "scheduler.schedules_per_revision"


class LimitKind(msgspec.Struct, frozen=True):
    id: str
    group: str
    default: LimitValue
    blob_type: str


KINDS: Final[dict[str, LimitKind]] = {
    kind.id: kind
    for kind in (
        LimitKind(CODE_IMPORTS, "code", [], WORKFLOW_BLOB),
        LimitKind(DEFINITIONS, "definitions", 100, WORKFLOW_BLOB),
        LimitKind(PLAYGROUNDS, "definitions", 20, WORKFLOW_BLOB),
        LimitKind(SESSIONS, "runs", 1_000, WORKFLOW_BLOB),
        LimitKind(EXECUTIONS, "runs", 1_000, WORKFLOW_BLOB),
        LimitKind(SCHEDULES, "schedules", 50, SCHEDULER_BLOB),
    )
}
LABELS: Final = {
    "code": "Code components",
    "definitions": "Definitions",
    "runs": "Sessions and executions",
    "schedules": "Schedules",
}


def value_of(limit_id: str, changed: Mapping[str, LimitValue]) -> LimitValue:
    """`changed` holds what is set for the blob."""
    return changed.get(limit_id, KINDS[limit_id].default)


def check_limit(limit_id: str, held: int, changed: Mapping[str, LimitValue]) -> None:
    """HubRefused(limit_exceeded) when one more than `held` would be over the limit."""
    value = value_of(limit_id, changed)
    if isinstance(value, int) and held >= value:
        raise HubRefused(
            "limit_exceeded",
            f"the limit {limit_id} is {value}, and {held} are there",
            limit={"id": limit_id, "value": value, "held": held},
        )


def groups(
    blob_type: str, changed: Mapping[str, LimitValue], held: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """What `GET .../limits` answers: `[{group, label, limits: [{id, value, source, held?}]}]`."""
    made: dict[str, list[dict[str, Any]]] = {}
    for kind in KINDS.values():
        if kind.blob_type == blob_type:
            made.setdefault(kind.group, []).append(_shown(kind, changed, held or {}))
    return [{"group": group, "label": LABELS[group], "limits": limits} for group, limits in made.items()]


def _shown(kind: LimitKind, changed: Mapping[str, LimitValue], held: Mapping[str, int]) -> dict[str, Any]:
    shown = {
        "id": kind.id,
        "value": value_of(kind.id, changed),
        "source": "blob" if kind.id in changed else "default",
    }
    return shown | ({"held": held[kind.id]} if kind.id in held else {})
