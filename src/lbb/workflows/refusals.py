"""What to do when a model call is refused: halve its input and try again."""

from collections.abc import Sequence
from typing import TypeVar

from lbb.errors import LbbError

Item = TypeVar("Item")


def is_activity_refused(error: BaseException) -> bool:
    """Whether the model could not take the input, or its answer could not be used: a smaller input may pass."""
    return isinstance(error, LbbError) and error.code == "activity_request_refused"


def split_in_halves(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]] | None:
    """Both halves, the first the smaller one; None for fewer than two items."""
    if len(items) < 2:
        return None
    middle = len(items) // 2
    return items[:middle], items[middle:]
