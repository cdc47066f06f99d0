"""Items of threads."""

from turnbuckle.store.hub_place import Span
from turnbuckle.store.hub_rows import ThreadItem
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, session_id: str, alias: str, item_id: str) -> ThreadItem | None:
    where = {"graph_id": graph_id, "session_id": session_id, "alias": alias, "item_id": item_id}
    return tx.one("hub_thread_item_get", ThreadItem, **where)


def add(tx: Transaction, item: ThreadItem) -> None:
    tx.insert("hub_thread_item_insert", item)


def page(tx: Transaction, graph_id: str, session_id: str, alias: str, span: Span, limit: int) -> list[ThreadItem]:
    where = {"graph_id": graph_id, "session_id": session_id, "alias": alias, "limit": limit, **span.params}
    if span.ascending:
        return tx.all("hub_thread_item_oldest_first", ThreadItem, **where)
    return tx.all("hub_thread_item_newest_first", ThreadItem, **where)


def first_after(
    tx: Transaction, graph_id: str, session_id: str, alias: str, item_id: str, not_by: str
) -> ThreadItem | None:
    """The first item by somebody else than `not_by` after an item."""
    item = get(tx, graph_id, session_id, alias, item_id)
    if item is None:
        return None
    where = {"graph_id": graph_id, "session_id": session_id, "alias": alias, "not_by": not_by}
    at = {"at_us": item.created_at_us, "sequence": item.sequence}
    return tx.one("hub_thread_item_first_after", ThreadItem, **where, **at)
