"""Links between records, each a row for the commits in which it was there."""

import json
from collections.abc import Iterable

from msgspec.structs import asdict

from turnbuckle.graph.edge import Edge
from turnbuckle.store.transaction import Transaction

Place = tuple[int, int]  # (from_seq, position): where a page ends
START: Place = (-1, -1)


def out_of(tx: Transaction, graph_id: str, ids: Iterable[str]) -> list[Edge]:
    """All links that go out of the records now."""
    return tx.all("edge_out_of", Edge, graph_id=graph_id, ids=json.dumps(list(ids)))


def into(tx: Transaction, graph_id: str, ids: Iterable[str]) -> list[Edge]:
    """All links that lead to the records now."""
    return tx.all("edge_into", Edge, graph_id=graph_id, ids=json.dumps(list(ids)))


def out_at(tx: Transaction, graph_id: str, entity_id: str, seq: int, limit: int) -> list[Edge]:
    """Links out of one record as commit `seq` left them."""
    return tx.all("edge_out_at", Edge, graph_id=graph_id, entity_id=entity_id, seq=seq, limit=limit)


def in_at(tx: Transaction, graph_id: str, entity_id: str, seq: int, limit: int) -> list[Edge]:
    """Links to one record as commit `seq` left them."""
    return tx.all("edge_in_at", Edge, graph_id=graph_id, entity_id=entity_id, seq=seq, limit=limit)


def page_at(tx: Transaction, graph_id: str, seq: int, after: Place, limit: int) -> list[Edge]:
    """Every link as commit `seq` left it, after the place `after` (see `place`)."""
    return tx.all("edge_page_at", Edge, graph_id=graph_id, seq=seq, after_seq=after[0], after=after[1], limit=limit)


def place(edge: Edge) -> Place:
    return edge.from_seq, edge.position


def began(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Edge]:
    """Rows that began in the commits (from_seq, to_seq]. They may have ended since, even in those commits."""
    return tx.all("edge_began_in", Edge, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def ended(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Edge]:
    """Rows that ended in the commits (from_seq, to_seq]; some of them also began there."""
    return tx.all("edge_ended_in", Edge, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def of_relation(tx: Transaction, graph_id: str, relation_id: str, after: Place, limit: int) -> list[Edge]:
    """Present links of one relation. Looks through the graph: for rare changes of the ontology."""
    return tx.all(
        "edge_of_relation",
        Edge,
        graph_id=graph_id,
        relation_id=relation_id,
        after_seq=after[0],
        after=after[1],
        limit=limit,
    )


def add(tx: Transaction, edges: Iterable[Edge]) -> None:
    tx.insert_all("edge_insert", edges)


def end(tx: Transaction, edges: Iterable[Edge], seq: int) -> None:
    """From commit `seq` on these rows are no longer valid."""
    tx.run_all("edge_end", ({**asdict(edge), "to_seq": seq} for edge in edges))
