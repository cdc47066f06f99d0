"""Who is connected to whom in a document: what a walk looks up at every step."""

from collections import defaultdict
from typing import Final

from turnbuckle.hub.catalogue import CATALOGUE, ComponentType
from turnbuckle.hub.document import Component, Connection, Document

NOWHERE: Final = -1  # where an edge leads whose target is not in the document


class Wiring:
    """Of one document; it never changes. Components are named by their index. Of two with one id, the first counts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.components = document.components
        self.has_parallel = any(component.type == "flow.parallel" for component in document.components)
        self.index_of: dict[str, int] = {}
        for component in reversed(document.components):
            self.index_of[component.id] = component.index
        self._place = {component.index: place for place, component in enumerate(document.components)}
        # (component, result) -> targets, in document order
        self._flow: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._results: dict[int, list[str]] = defaultdict(list)
        self._data_into: dict[int, list[tuple[int, Connection]]] = defaultdict(list)
        self._data_from: dict[int, list[tuple[int, Connection]]] = defaultdict(list)
        self._providers: dict[int, dict[str, int]] = defaultdict(dict)
        for connection in document.connections:
            self._connect(connection)

    def _connect(self, connection: Connection) -> None:
        source = self.index_of.get(connection.source_id, NOWHERE)
        target = self.index_of.get(connection.target_id, NOWHERE)
        if connection.kind == "flow":
            if (source, connection.route) not in self._flow:
                self._results[source].append(connection.route)
            self._flow[source, connection.route].append(target)
        elif connection.kind == "data":
            self._data_into[target].append((source, connection))
            self._data_from[source].append((target, connection))
        else:
            self._providers[target][connection.target_route] = source

    def component(self, index: int) -> Component:
        return self.components[self._place[index]]

    def type_of(self, index: int) -> ComponentType | None:
        """None when nobody registered the type, and for NOWHERE."""
        return None if index == NOWHERE else CATALOGUE.get(self.component(index).type)

    def starts(self) -> list[int]:
        return [component.index for component in self.components if component.type == "flow.start"]

    def targets(self, index: int, result: str) -> tuple[int, ...]:
        """Where the flow goes on after that result, in document order."""
        return tuple(self._flow.get((index, result), ()))

    def results_with_edges(self, index: int) -> list[str]:
        """The results that lead on, in document order."""
        return self._results.get(index, [])

    def all_targets(self, index: int) -> list[int]:
        return [target for result in self.results_with_edges(index) for target in self.targets(index, result)]

    def data_into(self, index: int) -> list[tuple[int, Connection]]:
        """(source, edge) in document order."""
        return self._data_into.get(index, [])

    def data_from(self, index: int) -> list[tuple[int, Connection]]:
        """(target, edge) in document order."""
        return self._data_from.get(index, [])

    def providers_of(self, index: int) -> dict[str, Component]:
        """What is connected to its provider inputs, by their routes."""
        found = self._providers.get(index, {})
        return {route: self.component(source) for route, source in found.items() if source != NOWHERE}
