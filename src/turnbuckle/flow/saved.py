"""Where a run goes on in its next turn, or a branch in its first: as state, or in a message."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from lbb.workflows import WorkflowContext
from turnbuckle.flow.turn_steps import TurnSteps
from turnbuckle.hub.value import size_bytes

_INLINE_BYTES: Final = 128 * 1024  # half of what a state or a message may have


@dataclass(frozen=True)
class Branch:
    """A parallel branch, and who waits for it."""

    number: int
    parent: str  # the instance
    turn: int  # its turn
    signal: str


@dataclass(frozen=True)
class Saved:
    at: bytes | None = None  # the walk's position; None at the start of a run
    carried: dict[str, Any] = field(default_factory=dict)  # answers of the component that was open
    executing_ms: int = 0
    pause_before: tuple[str, ...] | None = None  # None: as the run was created
    branch: Branch | None = None

    @classmethod
    async def read(cls, ctx: WorkflowContext, state: Any) -> "Saved":
        if state is None:
            return cls()
        kept = await ctx.blob_json(state["blob"]) if "blob" in state else state
        return cls(
            json.dumps(kept["at"]).encode(),
            kept["carried"],
            kept["executing_ms"],
            None if kept["pause_before"] is None else tuple(kept["pause_before"]),
            None if kept["branch"] is None else Branch(**kept["branch"]),
        )

    async def state(self, steps: TurnSteps) -> dict[str, Any]:
        """JSON that `read` takes, small whatever the run holds."""
        assert self.at is not None
        state = {
            "at": json.loads(self.at),
            "carried": self.carried,
            "executing_ms": self.executing_ms,
            "pause_before": None if self.pause_before is None else list(self.pause_before),
            "branch": None if self.branch is None else vars(self.branch),
        }
        if size_bytes(state) <= _INLINE_BYTES:
            return state
        return {"blob": (await steps.keep(state))["key"]}
