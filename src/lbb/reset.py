"""`RESET`: the value that clears a setting."""

from typing import Final, final


@final
class Reset:
    """Sent as JSON null by the methods that take it; leaving the argument out keeps the setting (lbb-engine 2.7)."""

    _only: "Reset | None" = None

    def __new__(cls) -> "Reset":
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "RESET"

    def __reduce__(self) -> str:
        return "RESET"  # copies and pickles are the same object


RESET: Final = Reset()
