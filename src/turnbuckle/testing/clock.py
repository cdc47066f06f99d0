"""The test's clock, and the leases that are renewed while it moves."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from turnbuckle.wire.errors import Refused


class Clock:
    """Call it for the time now in Unix milliseconds. It stands still until the test lets time pass.

    All methods may be called from any thread, also inside a step.
    """

    def __init__(self, start_ms: int, leases: "Leases", arrived: Callable[[], None]) -> None:
        """`arrived` is called after each move, in the thread that moved."""
        self._now_ms = start_ms
        self._leases = leases
        self._arrived = arrived
        self._moving = threading.RLock()

    def __call__(self) -> int:
        return self._now_ms

    def pass_time(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """`pass_ms` in a person's units."""
        self.pass_ms(round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000))

    def pass_ms(self, ms: int) -> None:
        """Let time pass. A worker that is in a turn meanwhile lives on and renews its lease every third of it."""
        with self._moving:
            end_ms = self._now_ms + _ahead(ms)
            while self._now_ms < end_ms:
                hop_ms = self._leases.shortest_renewal_ms()
                self._now_ms = end_ms if hop_ms is None else min(end_ms, self._now_ms + hop_ms)
                self._leases.renew()
            self._arrived()

    def jump_ms(self, ms: int) -> None:
        """Let time pass while every worker stands still, as a machine that was suspended: nobody renews a lease."""
        with self._moving:
            self._now_ms += _ahead(ms)
            self._arrived()


def _ahead(ms: int) -> int:
    if ms < 0:
        raise ValueError(f"the store's time never goes back, so the clock cannot be moved by {ms} ms")
    return ms


@dataclass(frozen=True)
class Lease:
    """A turn in the hands of a worker, as the claim's answer told it."""

    graph: str
    workflow_id: str
    turn: int
    token: str
    lease_ms: int


class Leases:
    """What the living workers of `Engine.run` hold.

    Their heartbeats follow the machine's clock, which a test does not wait for; so time that passes on the test's
    clock sends them.
    """

    def __init__(self, send: Callable[[Lease], None]) -> None:
        """`send` is one heartbeat; it raises Refused once the turn is not held any more."""
        self._send = send
        self._held: dict[Lease, object] = {}  # with the worker

    def add(self, lease: Lease, worker: object) -> None:
        self._held[lease] = worker

    def drop(self, worker: object) -> None:
        """The worker has ended or died."""
        self._held = {lease: holder for lease, holder in self._held.items() if holder is not worker}

    def shortest_renewal_ms(self) -> int | None:
        """None when nobody holds a turn."""
        return min((max(1, lease.lease_ms // 3) for lease in list(self._held)), default=None)

    def renew(self) -> None:
        for lease in list(self._held):
            try:
                self._send(lease)
            except Refused:  # completed, parked, or past a deadline: the worker learns of it at its next request
                self._held.pop(lease, None)
