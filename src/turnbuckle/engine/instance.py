"""An instance: identity, inbox and when something happens next.

Two numbers decide the latter (decision 13): `claimable_at_ms`, when a claim may take the head of the inbox, and
`due_at_ms`, when an attempt ends by itself and `upkeep` must settle it. None is never.
"""

from typing import Literal

import msgspec
from msgspec.structs import replace

from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import (
    DEFERRED,
    FAILED,
    HELD,
    RETRYING,
    Turn,
    first_deadline,
    has_ended_run,
    ready_after_failure,
    skip,
    with_queue,
)
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.limits import HISTORY_MS, HISTORY_TURNS


class Instance(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    incarnation: str  # new for each creation, so a re-created id gets other effect ids
    workflow_type: str
    version: str
    on_exhausted: str  # block or skip
    lease_ms: int
    max_attempts: int
    request_hash: bytes  # of the creation
    created_at_ms: int
    updated_at_ms: int
    paused_at_ms: int | None = None
    head: int | None = None  # number of the current turn: the first unfinished one
    last_turn: int = 0
    state_turn: int = 0  # the turn whose state is the present one; 0 is the initial state
    pending: int = 0
    completed: int = 0
    pruned_through: int = 0
    sequence: int = 0
    claimable_at_ms: int | None = None
    due_at_ms: int | None = None
    prune_at_ms: int | None = None


def check_same_creation(instance: Instance, asked: Instance) -> None:
    """Refused(conflict) unless the id was created by the same request (P4)."""
    if instance.request_hash == asked.request_hash:
        return
    mine, theirs = ((i.workflow_type, i.version) for i in (instance, asked))
    if mine != theirs:
        what = f"it is {mine[0]}@{mine[1]}, this request says {theirs[0]}@{theirs[1]}"
    else:
        what = (
            "it was started with another state, lease_ms, max_attempts or on_exhausted "
            f"(request {instance.request_hash.hex()}, now {asked.request_hash.hex()})"
        )
    raise Refused("conflict", f"instance id {asked.instance_id!r} is in use: {what}")


def admit(instance: Instance, now_ms: int) -> Instance:
    """One more message at the inbox tail. A paused or blocked instance admits too (P6)."""
    number = instance.last_turn + 1
    return replace(
        instance,
        last_turn=number,
        head=number if instance.head is None else instance.head,
        pending=instance.pending + 1,
        sequence=instance.sequence + 1,
        updated_at_ms=now_ms,
    )


def conclude(instance: Instance, before: Turn, after: Turn) -> Turn:
    """What a decision about the head means in this instance; the same for who writes it and who only reads.

    A failed turn leaves the inbox when such turns are skipped, at the moment it failed, however late that is noticed.
    A run that has ended knows how many unfinished turns it leaves behind.
    """
    if after.status == FAILED and after.finished_at_ms is None and instance.on_exhausted == "skip":
        after = skip(after, after.updated_at_ms)
    if has_ended_run(before, after):
        after = with_queue(after, instance.pending - (after.finished_at_ms is not None))
    return after


def let_go(instance: Instance, turn: Turn, changes: int, next_head: int | None, now_ms: int) -> Instance:
    """A turn has left the inbox; `next_head` is the first unfinished one after it.

    `changes` are the turn's own: adding them keeps the instance's change counter from falling when the head moves on.
    """
    kept = turn.number - HISTORY_TURNS
    return replace(
        instance,
        head=next_head,
        pending=instance.pending - 1,
        completed=instance.completed + (turn.status == "completed"),
        sequence=instance.sequence + turn.sequence + changes + 1,
        updated_at_ms=now_ms,
        prune_at_ms=now_ms + HISTORY_MS
        if instance.prune_at_ms is None and kept > instance.pruned_through
        else instance.prune_at_ms,
    )


def schedule(instance: Instance, head: Turn | None, operation: Operation | None) -> Instance:
    """The instance with its two times set from its head."""
    deadline = None if head is None else first_deadline(head, operation)
    due_at_ms = None if deadline is None else deadline[0]
    return replace(instance, claimable_at_ms=_claimable_at(instance, head, operation), due_at_ms=due_at_ms)


def _claimable_at(instance: Instance, head: Turn | None, operation: Operation | None) -> int | None:
    if head is None or instance.paused_at_ms is not None:
        return None
    if head.status == HELD:
        deadline = first_deadline(head, operation)
        assert deadline is not None
        again_at_ms = ready_after_failure(head, instance.max_attempts, deadline[0])
        if again_at_ms is None and instance.on_exhausted == "skip":
            return deadline[0]  # a claim lets it go, then looks on
        return again_at_ms
    return None if head.status == FAILED else head.ready_at_ms


def pruned(instance: Instance, through: int, next_at_ms: int | None) -> Instance:
    """Turns up to `through` are gone; when to look for more, or None until the next turn completes."""
    return replace(instance, pruned_through=through, prune_at_ms=next_at_ms)


Status = Literal["idle", "queued", "running", "waiting", "failed", "paused"]


def status(instance: Instance, head: Turn | None, now_ms: int) -> Status:
    """The one word for the instance. `head` is as of now (lbb-engine 4.3, P9)."""
    if instance.paused_at_ms is not None:
        return "paused"
    if head is None:
        return "idle"
    if head.status == HELD:
        return "running"
    if head.status == FAILED:
        return "failed"
    return "waiting" if head.ready_at_ms > now_ms else "queued"


def check_head(instance: Instance, head: Turn | None, turn: int, action: str) -> Turn:
    """The failed head that a person retries or skips. Refused(conflict) when `turn` is not that (P7)."""
    if head is None or head.number != turn:
        now = "the inbox is empty" if head is None else f"the current turn is {head.number}"
        raise Refused("conflict", f"cannot {action} turn {turn}: {now}")
    if head.status != FAILED:
        raise Refused("conflict", f"cannot {action} turn {turn}: it has not failed, it is {head.status}")
    return head


def pause(instance: Instance, now_ms: int) -> Instance:
    if instance.paused_at_ms is not None:
        return instance
    return replace(instance, paused_at_ms=now_ms, sequence=instance.sequence + 1, updated_at_ms=now_ms)


def resume(instance: Instance, now_ms: int) -> Instance:
    if instance.paused_at_ms is None:
        return instance
    return replace(instance, paused_at_ms=None, sequence=instance.sequence + 1, updated_at_ms=now_ms)


def may_hurry(head: Turn | None, action: str) -> bool:
    """Whether `resume` or `wake` makes the head ready now: neither ends a sleep or a wait for a signal (P15)."""
    endable = {DEFERRED} if action == "wake" else {DEFERRED, RETRYING}
    return head is not None and head.status in endable
