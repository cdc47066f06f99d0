"""A turn and its states. Every state word is declared here once, with the arrows that lead to it.

    queued ──claim──▶ held ──complete──▶ completed
      ▲                │ ├──sleep / listen / defer──▶ sleeping, listening, deferred ──(due)──▶ claim
      │                │ └──fail, expiry──▶ retrying ──(due)──▶ claim
      └──retry── failed ◀──(no attempt left)──┘            any unfinished ──cancel──▶ cancelled

A turn that sleeps, listens, is deferred or retries may be claimed from `ready_at_ms` on, without another write:
time alone makes it ready. Source: lbb-engine 4.1, P1 to P3 and P8; decisions 3, 13 and 15.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from turnbuckle.engine.operation import LEASE, Operation
from turnbuckle.engine.retry import delay_ms
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.moment import rfc3339

QUEUED: Final = "queued"  # admitted, continued or retried by a person
HELD: Final = "held"  # any waiting state -> held, by claim
SLEEPING: Final = "sleeping"  # held -> sleeping, by a saved sleep
LISTENING: Final = "listening"  # held -> listening, by a wait for a signal; queued by its delivery
DEFERRED: Final = "deferred"  # held -> deferred, by an uncounted wait or a release
RETRYING: Final = "retrying"  # held -> retrying, by a counted failure with attempts left
COMPLETED: Final = "completed"  # held -> completed, by its holder
FAILED: Final = "failed"  # held -> failed, by the last counted failure or a final one
CANCELLED: Final = "cancelled"  # any unfinished -> cancelled, by a person

WAITING: Final = frozenset({SLEEPING, LISTENING, DEFERRED, RETRYING})
ENDED: Final = frozenset({COMPLETED, FAILED, CANCELLED})


class Turn(msgspec.Struct, frozen=True):
    """One message being worked on, without the message itself. Users' texts are UTF-8 bytes (decision 10)."""

    graph_id: str
    instance_id: str
    number: int
    status: str
    ready_at_ms: int  # from when a worker may claim it
    created_at_ms: int
    updated_at_ms: int
    origin: bytes | None = None  # where its message came from
    attempt: int = 0  # of the last claim; 0 before the first
    next_attempt: int = 1  # what the next claim that is no resume will say
    failures: int = 0  # counted since the turn was admitted or retried by a person
    sequence: int = 0  # grows with every change
    step_count: int = 0
    signal_count: int = 0
    worker: bytes | None = None  # a label, never the right to write
    token_hash: bytes | None = None
    lease_until_ms: int | None = None
    wait_since_ms: int | None = None  # of an uncounted wait
    error: bytes | None = None
    run_id: str | None = None
    run_started_at_ms: int | None = None
    run_ended_at_ms: int | None = None
    queue_before: int | None = None
    queue_after: int | None = None
    phases: bytes | None = None
    usage: bytes | None = None
    finished_at_ms: int | None = None  # when it left the inbox
    completion: bytes | None = None  # fingerprint of the accepted completion
    result: bytes | None = None
    continued_to: int | None = None

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


def admit(graph_id: str, instance_id: str, number: int, origin: bytes | None, now_ms: int) -> Turn:
    """The turn of a new message, ready at once."""
    return Turn(graph_id, instance_id, number, QUEUED, now_ms, now_ms, now_ms, origin)


def as_of(turn: Turn, operation: Operation | None, max_attempts: int, now_ms: int) -> Turn:
    """The turn as it stands now: an attempt whose lease or deadline has passed has failed at that moment."""
    passed = first_deadline(turn, operation)
    if passed is None or passed[0] > now_ms:
        return turn
    at_ms, limit = passed
    why = _lease_expired(turn, operation) if operation is None or limit == LEASE else operation.why(limit)
    return _attempt_failed(turn, why[: limits.ERROR_CHARS].encode(), max_attempts, at_ms)


def first_deadline(turn: Turn, operation: Operation | None) -> tuple[int, str] | None:
    """When the held turn's attempt ends by itself, and by which limit; None unless held."""
    if turn.status != HELD or turn.lease_until_ms is None:
        return None
    lease_end = (turn.lease_until_ms, LEASE)
    if not is_running(turn, operation):
        return lease_end
    assert operation is not None
    return min(lease_end, *operation.deadlines())


def _lease_expired(turn: Turn, operation: Operation | None) -> str:
    """Which limit, since when, and how far it came."""
    heard_at_ms, step = turn.updated_at_ms, ""
    if operation is not None and is_running(turn, operation):
        heard_at_ms = max(heard_at_ms, operation.last_heartbeat_ms)
        step = f'; step "{operation.key}" was running{operation.last_progress()}'
    worker, ended_at = (turn.worker or b"").decode(), rfc3339(turn.lease_until_ms or 0)
    return f"lease expired at {ended_at}: nothing was heard of worker {worker!r} since {rfc3339(heard_at_ms)}{step}"


def is_running(turn: Turn, operation: Operation | None) -> bool:
    """Whether the operation is the holder's own and its step is not saved yet: an earlier attempt's is over."""
    return (
        turn.status == HELD
        and operation is not None
        and operation.position == turn.step_count
        and operation.token_hash == turn.token_hash
    )


def claim(turn: Turn, worker: bytes, token_hash: bytes, lease_ms: int, queue: int, now_ms: int) -> Turn:
    """The turn as held by `worker` until now + lease_ms under a new token.

    A claim after a sleep or a signal goes on with the same run; every other claim begins a new one (P3).
    `queue` is the number of unfinished turns, this one included.
    """
    if turn.status == HELD or turn.has_ended or turn.ready_at_ms > now_ms:
        raise Refused("conflict", f"turn {turn.number} cannot be claimed now: it is {turn.status}")
    held = replace(
        turn,
        status=HELD,
        attempt=turn.next_attempt,
        worker=worker,
        token_hash=token_hash,
        lease_until_ms=now_ms + lease_ms,
        wait_since_ms=None,
    )
    return _touch(held if _goes_on(turn) else _begin_run(held, queue, now_ms), now_ms)


def _goes_on(turn: Turn) -> bool:
    """Whether the next claim resumes the run: a heard signal makes the turn queued, its run still open."""
    return turn.run_id is not None and turn.run_ended_at_ms is None


def _begin_run(turn: Turn, queue: int, now_ms: int) -> Turn:
    started_at_ms = max(now_ms, (turn.run_started_at_ms or 0) + 1)  # two claims in one millisecond (P31)
    return replace(
        turn,
        run_id=f"{started_at_ms:013d}-{turn.instance_id}-{turn.number}",
        run_started_at_ms=started_at_ms,
        run_ended_at_ms=None,
        queue_before=queue,
        queue_after=None,
        phases=None,
        usage=None,
    )


def hold(turn: Turn, token_hash: bytes) -> None:
    """Refused(turn_lease_lost) unless the token holds the turn. `turn` is as of now."""
    if turn.status == HELD and turn.token_hash == token_hash:
        return
    if turn.has_ended:
        why = f"it is {turn.status}"
    elif turn.status == HELD:
        why = "a newer claim holds it"
    else:
        why = "its lease has ended"
    raise Refused("turn_lease_lost", f"the token does not hold turn {turn.number} of {turn.instance_id}: {why}")


def renew(turn: Turn, lease_ms: int, now_ms: int) -> Turn:
    """The lease from now on. It never moves the deadlines of the operation."""
    return _touch(replace(turn, lease_until_ms=now_ms + lease_ms), now_ms)


def add_step(turn: Turn, now_ms: int) -> Turn:
    return _touch(replace(turn, step_count=turn.step_count + 1), now_ms)


def add_signal(turn: Turn, now_ms: int) -> Turn:
    return _touch(replace(turn, signal_count=turn.signal_count + 1), now_ms)


def sleep(turn: Turn, delay: int, now_ms: int) -> Turn:
    """Saved a sleep: no worker holds the turn until it is due."""
    return _let_go(add_step(turn, now_ms), SLEEPING, now_ms + delay, now_ms)


def listen(turn: Turn, timeout_ms: int, now_ms: int) -> Turn:
    """Saved a wait for a signal: ready when it is heard, or at the timeout."""
    return _let_go(add_step(turn, now_ms), LISTENING, now_ms + timeout_ms, now_ms)


def hear(turn: Turn, now_ms: int) -> Turn:
    """The signal it listened for has come."""
    return _touch(replace(turn, status=QUEUED, ready_at_ms=now_ms), now_ms)


def defer(turn: Turn, error: bytes, until_ms: int, now_ms: int) -> Turn:
    """An uncounted wait: the attempt counts for nothing. At least a second, at most 366 days ahead (P28, P38)."""
    earliest, latest = now_ms + limits.RETRY_WAIT_MIN_MS, now_ms + limits.RETRY_WAIT_MAX_MS
    if until_ms > latest:
        got = f"{until_ms - now_ms} ms ahead"
        raise Refused("invalid_param", f"retry_at_ms: got {got}, expected at most 366 days", param="retry_at_ms")
    waiting = _let_go(turn, DEFERRED, max(until_ms, earliest), now_ms)
    return _end_run(replace(waiting, wait_since_ms=now_ms, error=error), now_ms)


def fail(turn: Turn, error: bytes, is_final: bool, max_attempts: int, now_ms: int) -> Turn:
    """A counted failure: tried again after a delay while attempts are left, else failed for good."""
    return _attempt_failed(turn, error, 0 if is_final else max_attempts, now_ms)


def complete(turn: Turn, result: bytes | None, completion: bytes, continued_to: int | None, now_ms: int) -> Turn:
    done = replace(turn, result=result, completion=completion, continued_to=continued_to, error=None)
    return _end_run(_leave(done, COMPLETED, now_ms), now_ms)


def retry(turn: Turn, now_ms: int) -> Turn:
    """A person lets a failed turn run again: steps and cursor stay, all attempts are there anew (P8)."""
    return _touch(replace(turn, status=QUEUED, ready_at_ms=now_ms, failures=0, error=None), now_ms)


def skip(turn: Turn, now_ms: int) -> Turn:
    """A failed turn leaves the inbox; it stays failed in the history."""
    return _leave(turn, FAILED, now_ms)


def cancel(turn: Turn, now_ms: int) -> Turn:
    return _end_run(_leave(turn, CANCELLED, now_ms), now_ms)


def hurry(turn: Turn, now_ms: int) -> Turn:
    """End an uncounted wait or a retry's delay now; a sleep or a wait for a signal is not ended (P15).

    A turn that is ready already keeps its place among those that wait for a worker.
    """
    if turn.ready_at_ms <= now_ms:
        return turn
    return _touch(replace(turn, ready_at_ms=now_ms), now_ms)


def _attempt_failed(turn: Turn, error: bytes, max_attempts: int, at_ms: int) -> Turn:
    counted = replace(turn, failures=turn.failures + 1, next_attempt=turn.attempt + 1, error=error)
    ready_at_ms = ready_after_failure(turn, max_attempts, at_ms)
    if ready_at_ms is not None:
        ended = _let_go(counted, RETRYING, ready_at_ms, at_ms)
    else:
        ended = _let_go(counted, FAILED, turn.ready_at_ms, at_ms)
    return _end_run(ended, at_ms)


def ready_after_failure(turn: Turn, max_attempts: int, at_ms: int) -> int | None:
    """When the turn may be claimed again if this attempt fails at `at_ms`; None when it was the last."""
    failures = turn.failures + 1
    return at_ms + delay_ms(failures) if failures < max_attempts else None


def _let_go(turn: Turn, status: str, ready_at_ms: int, now_ms: int) -> Turn:
    """No worker holds the turn any more; what the old token sends is refused."""
    free = replace(turn, status=status, ready_at_ms=ready_at_ms, token_hash=None, lease_until_ms=None)
    return _touch(free, now_ms)


def _leave(turn: Turn, status: str, now_ms: int) -> Turn:
    return replace(_let_go(turn, status, turn.ready_at_ms, now_ms), finished_at_ms=now_ms, wait_since_ms=None)


def _end_run(turn: Turn, at_ms: int) -> Turn:
    if turn.run_id is None or turn.run_ended_at_ms is not None:
        return turn
    return replace(turn, run_ended_at_ms=at_ms)


def _touch(turn: Turn, now_ms: int) -> Turn:
    return replace(turn, sequence=turn.sequence + 1, updated_at_ms=now_ms)


def has_ended_run(before: Turn, after: Turn) -> bool:
    return before.run_ended_at_ms is None and after.run_ended_at_ms is not None


def with_queue(turn: Turn, queue: int) -> Turn:
    """The unfinished turns that the run leaves behind."""
    return replace(turn, queue_after=queue)


def with_phases(turn: Turn, phases: bytes, now_ms: int) -> Turn:
    return _touch(replace(turn, phases=phases), now_ms)


def with_usage(turn: Turn, usage: bytes | None) -> Turn:
    return turn if usage is None else replace(turn, usage=usage)
