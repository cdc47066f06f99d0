"""Schedules of scheduler blobs, and what came of their fires."""

from turnbuckle.store.hub_rows import Fire, HubSchedule
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, schedule_id: str) -> HubSchedule | None:
    return tx.one("hub_schedule_get", HubSchedule, graph_id=graph_id, schedule_id=schedule_id)


def lock(tx: Transaction, graph_id: str, schedule_id: str) -> HubSchedule | None:
    """The schedule, locked until the operation ends: before the revision that it fires on."""
    return tx.one("hub_schedule_lock", HubSchedule, graph_id=graph_id, schedule_id=schedule_id)


def page(tx: Transaction, graph_id: str, revision_id: str, before: int, limit: int) -> list[HubSchedule]:
    """Newest first."""
    where = {"revision_id": revision_id, "before": before, "limit": limit}
    return tx.all("hub_schedule_page", HubSchedule, graph_id=graph_id, **where)


def count(tx: Transaction, graph_id: str, revision_id: str) -> int:
    row = tx.row("hub_schedule_count", graph_id=graph_id, revision_id=revision_id)
    return 0 if row is None else int(row[0])


def due(tx: Transaction, now_us: int, limit: int) -> list[tuple[str, str]]:
    """(graph id, schedule id), the one that has waited longest first."""
    return [(graph_id, id) for graph_id, id in tx.rows("hub_schedule_due", now_us=now_us, limit=limit)]


def add(tx: Transaction, schedule: HubSchedule) -> bool:
    """False when its alias is taken."""
    return tx.insert("hub_schedule_insert", schedule) == 1


def save(tx: Transaction, old: HubSchedule, new: HubSchedule) -> None:
    tx.save("hub_schedule_update", old, new)


def alias_holder(tx: Transaction, graph_id: str, revision_id: str, alias: str) -> str | None:
    row = tx.row("hub_schedule_alias_holder", graph_id=graph_id, revision_id=revision_id, alias=alias)
    return None if row is None else str(row[0])


def delete(tx: Transaction, graph_id: str, schedule_id: str) -> None:
    """With what came of its fires."""
    tx.run("hub_schedule_fire_delete", graph_id=graph_id, schedule_id=schedule_id)
    tx.run("hub_schedule_delete", graph_id=graph_id, schedule_id=schedule_id)


def add_fire(tx: Transaction, fire: Fire) -> None:
    tx.insert("hub_schedule_fire_insert", fire)


def fires(tx: Transaction, graph_id: str, schedule_id: str, before: int, limit: int) -> list[Fire]:
    """Newest first."""
    where = {"schedule_id": schedule_id, "before": before, "limit": limit}
    return tx.all("hub_schedule_fire_page", Fire, graph_id=graph_id, **where)


def fire_number(tx: Transaction, graph_id: str, schedule_id: str, fire_id: str) -> int | None:
    row = tx.row("hub_schedule_fire_number", graph_id=graph_id, schedule_id=schedule_id, fire_id=fire_id)
    return None if row is None else int(row[0])


def forget_fires(tx: Transaction, before_us: int) -> int:
    """How many went."""
    return tx.run("hub_schedule_fire_forget", before_us=before_us)
