"""Model activities: reserved, answered, kept."""

from turnbuckle.engine.activity import Activity
from turnbuckle.store.transaction import Transaction


def lock(tx: Transaction, graph_id: str, job: str, effect_id: str) -> Activity | None:
    return tx.one("activity_lock", Activity, graph_id=graph_id, job=job, effect_id=effect_id)


def get(tx: Transaction, graph_id: str, job: str, effect_id: str) -> Activity | None:
    return tx.one("activity_get", Activity, graph_id=graph_id, job=job, effect_id=effect_id)


def add(tx: Transaction, activity: Activity) -> bool:
    """False when another request was faster."""
    return tx.insert("activity_insert", activity) == 1


def save(tx: Transaction, old: Activity, new: Activity) -> None:
    tx.save("activity_update", old, new)


def remove(tx: Transaction, activity: Activity) -> None:
    tx.run("activity_remove", graph_id=activity.graph_id, job=activity.job, effect_id=activity.effect_id)


def kept_until(tx: Transaction, before_ms: int, limit: int) -> list[Activity]:
    """Those to be kept no longer than that, without their answers."""
    return tx.all("activity_old", Activity, before_ms=before_ms, limit=limit, nothing=None)


def has_turn(tx: Transaction, activity: Activity) -> bool:
    """Whether the turn that made the call is still there."""
    if activity.instance_id is None:
        return False
    where = {"graph_id": activity.graph_id, "instance_id": activity.instance_id, "turn": activity.turn}
    return tx.row("activity_turn", **where) is not None
