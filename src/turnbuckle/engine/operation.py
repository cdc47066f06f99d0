"""The operation: the step function that runs now, with its deadlines, its progress and its resume cursor.

A turn has one at most. It is over as soon as a step is saved at its position, so nothing needs to end it.
Source: lbb-engine 3.14, 3.15, 4.4 and P25 to P27.
"""

import msgspec
from msgspec.structs import replace

from turnbuckle.wire.errors import Refused
from turnbuckle.wire.moment import rfc3339

NULL = b"null"
LEASE, SILENCE, TIMEOUT = "lease", "silence", "timeout"  # what ends an attempt by itself


class Operation(msgspec.Struct, frozen=True):
    graph_id: str
    instance_id: str
    turn: int
    position: int
    key: str
    kind: str
    attempt: int
    token_hash: bytes  # of the attempt that began it: another attempt's reports are not its own
    started_at_ms: int
    timeout_ms: int
    heartbeat_timeout_ms: int | None
    last_heartbeat_ms: int  # of the last new progress report, or the begin
    sequence: int = 0
    changes: int = 1  # grows with every write, over all operations of the turn
    details: bytes = NULL
    cursor: bytes = NULL  # `checkpoint` on the wire
    progress: bytes | None = None  # the last *typed* details (decision 12)
    progress_at_ms: int | None = None

    @property
    def deadline_ms(self) -> int:
        return self.started_at_ms + self.timeout_ms

    def deadlines(self) -> list[tuple[int, str]]:
        """When the step's attempt ends by itself, each with the limit that ends it."""
        if self.heartbeat_timeout_ms is None:
            return [(self.deadline_ms, TIMEOUT)]
        return [(self.deadline_ms, TIMEOUT), (self.last_heartbeat_ms + self.heartbeat_timeout_ms, SILENCE)]

    def why(self, limit: str) -> str:
        """What a reader is told of an attempt that `limit` ended: which, how long, how far it came."""
        step, last = f'step "{self.key}"', self.last_progress()
        if limit == TIMEOUT:
            return f"operation timed out: {step} ran longer than its timeout_ms {self.timeout_ms}{last}"
        since = rfc3339(self.last_heartbeat_ms)
        return (
            f"operation stopped reporting progress: {step} was silent since {since}, longer than "
            f"its heartbeat_timeout_ms {self.heartbeat_timeout_ms}{last}"
        )

    def last_progress(self) -> str:
        return "" if self.progress is None else f"; last progress {self.progress.decode()}"


def begin(asked: Operation, last: Operation | None) -> Operation:
    """The operation as it runs from now on.

    The same request again changes nothing. The cursor of an earlier attempt of the same step at the same position
    is kept; another key at that position drops it (P26, P27).
    """
    if last is None:
        return asked
    if _is_repeat(asked, last):
        return last
    begun = replace(asked, changes=last.changes + 1)
    if (last.position, last.key) == (asked.position, asked.key):
        return replace(begun, cursor=last.cursor)
    return begun


def _is_repeat(asked: Operation, last: Operation) -> bool:
    # Not the timeouts: under one token a step's time runs since it first began, whatever a second request says.
    return (asked.token_hash, asked.position, asked.key) == (last.token_hash, last.position, last.key)


def report(
    operation: Operation, sequence: int, details: bytes, cursor: bytes, typed: bytes | None, now_ms: int
) -> Operation:
    """The operation after a progress report; a late or repeated one changes nothing (P25).

    `typed` is `details` when it has the shape of progress: the last typed report stays until the next (decision 12).
    """
    if sequence <= operation.sequence:
        return operation
    return replace(
        operation,
        sequence=sequence,
        details=details,
        cursor=cursor,
        last_heartbeat_ms=now_ms,
        changes=operation.changes + 1,
        progress=typed if typed is not None else operation.progress,
        progress_at_ms=now_ms if typed is not None else operation.progress_at_ms,
    )


def check_key(operation: Operation | None, key: str) -> Operation:
    """The running operation that a report of `key` belongs to. Refused(conflict) when none of that key runs."""
    if operation is None:
        raise Refused("conflict", f'no step runs in this attempt; got progress of step "{key}": begin it first')
    if operation.key != key:
        raise Refused("conflict", f'step "{operation.key}" runs; got progress of step "{key}"')
    return operation
