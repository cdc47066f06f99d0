"""What the model calls of one turn attempt cost (lbb-engine 5.11)."""

import threading
from collections.abc import Mapping
from typing import Any

# One for all turns: calls may be counted from step threads, and rarely are.
_counting = threading.Lock()


class TurnUsage:
    """Counters from 0. A turn that suspends reports nothing and starts from 0 again."""

    __slots__ = ("calls", "cost_micro_usd", "errors", "tokens_in", "tokens_out")

    def __init__(self) -> None:
        self.calls = self.errors = self.tokens_in = self.tokens_out = self.cost_micro_usd = 0

    def count_answer(self, answer: Mapping[str, Any]) -> None:
        """A model activity answered. A cached answer costs nothing and is no call."""
        if answer.get("cached"):
            return
        with _counting:
            self.calls += 1
            self.tokens_in += answer.get("tokens_in") or 0
            self.tokens_out += answer.get("tokens_out") or 0
            self.cost_micro_usd += answer.get("cost_micro_usd") or 0

    def count_refusal(self, status_code: int) -> None:
        """A model activity was refused: 422 and 5xx count as a call with an error, a 429 and others as nothing."""
        if status_code == 422 or status_code >= 500:
            with _counting:
                self.calls += 1
                self.errors += 1

    def report(self) -> dict[str, int] | None:
        """All five counters; None when there was no call."""
        if not self.calls and not self.errors:
            return None
        return {name: getattr(self, name) for name in self.__slots__}
