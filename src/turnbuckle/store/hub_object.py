"""Objects of sessions."""

import msgspec

from turnbuckle.store.hub_rows import Object
from turnbuckle.store.transaction import Transaction


class Listed(msgspec.Struct, frozen=True):
    """An object as a listing shows it."""

    alias: str
    type: str
    updated_at_us: int


def get(tx: Transaction, graph_id: str, session_id: str, alias: str) -> Object | None:
    return tx.one("hub_object_get", Object, graph_id=graph_id, session_id=session_id, alias=alias)


def put(tx: Transaction, old: Object | None, new: Object) -> None:
    if old is None:
        tx.insert("hub_object_insert", new)
    else:
        tx.save("hub_object_update", old, new)


def delete(tx: Transaction, graph_id: str, session_id: str, alias: str) -> None:
    """The object with its thread's items or its graph's elements."""
    for noun in ("hub_thread_item", "hub_graph_element"):
        tx.run(f"{noun}_delete_all", graph_id=graph_id, session_id=session_id, alias=alias)
    tx.run("hub_object_delete", graph_id=graph_id, session_id=session_id, alias=alias)


def page(tx: Transaction, graph_id: str, session_id: str, prefix: str, after: str, limit: int) -> list[Listed]:
    """Objects whose alias begins with `prefix`, by alias, after the alias `after`."""
    where = {"graph_id": graph_id, "session_id": session_id, "after": after, "limit": limit}
    return tx.all("hub_object_page", Listed, first=prefix, beyond=prefix + "\x7f", **where)
