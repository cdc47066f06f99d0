"""Statements of RDF-native graphs; and what the index asks of edges."""

import json
from collections.abc import Iterable

from turnbuckle.graph.edge import Edge
from turnbuckle.graph.quad import Quad
from turnbuckle.store.transaction import Transaction

Place = tuple[str, int]  # (quad id, from_seq): where a page ends
START: Place = ("", -1)


def known(tx: Transaction, graph_id: str, ids: Iterable[str]) -> set[str]:
    """Those of the statements that are there now."""
    return {found for (found,) in tx.rows("quad_known", graph_id=graph_id, ids=json.dumps(list(ids)))}


def add(tx: Transaction, quads: Iterable[Quad]) -> None:
    tx.insert_all("quad_insert", quads)


def page_at(tx: Transaction, graph_id: str, seq: int, after: Place, limit: int) -> list[Quad]:
    """Every statement as commit `seq` left it, after the place `after` (see `place`)."""
    return tx.all("quad_page_at", Quad, graph_id=graph_id, seq=seq, after=after[0], after_seq=after[1], limit=limit)


def place(quad: Quad) -> Place:
    return quad.quad_id, quad.from_seq


def began(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Quad]:
    """Rows that began in the commits (from_seq, to_seq]."""
    return tx.all("quad_began_in", Quad, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def ended(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Quad]:
    """Rows that ended in the commits (from_seq, to_seq]."""
    return tx.all("quad_ended_in", Quad, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def edges_at(tx: Transaction, graph_id: str, source_id: str, relation_id: str, target_id: str, seq: int) -> list[Edge]:
    """Copies of one edge that commit `seq` left."""
    named = {"source_id": source_id, "relation_id": relation_id, "target_id": target_id}
    return tx.all("quad_edge_at", Edge, graph_id=graph_id, seq=seq, **named)
