"""Names of graphs to their opaque ids, remembered for a second: a graph's id changes only when it is made anew."""

import time

from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import graph

_CACHE_S = 1.0
_CACHE_MAX = 10_000


class Graphs:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._cache: dict[tuple[str, str], tuple[float, str]] = {}

    async def find(self, environment: str, name: str, make: bool) -> str:
        """The id; an unknown graph is made when `make`, else it is graph.NOWHERE. Refused(invalid_param) for a name."""
        known = self._cache.get((environment, name))
        if known is not None and known[0] > time.monotonic():
            return known[1]
        graph.check_name(name)
        graph_id = await self._store.read(lambda tx: graph.look(tx, environment, name))
        if graph_id == graph.NOWHERE and make:
            graph_id = await self._store.write(lambda tx: graph.use(tx, environment, name))
        if graph_id != graph.NOWHERE:
            self._remember(environment, name, graph_id)
        return graph_id

    def _remember(self, environment: str, name: str, graph_id: str) -> None:
        if len(self._cache) >= _CACHE_MAX:
            self._cache.clear()
        self._cache[environment, name] = (time.monotonic() + _CACHE_S, graph_id)
