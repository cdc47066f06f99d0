"""A schedule: when a workflow is sent a message by the clock (lbb-graph 5.4; the settings' names are ours)."""

from typing import Annotated, Literal

from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Json, Request


class WorkflowScheduleSettings(Request, omit_defaults=True, frozen=True, kw_only=True):
    """Either `cron`, five fields read in `time_zone`, or `every`, a fixed interval that no clock change moves."""

    cron: Annotated[str, Meta(min_length=9, max_length=200)] | None = None
    every: Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,5}[mhd]$(?!\n)")] | None = None  # 5m, 2h, 1d
    time_zone: Annotated[str, Meta(min_length=1, max_length=64)] = "UTC"
    gap: Literal["next", "skip"] = "next"  # a time the clocks skip: when it would have been, or not at all
    overlap: Literal["first", "both"] = "first"  # a time that comes twice
    missed: Literal["last", "none"] = "last"  # slots that passed unseen: one message for the last of them, or none
    jitter_ms: Annotated[int, Meta(ge=0, le=limits.SCHEDULE_JITTER_MS)] = 0


class WorkflowScheduleMessage(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """What one slot sends."""

    type: Literal["schedule"] = "schedule"
    workflow: str
    trigger: str
    graph: str
    due_at: AtMs
    previous_due_at: AtMs | None
    missed: Count  # slots since the previous one that no message tells of
    since_commit_seq: Count  # what the previous message had read through
    as_of_commit_seq: Count
    changed: bool  # whether anything was committed between the two
    manual: bool = False
    origin: Json | None = None
