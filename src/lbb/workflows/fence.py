"""The fence of a graph commit: it is refused when the token no longer holds the turn (lbb-engine 3.20)."""

from lbb.wire_model import WireModel


class WorkflowFence(WireModel):
    workflow_id: str
    turn: int
    token: str
