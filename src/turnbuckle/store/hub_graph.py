"""Elements of the graphs in sessions."""

import json
from collections.abc import Iterable

from turnbuckle.store.hub_place import Place, Span
from turnbuckle.store.hub_rows import Element
from turnbuckle.store.transaction import Transaction


class Elements:
    """Those of one graph of a session, in one transaction."""

    def __init__(self, tx: Transaction, graph_id: str, session_id: str, alias: str) -> None:
        self._tx = tx
        self._where = {"graph_id": graph_id, "session_id": session_id, "alias": alias}

    def get(self, element_id: str) -> Element | None:
        return self._tx.one("hub_graph_element_get", Element, element_id=element_id, **self._where)

    def some(self, ids: Iterable[str]) -> list[Element]:
        """Those that are there, by id."""
        return self._tx.all("hub_graph_element_some", Element, ids=json.dumps(sorted(set(ids))), **self._where)

    def add(self, element: Element) -> bool:
        """False when the id is taken."""
        return self._tx.insert("hub_graph_element_insert", element) == 1

    def save(self, old: Element, new: Element) -> None:
        self._tx.save("hub_graph_element_update", old, new)

    def delete(self, element_id: str) -> None:
        self._tx.run("hub_graph_element_delete", element_id=element_id, **self._where)

    def out_of(self, vertex_id: str, limit: int) -> list[Element]:
        """Edges that leave the vertex, by id."""
        return self._tx.all("hub_graph_element_out", Element, element_id=vertex_id, limit=limit, **self._where)

    def into(self, vertex_id: str, limit: int) -> list[Element]:
        """Edges that lead to the vertex, by id."""
        return self._tx.all("hub_graph_element_in", Element, element_id=vertex_id, limit=limit, **self._where)

    def by_creation(self, after: Place | None, type: str | None, limit: int, *, ascending: bool) -> list[Element]:
        at_us, sequence = after or ((-1, -1) if ascending else (2**62, 2**62))
        params = {"at_us": at_us, "sequence": sequence, "type": type, "limit": limit, **self._where}
        if ascending:
            return self._tx.all("hub_graph_element_created_up", Element, **params)
        return self._tx.all("hub_graph_element_created_down", Element, **params)

    def by_change(
        self, since_us: int, after: Place | None, type: str | None, limit: int, *, ascending: bool
    ) -> list[Element]:
        """Those changed after `since_us`, in the order of their last change."""
        bounds = Span(ascending, after, since_us).params
        bounds.pop("before_us", None)
        params = {**bounds, "type": type, "limit": limit, **self._where}
        if ascending:
            return self._tx.all("hub_graph_element_updated_up", Element, **params)
        return self._tx.all("hub_graph_element_updated_down", Element, **params)
