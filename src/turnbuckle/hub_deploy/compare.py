"""What differs between the document that files make and the one that is deployed (blobhub 6.5, diff)."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from turnbuckle.hub_deploy.build import components_of
from turnbuckle.hub_deploy.message import Drift

Presence = Literal["both", "local_only", "remote_only", "absent"]
_WORST_FIRST = (Drift.REMOTE_EDIT, Drift.UNMANAGED, Drift.MANAGED_CLEAN)


@dataclass(frozen=True)
class Difference:
    presence: Presence
    is_equal: bool
    components_added: list[str] = field(default_factory=list)  # ids that only the files have
    components_removed: list[str] = field(default_factory=list)  # ids that only the deployed one has
    components_changed: list[str] = field(default_factory=list)
    connections_changed: bool = False
    code_changed: list[str] = field(default_factory=list)  # ids of components whose code differs


def compare(local: Any | None, remote: Any | None) -> Difference:
    """None stands for a document that does not exist."""
    if local is None or remote is None:
        return Difference(_presence(local, remote), is_equal=local is remote)
    ours, theirs = _by_id(local), _by_id(remote)
    shared = [one for one in ours if one in theirs]
    return Difference(
        "both",
        is_equal=_canonical(local) == _canonical(remote),
        components_added=[one for one in ours if one not in theirs],
        components_removed=[one for one in theirs if one not in ours],
        components_changed=[one for one in shared if ours[one] != theirs[one]],
        connections_changed=local.get("connections") != remote.get("connections"),
        code_changed=[one for one in shared if _code(ours[one]) != _code(theirs[one])],
    )


def worst(states: dict[str, Drift]) -> Drift | None:
    """The state to look at first; None where nothing is bound."""
    return next((state for state in _WORST_FIRST if state in states.values()), None)


def _presence(local: Any | None, remote: Any | None) -> Presence:
    if local is None:
        return "absent" if remote is None else "remote_only"
    return "local_only"


def _canonical(document: Any) -> str:
    """Python takes 1 and true for equal."""
    return json.dumps(document, sort_keys=True)


def _by_id(document: Any) -> dict[str, dict[str, Any]]:
    return {str(one.get("id")): one for one in components_of(document)}


def _code(component: dict[str, Any]) -> list[Any]:
    ports = component.get("ports")
    return [
        port.get("value")
        for port in (ports if isinstance(ports, list) else [])
        if isinstance(port, dict) and port.get("route") == "code"
    ]
