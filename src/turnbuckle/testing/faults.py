"""What a test asks to go wrong, and when."""

from dataclasses import dataclass
from enum import Enum

from turnbuckle.http.endpoints import ENDPOINTS

PREFIX = "/v1/workflows/"
SAVES = ("turns/checkpoint", "turns/wait-signal")  # what saves a step, a sleep or a wait for a signal
_OF_WORKERS = (*SAVES, *(f"turns/{name}" for name in ("claim", "operation", "progress", "complete", "fail")))


class FaultUnused(AssertionError):
    """The test asked for a crash or a lost reply that never came: a misspelled step key, a step that did not run."""


class Point(Enum):
    """Where a request is met."""

    CRASH_BEFORE = "crash before"  # it never reaches the server
    CRASH_AFTER = "crash after"  # the server has saved, and the worker dies before the reply
    DROP_REPLY = "drop reply of"  # the server has saved, the reply is lost and the client lives


@dataclass
class _Fault:
    point: Point
    routes: tuple[str, ...]
    key: str | None  # of the step that the request is about; None for any
    left: int

    def __str__(self) -> str:
        what = self.routes[0] if self.key is None else f'the save of step "{self.key}"'
        return f"{self.point.value} {what} ({self.left} times more)"


class Faults:
    """Faults in the order they were asked for; a request meets at most one."""

    def __init__(self) -> None:
        self._asked: list[_Fault] = []

    def ask(self, point: Point, *routes: str, key: str | None = None, times: int = 1) -> None:
        """ValueError for a route that there is not, or that no worker sends when the worker is to crash."""
        known = {e.path.removeprefix(PREFIX) for e in ENDPOINTS} if point is Point.DROP_REPLY else set(_OF_WORKERS)
        for route in routes:
            if route not in known:
                raise ValueError(f"{point.value}: got the route {route!r}, expected one of {', '.join(sorted(known))}")
        if times < 1:
            raise ValueError(f"{point.value}: got times {times}, expected at least 1")
        self._asked.append(_Fault(point, routes, key, times))

    def meet(self, route: str, key: str | None) -> Point | None:
        """What happens to this request; it counts as having happened."""
        for fault in self._asked:
            if fault.left and route in fault.routes and fault.key in (None, key):
                fault.left -= 1
                return fault.point
        return None

    def check_used(self) -> None:
        """FaultUnused when a fault has not happened as often as it was asked for."""
        unused = [str(fault) for fault in self._asked if fault.left]
        if unused:
            raise FaultUnused(f"asked for, but never met: {'; '.join(unused)}")
