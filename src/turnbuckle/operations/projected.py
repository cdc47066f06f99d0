"""A graph's triples for the index: all of a point in pages, and what changes on the way from one point to another.

Each function reads one snapshot. What is valid at a commit never changes, so pages and steps that are read one after
the other belong together.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from turnbuckle.graph import projection
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.projection import Projection, is_there
from turnbuckle.operations import point as points
from turnbuckle.store import edge as edges
from turnbuckle.store import entity as entities
from turnbuckle.store import fact as facts
from turnbuckle.store import quad as quads
from turnbuckle.store.transaction import Transaction

PAGE_ROWS = 5_000
STEP_COMMITS = 32  # that one step spans: a commit has at most some thousand rows
_IN_A_GRAPH = re.compile(r' <[^<>" ]*>$')  # after the object


class Place(msgspec.Struct, frozen=True):
    """Where a page begins; `after` is a place of that kind's rows."""

    kind: str = "entity"
    after: tuple[Any, ...] = entities.START


class Page(msgspec.Struct, frozen=True):
    text: bytes  # N-Quads
    next: Place | None


class Step(msgspec.Struct, frozen=True):
    """From one point to `point`. No text is in two lists; what is removed may not be there, what is added may be."""

    point: str
    removed: list[str]
    added: list[str]
    removed_quads: list[str]  # what has a graph or a blank node
    added_quads: list[str]


# How the rows of each kind are read and shown, in the order of the pages.
_ROWS: dict[str, tuple[Callable[..., list[Any]], Callable[..., tuple[Any, ...]], Callable[..., list[str]]]] = {
    "entity": (entities.page_at, entities.place, Projection.of_entity),
    "fact": (facts.page_at, facts.place, Projection.of_fact),
    "edge": (edges.page_at, edges.place, Projection.of_edge),
    "quad": (quads.page_at, quads.place, lambda _, row: [row.text.decode()]),
}
_STARTS: dict[str, tuple[Any, ...]] = {"fact": facts.START, "edge": edges.START, "quad": quads.START}


def page(tx: Transaction, graph_id: str, point: str, place: Place) -> Page:
    """The triples from a place on, from `Place()` to None. LookupError for a point that is not of this graph."""
    shown, seq = _shown(tx, graph_id, point), projection.seq_of(point)
    read, place_of, show = _ROWS[place.kind]
    rows = read(tx, graph_id, seq, place.after, PAGE_ROWS)
    triples = [triple for row in rows for triple in show(shown, row)]
    if place == Place():
        triples += shown.of_schema()
    text = "".join(f"{triple} .\n" for triple in triples).encode()
    if len(rows) == PAGE_ROWS:
        return Page(text, Place(place.kind, place_of(rows[-1])))
    later = list(_ROWS)[list(_ROWS).index(place.kind) + 1 :]
    return Page(text, Place(later[0], _STARTS[later[0]]) if later else None)


def step(tx: Transaction, graph_id: str, from_point: str, to_point: str) -> Step:
    """The next piece of the way. LookupError for a point that is not of this graph."""
    here, end = projection.seq_of(from_point), projection.seq_of(to_point)
    there = max(end, here - STEP_COMMITS) if end < here else min(end, here + STEP_COMMITS)
    point = to_point if there == end else points.at(tx, graph_id, there)
    before, after = _shown(tx, graph_id, from_point), _shown(tx, graph_id, point)
    changes = _Changes(set(before.of_schema()), set(after.of_schema()))
    _touched_rows(tx, graph_id, after, (here, there), changes)
    _changed_ways(tx, graph_id, (before, here), (after, there), changes)
    return changes.step(point)


def _shown(tx: Transaction, graph_id: str, point: str) -> Projection:
    shown = points.projection_at(tx, graph_id, point)
    if shown is None:
        raise LookupError(f"{point} is no point of the graph")
    return shown


class _Changes:
    """Triples that go and triples that are there afterwards; the latter win."""

    def __init__(self, gone: set[str], there: set[str]) -> None:
        self.gone = gone
        self.there = there

    def step(self, point: str) -> Step:
        removed, removed_quads = _sorted_out(self.gone - self.there)
        added, added_quads = _sorted_out(self.there)
        return Step(point, removed, added, removed_quads, added_quads)


def _touched_rows(tx: Transaction, graph_id: str, shown: Projection, way: tuple[int, int], changes: _Changes) -> None:
    """Each row that began or ended on the way, as its end has it: right also where a part of it was applied before."""
    low, high = sorted(way)
    there = way[1]
    for noun, show in ((entities, shown.of_entity), (facts, shown.of_fact), (edges, shown.of_edge), (quads, _text)):
        rows = [*noun.began(tx, graph_id, low, high), *noun.ended(tx, graph_id, low, high)]
        for row in rows:
            (changes.there if is_there(row, there) else changes.gone).update(show(row))
        if noun is edges:
            gone = [row for row in rows if not is_there(row, there)]
            changes.there.update(_other_copies(tx, graph_id, shown, gone, there))


def _other_copies(tx: Transaction, graph_id: str, shown: Projection, gone: Iterable[Edge], seq: int) -> Iterable[str]:
    """Triples of edges that are still there between the same records: a link may be there twice, or by its inverse."""
    asked = {(row.source_id, kin, row.target_id) for row in gone for kin in shown.kin_of(row.relation_id)}
    ways_back = {(target, relation, source) for source, relation, target in asked}
    for source, relation, target in sorted(asked | ways_back):
        for row in quads.edges_at(tx, graph_id, source, relation, target, seq):
            yield from shown.of_edge(row)


def _changed_ways(
    tx: Transaction, graph_id: str, before: tuple[Projection, int], after: tuple[Projection, int], changes: _Changes
) -> None:
    """Relations that got or lost an inverse or symmetry: all their edges, which is a look through the graph's edges."""
    old, new = before[0].ways, after[0].ways
    changed = {relation for relation in old.keys() | new.keys() if old.get(relation) != new.get(relation)}
    if not changed:
        return
    kin = {kin for shown, _ in (before, after) for relation in changed for kin in shown.kin_of(relation)}
    for (shown, seq), triples in ((before, changes.gone), (after, changes.there)):
        place: tuple[Any, ...] | None = edges.START
        while place is not None:
            rows = edges.page_at(tx, graph_id, seq, place, PAGE_ROWS)
            triples.update(triple for row in rows if row.relation_id in kin for triple in shown.of_edge(row))
            place = edges.place(rows[-1]) if len(rows) == PAGE_ROWS else None


def _text(row: Any) -> list[str]:
    return [row.text.decode()]


def _sorted_out(triples: Iterable[str]) -> tuple[list[str], list[str]]:
    """Plain triples of the default graph, and the others."""
    plain: list[str] = []
    others: list[str] = []
    for text in sorted(triples):
        is_other = "_:" in text or "<<(" in text or _IN_A_GRAPH.search(text.split(" ", 2)[2])
        (others if is_other else plain).append(text)
    return plain, others
