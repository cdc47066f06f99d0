"""Records of a graph, each a row for the commits in which it had one name."""

import json
from collections.abc import Iterable

from msgspec.structs import asdict

from turnbuckle.graph.entity import Entity
from turnbuckle.store.transaction import Transaction

Place = tuple[str, int]  # (entity id, from_seq): where a page ends
START: Place = ("", -1)


def current(tx: Transaction, graph_id: str, ids: Iterable[str]) -> dict[str, Entity]:
    """Those of the records that are there now, by id."""
    found = tx.all("entity_current", Entity, graph_id=graph_id, ids=json.dumps(list(ids)))
    return {entity.entity_id: entity for entity in found}


def known(tx: Transaction, graph_id: str, ids: Iterable[str]) -> set[str]:
    """Those of the ids that belong to a record, of now or of earlier."""
    return {found for (found,) in tx.rows("entity_known", graph_id=graph_id, ids=json.dumps(list(ids)))}


def at(tx: Transaction, graph_id: str, entity_id: str, seq: int) -> Entity | None:
    """The record as commit `seq` left it."""
    return tx.one("entity_at", Entity, graph_id=graph_id, entity_id=entity_id, seq=seq)


def history(tx: Transaction, graph_id: str, entity_id: str, limit: int) -> list[Entity]:
    """Its rows, the newest first."""
    return tx.all("entity_history", Entity, graph_id=graph_id, entity_id=entity_id, limit=limit)


def of_class(tx: Transaction, graph_id: str, class_id: str, after: str, limit: int) -> list[Entity]:
    """Records of exactly that class that are there now, by id, after the id `after`."""
    return tx.all("entity_of_class_page", Entity, graph_id=graph_id, class_id=class_id, after=after, limit=limit)


def count_of_classes(tx: Transaction, graph_id: str) -> dict[str, int]:
    """How many records of each class there are now."""
    return dict(tx.rows("entity_count", graph_id=graph_id))


def page_at(tx: Transaction, graph_id: str, seq: int, after: Place, limit: int) -> list[Entity]:
    """The records as commit `seq` left them, after the place `after` (see `place`)."""
    return tx.all("entity_page_at", Entity, graph_id=graph_id, seq=seq, after=after[0], after_seq=after[1], limit=limit)


def place(entity: Entity) -> Place:
    return entity.entity_id, entity.from_seq


def began(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Entity]:
    """Rows that began in the commits (from_seq, to_seq]. They may have ended since, even in those commits."""
    return tx.all("entity_began_in", Entity, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def ended(tx: Transaction, graph_id: str, from_seq: int, to_seq: int) -> list[Entity]:
    """Rows that ended in the commits (from_seq, to_seq]; some of them also began there."""
    return tx.all("entity_ended_in", Entity, graph_id=graph_id, from_seq=from_seq, to_seq=to_seq)


def add(tx: Transaction, entities: Iterable[Entity]) -> None:
    tx.insert_all("entity_insert", entities)


def end(tx: Transaction, entities: Iterable[Entity], seq: int) -> None:
    """From commit `seq` on these rows are no longer valid."""
    tx.run_all("entity_end", ({**asdict(entity), "to_seq": seq} for entity in entities))
