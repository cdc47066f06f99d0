"""What the index is told: every way between two points of a graph ends where a reading from scratch does."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.open_store import OpenStore
from tests.store import graphs as g
from tests.store.calls import Store
from turnbuckle.operations import graph, point, projected
from turnbuckle.store.database import read, write
from turnbuckle.wire.errors import Refused

NAMES = ["a", "b", "c"]
RELATIONS = ["MENTIONS", "WRITTEN_BY", "NEAR", "WROTE_OF"]
LATER = [  # what an ontology may get when there are edges already
    {"op": "set_relation_inverse", "relation": "MENTIONS", "inverse_name": "MENTIONED_BY"},
    {"op": "set_relation_inverse", "relation": "MENTIONS", "inverse_name": "WROTE_OF"},
    {"op": "add_super_types", "entity_type": "Note", "super_types": ["Person"]},
    {"op": "rename_relation", "from": "NEAR", "to": "BESIDE"},
    {"op": "add_property", "name": "later"},
]
GRAPHS = itertools.count(1)
names = st.sampled_from(NAMES)
moves = st.one_of(
    st.tuples(st.just("set"), names, st.integers(0, 2), st.lists(st.sampled_from("xyz"), max_size=3)),
    st.tuples(st.just("link"), names, st.sampled_from(RELATIONS), names),
    st.tuples(st.just("unlink"), names, st.sampled_from(RELATIONS)),
    st.tuples(st.just("retract"), names),
    st.tuples(st.just("rename"), st.sampled_from(["k", "l"]), names),
    st.tuples(st.just("evolve"), st.sampled_from(LATER)),
)


def fresh(open_store: OpenStore) -> Store:
    """A graph of its own, declared."""
    name = f"g{next(GRAPHS)}"
    graph_id = write(open_store.database, lambda tx: graph.use(tx, "test", name))
    store = g.declared(Store(open_store.database, open_store.location, graph_id, open_store.clock))
    g.evolve(
        store, {"op": "add_relation", "name": "NEAR", "symmetric": True}, {"op": "add_relation", "name": "WROTE_OF"}
    )
    return store


def do(store: Store, move: tuple[Any, ...]) -> None:
    match move:
        case ("set", name, count, tags):
            g.write(store, entity_properties=[g.row(name, word_count=count, tags=tags)])
        case ("link", source, relation, target):
            g.write(store, triplets=[g.link(source, relation, target)])
        case ("unlink", source, relation):
            g.write(store, replace_owned={"subjects": [g.ref(source)], "relations": [relation]})
        case ("retract", name):
            g.write(store, replace_owned={"subjects": [], "retract_entities": [g.ref(name)]})
        case ("rename", key, name):
            g.write(store, entity_properties=[g.row(g.ref(name, key=key), text=name)])
        case ("evolve", op):
            g.evolve(store, op)


def triples(store: Store, at: str) -> set[str]:
    """From scratch."""
    found, place = set[str](), projected.Place()
    while place is not None:
        page = read(store.database, lambda tx, place=place: projected.page(tx, store.graph_id, at, place))
        found.update(line.removesuffix(" .") for line in page.text.decode().splitlines())
        place = page.next
    return found


def head(store: Store) -> str:
    return read(store.database, lambda tx: point.head(tx, store.graph_id))


def step(store: Store, here: str, there: str) -> projected.Step:
    return read(store.database, lambda tx: projected.step(tx, store.graph_id, here, there))


@given(
    moves=st.lists(moves, min_size=1, max_size=25), ways=st.lists(st.tuples(st.integers(0), st.integers(0)), max_size=6)
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_way_ends_where_a_reading_from_scratch_does(
    open_store: OpenStore, moves: list[tuple[Any, ...]], ways: list[tuple[int, int]]
) -> None:
    store = fresh(open_store)
    seen = {head(store): triples(store, head(store))}
    for move in moves:
        try:
            do(store, move)
        except Refused:  # the move does not fit what is there
            continue
        seen[head(store)] = triples(store, head(store))
    points = list(seen)

    for start, end in [*ways, (0, len(points) - 1), (len(points) - 1, 0)]:
        here, there = points[start % len(points)], points[end % len(points)]
        index = set(seen[here])
        while here != there:
            taken = step(store, here, there)
            index = (index - {*taken.removed, *taken.removed_quads}) | {*taken.added, *taken.added_quads}
            here = taken.point
        assert index == seen[there]


def test_a_step_that_was_half_applied_can_be_replaced_by_a_longer_one(store: Store) -> None:
    """Its first half adds a value; the longer way must still take it away."""
    g.declared(store)
    start = head(store)
    g.write(store, entity_properties=[g.row("a", word_count=1)])
    half = step(store, start, head(store))
    g.write(store, replace_owned={"subjects": [], "retract_entities": [g.ref("a")]})

    whole = step(store, start, head(store))

    assert set(half.added) - {*whole.removed} == triples(store, head(store))


def test_a_long_way_has_several_steps_of_bounded_size(store: Store) -> None:
    g.declared(store)
    start = head(store)
    for n in range(projected.STEP_COMMITS + 1):
        g.write(store, entity_properties=[g.row("a", word_count=n)])

    first = step(store, start, head(store))

    assert first.point != head(store)
    assert first.point.startswith(f"{projected.STEP_COMMITS}.")
    assert step(store, first.point, head(store)).point == head(store)


def test_a_point_of_another_history_is_none_here(store: Store) -> None:
    g.declared(store)
    g.write(store, entity_properties=[g.row("a", word_count=1)])
    now = head(store)

    for other in ("1.0123456789abcdef", "7." + now.partition(".")[2]):
        with pytest.raises(LookupError):
            step(store, other, now)


def test_literals_have_the_types_of_their_fields(store: Store) -> None:
    g.declared(store)
    xsd = "http://www.w3.org/2001/XMLSchema#"
    fields = {
        "text": 'a"b\\\n\t\0é',
        "word_count": 3,
        "score": 2,
        "seen_at": "2026-01-31T10:05:00+02:00",
        "tags": ["x", "y"],
    }
    g.write(store, entity_properties=[g.row("a", **fields)])

    shown = triples(store, head(store))

    subject = f"<https://littlebigbrain.com/e/{g.id_of('a')}>"
    p = "https://littlebigbrain.com/p/"
    assert {line for line in shown if line.startswith(subject)} == {
        f"{subject} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://littlebigbrain.com/class/note>",
        f'{subject} <http://www.w3.org/2000/01/rdf-schema#label> "a"',
        f'{subject} <{p}text> "a\\"b\\\\\\n\\t\\u0000é"',
        f'{subject} <{p}word_count> "3"^^<{xsd}integer>',
        f'{subject} <{p}score> "2.0"^^<{xsd}double>',
        f'{subject} <{p}seen_at> "2026-01-31T08:05:00Z"^^<{xsd}dateTime>',
        f'{subject} <{p}tags> "x"',
        f'{subject} <{p}tags> "y"',
    }
    draft, note = ("<https://littlebigbrain.com/class/" + name + ">" for name in ("draft", "note"))
    assert f"{draft} <http://www.w3.org/2000/01/rdf-schema#subClassOf> {note}" in shown
