"""A revision: what its phase and status allow, and how it branches and is committed (blobhub 1, 2.4, 2.8)."""

from typing import Final

import msgspec
from msgspec.structs import replace

from turnbuckle.wire.hub_errors import HubRefused

# Phases
DRAFT: Final = "draft"  # writable; -> commit, by commit
COMMIT: Final = "commit"  # frozen for good
MANAGED: Final = "managed"  # writable, never committed
SNAPSHOT: Final = "snapshot"  # published; no data channel
# Statuses
CREATING: Final = "creating"  # -> ready or failed
READY: Final = "ready"  # -> committing or deleting
COMMITTING: Final = "committing"  # -> ready in phase commit, or failed
DELETING: Final = "deleting"
FAILED: Final = "failed"

WRITABLE: Final = frozenset({DRAFT, MANAGED})
READABLE: Final = frozenset({DRAFT, COMMIT, MANAGED})


class Revision(msgspec.Struct, frozen=True):
    revision_id: str
    blob_id: str
    phase: str
    status: str
    created_at_ms: int
    updated_at_ms: int
    comment: str | None = None
    parent_id: str | None = None
    failed_operation: str | None = None  # what failed, while the status is failed

    @property
    def is_committed(self) -> bool:
        return self.phase == COMMIT and self.status == READY


def check_readable(revision: Revision) -> None:
    """Before any call of the data channel. HubRefused(revision_not_ready) or, for a snapshot, (access_denied)."""
    if revision.status != READY:
        raise HubRefused("revision_not_ready", f"the revision is {revision.status}, expected ready")
    if revision.phase not in READABLE:
        raise HubRefused("access_denied", f"a revision in phase {revision.phase} has no data channel")


def check_writable(revision: Revision) -> None:
    """Before any command of the data channel: as `check_readable`, and HubRefused(revision_not_writable)."""
    check_readable(revision)
    if revision.phase not in WRITABLE:
        raise HubRefused("revision_not_writable", f"the revision is in phase {revision.phase}, expected draft")


def first(revision_id: str, blob_id: str, now_ms: int) -> Revision:
    """The draft that a new blob starts with."""
    return Revision(revision_id, blob_id, DRAFT, READY, now_ms, now_ms)


def branch(parent: Revision | None, revision_id: str, comment: str, now_ms: int) -> Revision:
    """A draft that will hold a copy of the blob's default; `ready(...)` when the copy is made.

    HubRefused(revision_not_found) without a default, (revision_not_committed) while it is not committed.
    """
    if parent is None:
        raise HubRefused("revision_not_found", "the blob has no default revision to copy")
    if not parent.is_committed:
        got = f"phase {parent.phase}, status {parent.status}"
        raise HubRefused("revision_not_committed", f"the default revision is in {got}, expected a committed one")
    return Revision(revision_id, parent.blob_id, DRAFT, CREATING, now_ms, now_ms, comment, parent.revision_id)


def ready(revision: Revision, now_ms: int) -> Revision:
    """What was on its way is done: a new draft is there, a commit is frozen."""
    phase = COMMIT if revision.status == COMMITTING else revision.phase
    return replace(revision, phase=phase, status=READY, updated_at_ms=now_ms)


def fail(revision: Revision, operation: str, now_ms: int) -> Revision:
    return replace(revision, status=FAILED, failed_operation=operation, updated_at_ms=now_ms)


def commit(revision: Revision, live_runs: int, comment: str | None, now_ms: int) -> Revision:
    """On its way to be frozen; `ready(...)` freezes it.

    HubRefused(revision_not_ready), (revision_not_writable) when it is no draft, (revision_in_use) while runs live in
    it: they could not write their ends.
    """
    if revision.status != READY:
        raise HubRefused("revision_not_ready", f"the revision is {revision.status}, expected ready")
    if revision.phase != DRAFT:
        raise HubRefused("revision_not_writable", f"the revision is in phase {revision.phase}, expected draft")
    if live_runs:
        raise HubRefused("revision_in_use", f"{live_runs} executions of the revision have not ended")
    return replace(revision, status=COMMITTING, comment=comment or revision.comment, updated_at_ms=now_ms)
