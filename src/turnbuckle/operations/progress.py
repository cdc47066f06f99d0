"""How far a trigger has come, as its kind tells it; `named` makes a workflow's status of it."""

import msgspec

from turnbuckle.wire.named import NamedWorkflowDetails, WorkflowBackfill
from turnbuckle.wire.watch import WorkflowPass


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    pending: int = 0
    pending_since_ms: int | None = None
    processed_through_seq: int | None = None
    counters: dict[str, int] = {}
    backfill: WorkflowBackfill | None = None
    running: WorkflowPass | None = None
    unavailable: str | None = None  # why it can do nothing
    details: NamedWorkflowDetails | None = None
