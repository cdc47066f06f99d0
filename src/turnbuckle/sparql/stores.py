"""In the index process: a store on disk for each graph, and copies of them that are moved to other commits.

A store carries its point as the name of an empty graph, changed in the same transaction as the facts, so a process
that ends at any moment leaves facts and point that belong together. A store without a point was never finished.
"""

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from turnbuckle.sparql.frames import HEAD, Changes
from turnbuckle.sparql.frames import POINT_GRAPH as _POINT

_COPIES = "copies"
_REMOVALS, _REMOVAL_S = 100, 0.1  # tries to remove a folder; the next start removes what is left


class WrongPoint(Exception):
    """The store is not where the change begins."""


class NotOpen(Exception):
    """A store that this process has not opened."""


class Store:
    """One pyoxigraph store in a folder, and the point it is at."""

    def __init__(self, folder: Path) -> None:
        """OSError when the folder is damaged or used by another process."""
        self.folder = folder
        self.store = ox.Store(str(folder))
        self.point = self._read_point()
        self._moving = threading.Lock()

    def load(self, quads: bytes) -> None:
        """N-Quads, one a line. Blank nodes keep their labels, by which later changes name them."""
        plain, with_nodes = _apart(quads)
        if plain:
            self.store.bulk_load(plain, ox.RdfFormat.N_QUADS, lenient=True)
        if with_nodes:  # bulk_load gives each blank node a new label
            self.store.bulk_extend(ox.parse(with_nodes, ox.RdfFormat.N_QUADS, lenient=True))

    def set_first_point(self, point: str) -> None:
        """What was loaded is whole."""
        self.store.add_graph(ox.NamedNode(_POINT + point))
        self.store.flush()
        self.point = point

    def move(self, from_point: str, point: str, changes: Changes) -> None:
        """All at once, for readers and for the disk. WrongPoint unless it is at `from_point`."""
        with self._moving:
            if self.point != from_point:
                raise WrongPoint(self.point)
            text, functions = _update(changes)
            end = f"DROP SILENT GRAPH <{_POINT}{from_point}> ; CREATE SILENT GRAPH <{_POINT}{point}>"
            self.store.update(text + end, custom_functions=functions)
            self.point = point

    def named_graphs(self) -> list[Any]:
        """Those of the users."""
        return [name for name in self.store.named_graphs() if not _is_point(name)]

    def _read_point(self) -> str:
        """ "" when it has none."""
        return next((n.value.removeprefix(_POINT) for n in self.store.named_graphs() if _is_point(n)), "")


class Stores:
    """All stores under the index's folder. Calls about one graph come one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._heads: dict[str, Store] = {}
        self._copies: dict[int, Store] = {}
        self._building: dict[str, Store] = {}
        self._opening = threading.Lock()
        shutil.rmtree(folder / _COPIES, ignore_errors=True)  # of a process before this one
        (folder / _COPIES).mkdir(parents=True)

    def get(self, graph: str, copy: int) -> Store:
        """NotOpen when it is not: it may have been, in a process before this one."""
        store = self._heads.get(graph) if copy == HEAD else self._copies.get(copy)
        if store is None:
            raise NotOpen(f"store {copy} of graph {graph}")
        return store

    def open(self, graph: str) -> str:
        """The point of the graph's store, "" when it has none that can be used; what cannot be used goes."""
        with self._opening:  # a folder that is open already would look like a damaged one
            return self._open(graph)

    def _open(self, graph: str) -> str:
        if graph in self._heads:
            return self._heads[graph].point
        for folder in sorted((self._folder / graph).glob("*"), reverse=True):
            store = None if graph in self._heads else _finished(folder)
            if store is None:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                self._heads[graph] = store
        return self._heads[graph].point if graph in self._heads else ""

    def rebuild(self, graph: str) -> None:
        """Begin an empty store; the present one answers until `finish`."""
        if (unfinished := self._building.pop(graph, None)) is not None:
            folder = unfinished.folder
            del unfinished  # pyoxigraph closes a store with its last reference
            shutil.rmtree(folder, ignore_errors=True)
        self._building[graph] = Store(self._new_folder(graph))

    def load(self, graph: str, quads: bytes) -> None:
        if graph not in self._building:
            raise NotOpen(f"the new store of graph {graph}")
        self._building[graph].load(quads)

    def finish(self, graph: str, point: str) -> None:
        """The old store's folder stays until the next start: a query may still read it."""
        if graph not in self._building:
            raise NotOpen(f"the new store of graph {graph}")
        store = self._building.pop(graph)
        store.set_first_point(point)
        self._heads[graph] = store
        # A load leaves many small files: merged, a look-up takes half the time.
        threading.Thread(target=store.store.optimize, daemon=True).start()

    def copy(self, graph: str, copy: int) -> str:
        """Files that never change are linked, so this takes milliseconds whatever the graph's size."""
        folder = self._folder / _COPIES / str(copy)
        self.get(graph, HEAD).store.backup(str(folder))
        self._copies[copy] = Store(folder)
        return self._copies[copy].point

    def drop(self, copy: int) -> None:
        store = self._copies.pop(copy, None)
        if store is not None:
            folder = store.folder
            del store
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self, graph: str) -> None:
        self._heads.pop(graph, None)
        self._building.pop(graph, None)
        for _ in range(_REMOVALS):
            shutil.rmtree(self._folder / graph, ignore_errors=True)
            if not (self._folder / graph).exists():
                return
            time.sleep(_REMOVAL_S)  # a query or a merge still holds the store, which writes its last files

    def _new_folder(self, graph: str) -> Path:
        (self._folder / graph).mkdir(parents=True, exist_ok=True)
        last = max((int(path.name) for path in (self._folder / graph).iterdir() if path.name.isdigit()), default=0)
        return self._folder / graph / f"{last + 1:08}"


def _finished(folder: Path) -> Store | None:
    """The store in the folder, None when it is damaged or was never finished."""
    try:
        store = Store(folder)
    except (OSError, RuntimeError):  # pyoxigraph raises either for files that it cannot read
        return None
    return store if store.point else None


def _apart(quads: bytes) -> tuple[bytes, bytes]:
    """Lines without blank nodes, and those that may have one. The fast way takes the first as they are."""
    if b"_:" not in quads:
        return quads, b""
    lines = quads.splitlines(keepends=True)
    return b"".join(line for line in lines if b"_:" not in line), b"".join(line for line in lines if b"_:" in line)


def _is_point(name: Any) -> bool:
    return isinstance(name, ox.NamedNode) and name.value.startswith(_POINT)


# -- changes as one SPARQL update --------------------------------------------------------------------------------


def _update(changes: Changes) -> tuple[str, dict[Any, Any]]:
    """The update, each part ended by `;`, and the functions it calls.

    DATA is the fast way, but it cannot name a blank node: those terms come from functions, by their place in a list.
    """
    parts = []
    if changes.removed:
        parts.append(f"DELETE DATA {{ {' . '.join(changes.removed)} }} ; ")
    if changes.added:
        parts.append(f"INSERT DATA {{ {' . '.join(changes.added)} }} ; ")
    if not changes.removed_quads and not changes.added_quads:
        return "".join(parts), {}
    removed, added = _parse(changes.removed_quads), _parse(changes.added_quads)
    quads = removed + added
    parts += _by_place("DELETE", quads, range(len(removed)))
    parts += _by_place("INSERT", quads, range(len(removed), len(quads)))
    return "".join(parts), _functions(quads)


def _parse(quads: list[str]) -> list[Any]:
    text = "".join(f"{quad} .\n" for quad in quads)
    return list(ox.parse(text, ox.RdfFormat.N_QUADS, lenient=True))


def _by_place(verb: str, quads: list[Any], places: range) -> Iterator[str]:
    """Two parts: the default graph's and the named graphs', which no one pattern can name together."""
    default = [i for i in places if isinstance(quads[i].graph_name, ox.DefaultGraph)]
    named = [i for i in places if not isinstance(quads[i].graph_name, ox.DefaultGraph)]
    terms = "BIND(<urn:s>(?i) AS ?s) BIND(<urn:p>(?i) AS ?p) BIND(<urn:o>(?i) AS ?o)"
    if default:
        yield f"{verb} {{ ?s ?p ?o }} WHERE {{ VALUES ?i {{ {_list(default)} }} {terms} }} ; "
    if named:
        terms += " BIND(<urn:g>(?i) AS ?g)"
        yield f"{verb} {{ GRAPH ?g {{ ?s ?p ?o }} }} WHERE {{ VALUES ?i {{ {_list(named)} }} {terms} }} ; "


def _list(places: list[int]) -> str:
    return " ".join(map(str, places))


def _functions(quads: list[Any]) -> dict[Any, Any]:
    return {
        ox.NamedNode("urn:s"): lambda place: quads[int(place.value)].subject,
        ox.NamedNode("urn:p"): lambda place: quads[int(place.value)].predicate,
        ox.NamedNode("urn:o"): lambda place: quads[int(place.value)].object,
        ox.NamedNode("urn:g"): lambda place: quads[int(place.value)].graph_name,
    }
