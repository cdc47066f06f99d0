"""Links between records."""

import msgspec


class Edge(msgspec.Struct, frozen=True):
    """One edge event, current in the commits [from_seq, to_seq); to_seq None is still. A link may be there twice.

    `evidence` and `valid_time` are the JSON objects of the commit, `properties` an object by property name.
    """

    graph_id: str
    from_seq: int
    position: int
    to_seq: int | None
    source_id: str
    relation_id: str  # the relation's term
    target_id: str
    confidence: float | None
    evidence: bytes | None
    properties: bytes | None
    valid_time: bytes | None

    @property
    def event_id(self) -> str:
        """Unique in its graph."""
        return f"{self.from_seq}-{self.position}"
