"""Sessions and the feed of their changes."""

from turnbuckle.store.hub_place import Span
from turnbuckle.store.hub_rows import Session, SessionEvent
from turnbuckle.store.transaction import Transaction

_FIRST, _LAST = (-1, ""), (2**62, "~")  # before and after every session


def get(tx: Transaction, graph_id: str, session_id: str) -> Session | None:
    return tx.one("hub_session_get", Session, graph_id=graph_id, session_id=session_id)


def lock(tx: Transaction, graph_id: str, session_id: str) -> Session | None:
    """The session, locked until the operation ends: after its revision."""
    return tx.one("hub_session_lock", Session, graph_id=graph_id, session_id=session_id)


def by_alias(tx: Transaction, graph_id: str, revision_id: str, alias: str) -> Session | None:
    return tx.one("hub_session_by_alias", Session, graph_id=graph_id, revision_id=revision_id, alias=alias)


def add(tx: Transaction, session: Session) -> bool:
    """False when its alias is taken."""
    return tx.insert("hub_session_insert", session) == 1


def save(tx: Transaction, old: Session, new: Session) -> None:
    tx.save("hub_session_update", old, new)


def page(
    tx: Transaction, graph_id: str, revision_id: str, after: tuple[int, str] | None, limit: int, ascending: bool
) -> list[Session]:
    """Sessions of the revision by the time they were made, after the place (created at, id)."""
    at_us, session_id = after or (_FIRST if ascending else _LAST)
    where = {"graph_id": graph_id, "revision_id": revision_id, "at_us": at_us, "after": session_id, "limit": limit}
    if ascending:
        return tx.all("hub_session_oldest_first", Session, **where)
    return tx.all("hub_session_newest_first", Session, **where)


def unsettled(tx: Transaction, limit: int) -> list[tuple[str, str, str]]:
    """(graph id, session id, status) of sessions that are closing, deleting or deleted."""
    return [(graph_id, id, status) for graph_id, id, status in tx.rows("hub_session_unsettled", limit=limit)]


def expired(tx: Transaction, before_us: int, limit: int) -> list[tuple[str, str]]:
    """(graph id, session id) of sessions without alias that were last used before that, with nothing running."""
    return [(graph_id, id) for graph_id, id in tx.rows("hub_session_expired", before_us=before_us, limit=limit)]


def delete(tx: Transaction, graph_id: str, session_id: str) -> None:
    tx.run("hub_session_delete", graph_id=graph_id, session_id=session_id)


def clear(tx: Transaction, graph_id: str, session_id: str, limit: int) -> int:
    """Remove up to `limit` rows of a deleted session from one table; how many went. Executions go by themselves."""
    for noun in ("hub_session_event", "hub_object", "hub_thread_item", "hub_graph_element"):
        removed = tx.run(f"{noun}_clear", graph_id=graph_id, session_id=session_id, limit=limit)
        if removed:
            return removed
    return 0


# -- changes -----------------------------------------------------------------------------------------------------


def add_event(tx: Transaction, event: SessionEvent) -> None:
    tx.insert("hub_session_event_insert", event)


def events(tx: Transaction, graph_id: str, session_id: str, span: Span, limit: int) -> list[SessionEvent]:
    where = {"graph_id": graph_id, "session_id": session_id, "limit": limit, **span.params}
    if span.ascending:
        return tx.all("hub_session_event_oldest_first", SessionEvent, **where)
    return tx.all("hub_session_event_newest_first", SessionEvent, **where)
