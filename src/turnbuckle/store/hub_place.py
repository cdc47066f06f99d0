"""Where a page of rows ordered by (time, sequence) begins and ends."""

from typing import Any

import msgspec

Place = tuple[int, int]  # (time in microseconds, sequence)
_LAST_US = 2**62
_LAST = 2**62


class Span(msgspec.Struct, frozen=True):
    """Rows after the place `after` in the order asked for, with times strictly between `since_us` and `before_us`."""

    ascending: bool
    after: Place | None = None
    since_us: int | None = None
    before_us: int | None = None

    @property
    def params(self) -> dict[str, Any]:
        """One bound is a place; the other is a time."""
        since_us = -1 if self.since_us is None else self.since_us
        before_us = _LAST_US if self.before_us is None else self.before_us
        if self.ascending:
            at_us, sequence = max((since_us, _LAST), self.after or (-1, -1))
            return {"at_us": at_us, "sequence": sequence, "before_us": before_us}
        at_us, sequence = min((before_us, -1), self.after or (_LAST_US, _LAST))
        return {"at_us": at_us, "sequence": sequence, "since_us": since_us}
