"""Field values of records, each a row for the commits in which it was so."""

import json
from collections.abc import Iterable

from msgspec.structs import asdict

from turnbuckle.graph.fact import Fact
from turnbuckle.store.transaction import Transaction

Place = tuple[str, str, int]  # (entity id, property id, from_seq): where a page ends
START: Place = ("", "", -1)


def current(tx: Transaction, graph_id: str, ids: Iterable[str]) -> list[Fact]:
    """All fields that the records have now."""
    return tx.all("fact_current", Fact, graph_id=graph_id, ids=json.dumps(list(ids)))


def at(tx: Transaction, graph_id: str, entity_id: str, seq: int) -> list[Fact]:
    """All fields of one record as commit `seq` left them."""
    return tx.all("fact_at", Fact, graph_id=graph_id, entity_id=entity_id, seq=seq)


def history(tx: Transaction, graph_id: str, entity_id: str, limit: int) -> list[Fact]:
    """Values of one record's fields, the newest first."""
    return tx.all("fact_history", Fact, graph_id=graph_id, entity_id=entity_id, limit=limit)


def page_at(tx: Transaction, graph_id: str, seq: int, after: Place, limit: int) -> list[Fact]:
    """Every field of every record as commit `seq` left it, after the place `after` (see `place`)."""
    return tx.all(
        "fact_page_at",
        Fact,
        graph_id=graph_id,
        seq=seq,
        after=after[0],
        after_property=after[1],
        after_seq=after[2],
        limit=limit,
    )


def place(fact: Fact) -> Place:
    return fact.entity_id, fact.property_id, fact.from_seq


def began(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Fact]:
    """Rows that began in the commits (from_seq, to_seq]. They may have ended since, even in those commits."""
    return tx.all("fact_began_in", Fact, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def ended(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Fact]:
    """Rows that ended in the commits (from_seq, to_seq]; some of them also began there."""
    return tx.all("fact_ended_in", Fact, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def is_in_use(tx: Transaction, graph_id: str, property_id: str) -> bool:
    """Whether a record has the field now. Looks through the graph: for rare changes of the ontology."""
    return tx.row("fact_of_property", graph_id=graph_id, property_id=property_id) is not None


def add(tx: Transaction, facts: Iterable[Fact]) -> None:
    tx.insert_all("fact_insert", facts)


def end(tx: Transaction, facts: Iterable[Fact], seq: int) -> None:
    """From commit `seq` on these rows are no longer valid."""
    tx.run_all("fact_end", ({**asdict(fact), "to_seq": seq} for fact in facts))
