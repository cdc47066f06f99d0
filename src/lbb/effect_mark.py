"""Which step sends a request: the header by which the server's effect ledger knows whose effect it is (ours).

The worker sets the mark around a step's function; it goes along into the step's thread and the tasks it starts.
"""

from contextvars import ContextVar

HEADER = "lbb-effect"
_TURN_ROUTES = "/v1/workflows/turns/"  # about the turn itself: no effects of it
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

effect_mark: ContextVar[str | None] = ContextVar("lbb_effect_mark", default=None)


def mark_of(graph: str | None, workflow_id: str, turn: int, step: str, effect_id: str) -> str:
    return f"{graph or 'main'}/{workflow_id}/{turn}/{step}/{effect_id}"


def mark_for(method: str, path: str) -> str | None:
    """The mark that a request carries, if any."""
    return None if method in _SAFE or path.startswith(_TURN_ROUTES) else effect_mark.get()
