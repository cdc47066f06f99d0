"""The elements of a session graph, and how they are read (blobhub 3.10)."""

from collections.abc import Iterable
from typing import Any, Literal, Protocol

import msgspec

Props = dict[str, Any]
Direction = Literal["out", "in"]


class Vertex(msgspec.Struct, frozen=True, tag_field="type", tag="vertex"):
    element_id: str
    labels: tuple[str, ...]
    props: Props
    rev: int  # 1 at creation, one more with each mutation
    created_at: str
    updated_at: str
    user_id: str | None = None


class Edge(msgspec.Struct, frozen=True, tag_field="type", tag="edge"):
    element_id: str
    label: str
    from_id: str
    to_id: str
    props: Props
    rev: int
    created_at: str
    updated_at: str
    user_id: str | None = None


Element = Vertex | Edge


class GraphReader(Protocol):
    """What the store gives of one graph. Listings come in order of creation."""

    def element(self, element_id: str) -> Element | None: ...

    def vertices(self) -> Iterable[Vertex]: ...

    def edges(self) -> Iterable[Edge]: ...

    def edges_of(self, vertex_id: str, direction: Direction) -> Iterable[Edge]:
        """`out`: those that start there; `in`: those that end there."""
        ...
