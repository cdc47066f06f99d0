"""Session graphs: mutations all or nothing, and the query language (blobhub 3.10)."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbuckle.hub import graph_query
from turnbuckle.hub.graph_element import Direction, Edge, Element, Vertex
from turnbuckle.hub.graph_mutation import Mutated, apply
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_graph import GraphOperation

NOW = "2026-01-31T09:05:00.123456Z"
Json = dict[str, Any]


class Graph:
    """A graph in memory, as a store would give it."""

    def __init__(self, *operations: Json) -> None:
        self.elements: dict[str, Element] = {}
        self.ids = (f"made-{i}" for i in count(1))
        if operations:
            self.change(*operations)

    def change(self, *operations: Json) -> Mutated:
        asked = msgspec.convert(list(operations), list[GraphOperation])
        made = apply(self, asked, lambda: next(self.ids), NOW, "u1")
        self.elements = {k: v for k, v in self.elements.items() if k not in made.removed} | made.saved
        return made

    def element(self, element_id: str) -> Element | None:
        return self.elements.get(element_id)

    def vertices(self) -> Iterable[Vertex]:
        return [e for e in self.elements.values() if isinstance(e, Vertex)]

    def edges(self) -> Iterable[Edge]:
        return [e for e in self.elements.values() if isinstance(e, Edge)]

    def edges_of(self, vertex_id: str, direction: Direction) -> Iterable[Edge]:
        return [e for e in self.edges() if vertex_id == (e.from_id if direction == "out" else e.to_id)]


def vertex(element_id: str, label: str = "Person", **props: Any) -> Json:
    return {"op": "add_vertex", "element_id": element_id, "labels": [label], "props": props}


def edge(source: str, target: str, label: str = "knows", **props: Any) -> Json:
    ends = {"from_id": source, "to_id": target}
    return {"op": "add_edge", "element_id": f"{source}-{target}", "label": label, "props": props, **ends}


def people() -> Graph:
    return Graph(
        vertex("ann", name="Ann", age=40),
        vertex("bob", name="Bob", age=30),
        vertex("cia", name="Cia"),
        vertex("acme", "Company", name="Acme"),
        edge("ann", "bob", since=2020),
        edge("bob", "cia"),
        edge("cia", "ann"),
        edge("ann", "acme", "works_at"),
    )


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "set_vertex_props", "element_id": "ann", "props": {"age": 41}}, {"name": "Ann", "age": 41}),
        ({"op": "set_edge_props", "element_id": "ann-bob", "props": {"a": None}}, {"since": 2020, "a": None}),
        ({"op": "remove_vertex_props", "element_id": "ann", "keys": ["age", "x"], "if_rev": 1}, {"name": "Ann"}),
        ({"op": "remove_edge_props", "element_id": "ann-bob", "keys": ["since"]}, {}),
    ],
)
def test_props_change_key_by_key_and_count_a_revision(operation: Json, expected: Json) -> None:
    graph = people()

    made = graph.change(operation)

    changed = graph.elements[operation["element_id"]]
    assert (changed.props, changed.rev) == (expected, 2)
    assert made.results == [{"op": operation["op"], "element_id": operation["element_id"], "rev": 2}]


def test_what_one_operation_makes_the_next_can_use() -> None:
    graph = Graph()

    made = graph.change({"op": "add_vertex", "labels": ["A"]}, vertex("b"), edge("made-1", "b"))

    assert [change.rev for change in made.changes] == [1, 1, 1]
    assert graph.elements["made-1"].user_id == "u1"


def test_a_removed_vertex_takes_its_edges_along_the_new_ones_too() -> None:
    graph = people()

    made = graph.change(edge("ann", "cia"), {"op": "delete_vertex", "element_id": "ann"})

    assert set(graph.elements) == {"bob", "cia", "acme", "bob-cia"}
    assert {change.element_id for change in made.changes if change.rev is None} == {
        "ann", "ann-bob", "cia-ann", "ann-acme", "ann-cia",
    }  # fmt: skip
    assert "ann-cia" not in made.removed  # it was never stored


@pytest.mark.parametrize(
    "operation",
    [
        vertex("ann"),
        edge("ann", "bob"),
        edge("ann", "nobody"),
        edge("ann", "bob-cia"),
        vertex("new") | {"if_rev": 1},
        {"op": "delete_vertex", "element_id": "nobody"},
        {"op": "delete_vertex", "element_id": "ann-bob"},
        {"op": "delete_edge", "element_id": "ann"},
        {"op": "set_vertex_props", "element_id": "ann", "props": {}, "if_rev": 2},
    ],
)
def test_an_operation_that_does_not_fit_refuses_all(operation: Json) -> None:
    graph = people()
    before = dict(graph.elements)

    with pytest.raises(HubRefused, match=r"operations\[1\]") as refused:
        graph.change(vertex("zoe"), operation)

    assert refused.value.code == "graph_mutation_conflict"
    assert graph.elements == before


def test_an_element_has_a_limit() -> None:
    with pytest.raises(HubRefused) as refused:
        Graph(vertex("a", text="x" * 65_536))

    assert refused.value.code == "invalid_request_body"


def ids(found: list[Any]) -> list[str]:
    return [item["element_id"] for item in found]


def asked(start: list[Any], *steps: list[Any], most: int = 1000) -> list[Any]:
    return graph_query.query(people(), start, steps, most)


@pytest.mark.parametrize(
    ("start", "steps", "expected"),
    [
        (["V"], [], ["ann", "bob", "cia", "acme"]),
        (["E"], [["hasLabel", "works_at"]], ["ann-acme"]),
        (["V", "ann"], [], ["ann"]),
        (["V", "ann-bob"], [], []),
        (["V", "nobody"], [["out"]], []),
        (["E", "ann-bob"], [["inV"]], ["bob"]),
        (["E", "ann-bob"], [["outV"]], ["ann"]),
        (["V", "ann"], [["out"]], ["bob", "acme"]),
        (["V", "ann"], [["out", "knows"]], ["bob"]),
        (["V", "ann"], [["in"]], ["cia"]),
        (["V", "ann"], [["both", "knows"]], ["bob", "cia"]),
        (["V", "ann"], [["outE"]], ["ann-bob", "ann-acme"]),
        (["V", "ann"], [["bothE", "knows"]], ["ann-bob", "cia-ann"]),
        (["V", "ann"], [["out", "knows"], ["out"], ["out"]], ["ann"]),
        (["V"], [["both"], ["dedup"]], ["bob", "acme", "cia", "ann"]),
        (["V"], [["hasLabel", "Person"], ["limit", 2]], ["ann", "bob"]),
        (["V"], [["has", "age", "gte", 30]], ["ann", "bob"]),
        (["V"], [["has", "age", "lt", 40]], ["bob"]),
        (["V"], [["has", "age", "neq", 40]], ["bob", "cia", "acme"]),
        (["V"], [["has", "age", "eq", True]], []),
        (["V"], [["has", "name", "gt", "B"]], ["bob", "cia"]),
        (["V"], [["has", "name", "gt", 5]], []),
    ],
)
def test_steps_lead_through_the_graph(start: list[Any], steps: list[list[Any]], expected: list[str]) -> None:
    assert ids(asked(start, *steps)) == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (["values", "age"], [40, 30]),
        (["properties"], [{"name": "Ann", "age": 40}, {"name": "Bob", "age": 30}, {"name": "Cia"}]),
        (["project", "age", "x"], [{"age": 40, "x": None}, {"age": 30, "x": None}, {"age": None, "x": None}]),
        (["project", ["name"]], [{"name": "Ann"}, {"name": "Bob"}, {"name": "Cia"}]),
        (["count"], [3]),
    ],
)
def test_a_last_step_gives_values(step: list[Any], expected: list[Any]) -> None:
    assert asked(["V"], ["hasLabel", "Person"], step) == expected


def test_an_element_is_answered_with_its_type_and_revision() -> None:
    assert asked(["E", "ann-bob"]) == [
        {
            "type": "edge",
            "element_id": "ann-bob",
            "label": "knows",
            "from_id": "ann",
            "to_id": "bob",
            "props": {"since": 2020},
            "rev": 1,
            "created_at": NOW,
            "updated_at": NOW,
            "user_id": "u1",
        }
    ]


@pytest.mark.parametrize(
    ("start", "steps"),
    [
        ([], []),
        (["X"], []),
        (["V", 1], []),
        (["V", "a", "b"], []),
        (["V"], [[]]),
        (["V"], [["jump"]]),
        (["V"], [[["out"]]]),
        (["V"], [["out", 5]]),
        (["V"], [["out", "a", "b"]]),
        (["V"], [["inV"]]),
        (["E"], [["out"]]),
        (["V"], [["hasLabel"]]),
        (["V"], [["has", "age", "like", 1]]),
        (["V"], [["has", "age"]]),
        (["V"], [["values"]]),
        (["V"], [["values", "age"], ["out"]]),
        (["V"], [["count"], ["limit", 1]]),
        (["V"], [["limit", -1]]),
        (["V"], [["limit", True]]),
        (["V"], [["project"]]),
        (["V"], [["dedup", 1]]),
    ],
)
def test_a_malformed_query_names_its_step(start: list[Any], steps: list[list[Any]]) -> None:
    with pytest.raises(HubRefused, match=r"^(start|steps\[\d\]): ") as refused:
        asked(start, *steps)

    assert refused.value.code == "invalid_graph_query"


def test_a_query_looks_at_a_bounded_number_of_elements() -> None:
    assert asked(["V"], ["count"], most=4) == [4]

    with pytest.raises(HubRefused) as refused:
        asked(["V"], *[["both"]] * 30, ["limit", 1], ["count"], most=3)

    assert refused.value.code == "graph_traversal_limit_exceeded"


names = st.sampled_from("abcd")
operations = st.one_of(
    st.builds(vertex, names),
    st.builds(edge, names, names),
    names.map(lambda name: {"op": "delete_vertex", "element_id": name}),
    st.builds(lambda one, two: {"op": "delete_edge", "element_id": f"{one}-{two}"}, names, names),
)


@given(st.lists(operations, max_size=30))
def test_no_edge_is_ever_without_its_ends(steps: list[Json]) -> None:
    """And one call with all operations that fit leaves what a call for each leaves."""
    graph, fitting = Graph(), []
    for step in steps:
        try:
            graph.change(step)
        except HubRefused:
            continue
        fitting.append(step)
        assert all({e.from_id, e.to_id} <= graph.elements.keys() for e in graph.edges())

    assert Graph(*fitting).elements == graph.elements
