"""One page of a list answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class ListPage(Generic[Row]):
    """Rows of one page; iterate over it. `next_cursor` asks for the next page while `has_more` (lbb-engine 8.3)."""

    object: str = "list"
    data: list[Row] = field(default_factory=list)
    has_more: bool = False
    next_cursor: str | None = None
    snapshot: Any = None
    total_count: int | None = None

    def __iter__(self) -> Iterator[Row]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)
