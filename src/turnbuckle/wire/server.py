"""What the server says of itself: version, health, status."""

from typing import Literal

from turnbuckle.wire.base import Answer, AtMs, Count, Request


class NoQuery(Request, frozen=True, kw_only=True):
    """A route without parameters of its own."""


class Version(Answer, frozen=True, kw_only=True):
    version: str  # the contract date
    built_at: str
    git_commit: str
    persisted_format: str
    capabilities: list[str]
    server: str  # ours: name and version of the server


class Health(Answer, frozen=True, kw_only=True):
    status: Literal["ok", "draining"]
    mode: str  # "serve" or "dev"
    store: Literal["sqlite", "postgresql"]


class WorkflowStatus(Answer, frozen=True, kw_only=True):
    enabled: bool
    durability: Literal["object_storage", "disabled"]
    active_runs: Count
    local_sequence: Count
    archived_sequence: Count
    archive_lag_ms: Count
    archive_error: bool
    pending_archive_bytes: Count
    unarchived_events: Count


class WorkflowServedPair(Answer, frozen=True, kw_only=True):
    """A type and version that a worker has claimed."""

    workflow_type: str
    version: str
    worker: str  # that of the last claim
    claimed_at_ms: AtMs  # when it came
    waiting: Count  # claims that wait at this server right now


class WorkflowServedResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """What this server process has been asked for. Other servers on the same store have seen other claims."""

    now_ms: AtMs
    since_ms: AtMs  # when this process began to serve
    pairs: list[WorkflowServedPair]  # the one claimed last comes last
