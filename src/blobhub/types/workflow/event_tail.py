"""Each event of a run once, though the log is read again and again (blobhub 4.10).

The server may show an event some seconds late, with the time it was made. So every reading starts 5 s before the
newest event seen, and what was seen is skipped.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from blobhub.answer import invalid_response

OVERLAP = timedelta(seconds=5)

Event = dict[str, Any]


class EventTail:
    def __init__(self) -> None:
        self._newest_at: str | None = None  # the largest `created_at` seen; times are compared as text
        self._seen: dict[str, str] = {}  # id -> created_at, of the overlap

    def drain(self, read: Callable[[str | None], Iterable[Event]], on_event: Callable[[Event], object]) -> None:
        """Pass on what is new, in the order of the log. `read` takes the time after which to read, None for all.

        An event counts as passed before `on_event` sees it, so when that raises the rest follows in the next drain.
        ServerError `invalid_response` for an event without an id or a time.
        """
        for event in read(self._read_after()):
            if self._is_new(event):
                on_event(event)
        self._forget()

    def _is_new(self, event: Event) -> bool:
        event_id, created_at = event.get("id"), event.get("created_at")
        if not isinstance(event_id, str) or not isinstance(created_at, str):
            raise invalid_response("an event of the answer has no id or no created_at")
        if event_id in self._seen:
            return False
        self._seen[event_id] = created_at
        self._newest_at = max(created_at, self._newest_at or created_at)
        return True

    def _read_after(self) -> str | None:
        return None if self._newest_at is None else _before(self._newest_at)

    def _forget(self) -> None:
        """Let go of what no later reading can bring again."""
        floor = self._read_after()
        if floor is not None:
            self._seen = {event_id: at for event_id, at in self._seen.items() if at > floor}


def _before(at: str) -> str:
    """The time less the overlap; `at` itself when it cannot be read."""
    try:
        moment = datetime.fromisoformat(at.removesuffix("Z"))
        moment -= OVERLAP
    except (ValueError, OverflowError):
        return at
    # Always six digits: without them ".100000Z" sorts before "Z", and an event would be forgotten but read again.
    return at if moment.tzinfo else moment.isoformat(timespec="microseconds") + "Z"
