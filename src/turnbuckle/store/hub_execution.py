"""Executions with their events, the values they keep, and the turns that wait for something of the hub."""

from turnbuckle.store.hub_place import Span
from turnbuckle.store.hub_rows import Data, Event, Execution, Wait
from turnbuckle.store.transaction import Transaction

_LAST = 2**62


def get(tx: Transaction, graph_id: str, execution_id: str) -> Execution | None:
    return tx.one("hub_execution_get", Execution, graph_id=graph_id, execution_id=execution_id)


def lock(tx: Transaction, graph_id: str, execution_id: str) -> Execution | None:
    """The execution, locked until the operation ends: after its engine instance."""
    return tx.one("hub_execution_lock", Execution, graph_id=graph_id, execution_id=execution_id)


def add(tx: Transaction, execution: Execution) -> None:
    tx.insert("hub_execution_insert", execution)


def save(tx: Transaction, old: Execution, new: Execution) -> None:
    tx.save("hub_execution_update", old, new)


def page(
    tx: Transaction, graph_id: str, session_id: str, after: int | None, limit: int, ascending: bool
) -> list[Execution]:
    """Executions of a session in the order they were made, after the number `after`."""
    where = {"graph_id": graph_id, "session_id": session_id, "limit": limit}
    if ascending:
        return tx.all("hub_execution_oldest_first", Execution, after=after or 0, **where)
    return tx.all("hub_execution_newest_first", Execution, after=_LAST if after is None else after, **where)


def open_in(tx: Transaction, graph_id: str, session_id: str, limit: int) -> list[str]:
    """Ids of executions that have not ended, the oldest first."""
    return [id for (id,) in tx.rows("hub_execution_open", graph_id=graph_id, session_id=session_id, limit=limit)]


def of_session(tx: Transaction, graph_id: str, session_id: str, limit: int) -> list[str]:
    """Ids of executions, whatever became of them."""
    return [id for (id,) in tx.rows("hub_execution_of_session", graph_id=graph_id, session_id=session_id, limit=limit)]


def open_children(tx: Transaction, graph_id: str, parent_id: str) -> list[str]:
    """Ids of executions that one has started and that have not ended."""
    return [id for (id,) in tx.rows("hub_execution_children", graph_id=graph_id, parent_id=parent_id)]


def stopping(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    """(graph id, execution id) of those that were told to stop and have not ended."""
    return [(graph_id, id) for graph_id, id in tx.rows("hub_execution_stopping", limit=limit)]


def untold(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    """(graph id, execution id) of those that have ended while nobody was told."""
    return [(graph_id, id) for graph_id, id in tx.rows("hub_execution_untold", limit=limit)]


def has_open_in_revision(tx: Transaction, graph_id: str, revision_id: str) -> bool:
    return tx.row("hub_execution_open_in_revision", graph_id=graph_id, revision_id=revision_id) is not None


def delete(tx: Transaction, graph_id: str, execution_id: str) -> None:
    """Its row, events and values; not the engine's instances."""
    for noun in ("hub_event", "hub_data"):
        tx.run(f"{noun}_clear", graph_id=graph_id, execution_id=execution_id)
    tx.run("hub_execution_delete", graph_id=graph_id, execution_id=execution_id)


def instances(tx: Transaction, graph_id: str, instance_id: str) -> list[str]:
    """The engine's instances of an execution: its own first, then those of its branches, `ID.more`."""
    rows = tx.rows("hub_instances", graph_id=graph_id, first=instance_id, beyond=instance_id + "/")
    return [id for (id,) in rows if id == instance_id or id.startswith(instance_id + ".")]


# -- events and values -------------------------------------------------------------------------------------------


def add_event(tx: Transaction, event: Event) -> bool:
    """False when the event was told before."""
    return tx.insert("hub_event_insert", event) == 1


def events(tx: Transaction, graph_id: str, execution_id: str, span: Span, limit: int) -> list[Event]:
    where = {"graph_id": graph_id, "execution_id": execution_id, "limit": limit, **span.params}
    if span.ascending:
        return tx.all("hub_event_oldest_first", Event, **where)
    return tx.all("hub_event_newest_first", Event, **where)


def add_data(tx: Transaction, data: Data) -> None:
    tx.insert("hub_data_insert", data)


def data_page(tx: Transaction, graph_id: str, execution_id: str, limit: int, through: int = _LAST) -> list[Data]:
    """Values in the order they were kept, up to the one with the sequence `through`."""
    where = {"graph_id": graph_id, "execution_id": execution_id}
    return tx.all("hub_data_page", Data, through=through, limit=limit, **where)


def data(tx: Transaction, graph_id: str, execution_id: str, data_id: str) -> Data | None:
    return tx.one("hub_data_get", Data, graph_id=graph_id, execution_id=execution_id, data_id=data_id)


# -- waiting -----------------------------------------------------------------------------------------------------


def add_wait(tx: Transaction, wait: Wait) -> None:
    tx.insert("hub_wait_insert", wait)


def waits(tx: Transaction, graph_id: str, topic: str) -> list[Wait]:
    return tx.all("hub_wait_page", Wait, graph_id=graph_id, topic=topic)


def remove_wait(tx: Transaction, wait: Wait) -> None:
    where = {"instance_id": wait.instance_id, "turn": wait.turn, "signal": wait.signal}
    tx.run("hub_wait_delete", graph_id=wait.graph_id, topic=wait.topic, **where)
