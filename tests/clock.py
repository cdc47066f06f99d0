"""A clock that a test moves."""

START_MS = 1_800_000_000_000  # 2027-01-15T08:00:00Z


class MovableClock:
    """Gives `now_ms` until the test lets time pass."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def pass_ms(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
