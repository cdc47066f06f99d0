"""Ontologies on both databases: operations/ontology.py over graph/evolve.py."""

import msgspec
import pytest

from tests.store.calls import Store, refused
from tests.store.graphs import (
    OPS,
    caller,
    declared,
    detail,
    evolve,
    fields,
    id_of,
    link,
    ref,
    row,
    targets,
    view,
    write,
)
from turnbuckle.operations import graph, ontology
from turnbuckle.store.database import write as run
from turnbuckle.wire.ontology import OntologyEvolveQuery, OntologyEvolveRequest
from turnbuckle.wire.server import NoQuery


def test_operations_are_applied_in_order_as_one_version(store: Store) -> None:
    answer = evolve(store, *OPS)

    assert (answer.base_ontology_version, answer.ontology_version, answer.no_op) == (0, 1, False)
    assert len(answer.applied) == len(OPS)
    shown = view(store)
    assert shown.ontology_version == 1
    assert shown.entity_type_defs is not None
    assert shown.relation_defs is not None
    draft = next(one for one in shown.entity_type_defs if one.name == "Draft")
    assert (draft.super_types, draft.iri) == (["Note"], "https://littlebigbrain.com/class/draft")
    about = next(one for one in shown.relation_defs if one.name == "ABOUT")
    assert (about.domain, about.range, about.iri) == (["Note"], ["Person"], "https://littlebigbrain.com/r/about")


def test_the_same_again_is_no_version(store: Store) -> None:
    declared(store)

    answer = evolve(store, *OPS[:3])

    assert (answer.no_op, answer.ontology_version, answer.applied) == (True, 1, [])
    assert len(answer.messages) == 3


def test_one_bad_operation_refuses_all(store: Store) -> None:
    with refused("invalid_request", r"ops\[1\]\.entity_type: class 'Nothing' is not declared"):
        evolve(
            store,
            {"op": "add_entity_type", "name": "Note"},
            {"op": "add_super_types", "entity_type": "Nothing", "super_types": ["Note"]},
        )

    assert view(store).entity_types == []


def test_a_dry_run_writes_nothing(store: Store) -> None:
    answer = evolve(store, *OPS, dry_run=True)

    assert (answer.dry_run, answer.ontology_version, len(answer.applied)) == (True, 1, len(OPS))
    assert view(store).ontology_version == 0


def test_preconditions_hold_for_the_ontology_too(store: Store) -> None:
    declared(store)
    op = {"op": "add_entity_type", "name": "Task"}

    with refused("conflict", "expected_ontology_version: expected 0, it is 1"):
        evolve(store, op, preconditions={"expected_ontology_version": 0})

    assert evolve(store, op, preconditions={"expected_ontology_version": 1}).ontology_version == 2


def test_a_renamed_class_keeps_its_records_and_its_iri(store: Store) -> None:
    write(declared(store), entity_properties=[row("a", text="x")])

    evolve(store, {"op": "rename_entity_type", "from": "Note", "to": "Memo"})

    assert detail(store, id_of("a")).entity.type == "Memo"
    write(store, entity_properties=[row("a", "Memo", text="y")])
    assert fields(store, "a") == {"text": "y"}
    shown = view(store).entity_type_defs
    assert shown is not None
    assert next(one.iri for one in shown if one.name == "Memo") == "https://littlebigbrain.com/class/note"
    with refused("invalid_request", "the class name 'Note' is taken, or was that of a renamed one"):
        evolve(store, {"op": "add_entity_type", "name": "Note"})


def test_a_renamed_relation_keeps_its_links(store: Store) -> None:
    write(declared(store), triplets=[link("a", "MENTIONS", "b")])

    evolve(store, {"op": "rename_relation", "from": "MENTIONS", "to": "NAMES"})

    assert targets(store, "a") == [("NAMES", "b")]


def test_counts_are_of_records_that_are_there(store: Store) -> None:
    write(declared(store), entity_properties=[row("a"), row("b"), row("d", "Draft")])
    write(store, replace_owned={"subjects": [], "retract_entities": [ref("b")]})

    counts = {one.name: one.count for one in view(store, counts=True).entity_types}

    assert counts == {"Note": 1, "Draft": 1, "Person": 0}
    assert view(store).entity_types[0].count is None


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ({"op": "remove_entity_type", "name": "Task"}, "there are records of class Task"),
        ({"op": "remove_relation", "name": "MENTIONS"}, "there are MENTIONS links"),
        ({"op": "narrow_relation", "relation": "MENTIONS", "remove_range": ["Draft"]}, "MENTIONS links of a class"),
        (
            {"op": "set_relation_cardinality", "relation": "MENTIONS", "cardinality": "many_to_one"},
            "MENTIONS links that many_to_one does not allow",
        ),
    ],
)
def test_data_in_use_blocks_what_takes_away(store: Store, op: dict[str, object], message: str) -> None:
    evolve(declared(store), {"op": "remove_relation", "name": "MENTIONS"})
    evolve(store, {"op": "add_relation", "name": "MENTIONS", "range": ["Note", "Draft"]})
    evolve(store, {"op": "add_entity_type", "name": "Task"})
    write(
        store,
        entity_properties=[row("t", "Task")],
        triplets=[link("a", "MENTIONS", ref("d", "Draft")), link("a", "MENTIONS", "b")],
    )
    if op["op"] == "narrow_relation":
        op = {**op, "remove_range": ["Note"]}  # of what is left, a Draft is taken and a Note is not

    tried = evolve(store, op, dry_run=True)
    with refused("conflict", message) as info:
        evolve(store, op)

    assert tried.publishable is False
    assert tried.conflicts is not None
    assert message in tried.conflicts[0].message
    assert info.value.details["conflicts"][0]["message"] == tried.conflicts[0].message
    write(
        store,
        replace_owned={"subjects": [], "retract_entities": [ref("a"), ref("d", "Draft"), ref("b"), ref("t", "Task")]},
    )
    assert evolve(store, op).no_op is False


def test_links_that_still_fit_are_no_conflict(store: Store) -> None:
    write(declared(store), triplets=[link(ref("d", "Draft"), "ABOUT", ref("Ann", "Person"))])
    evolve(store, {"op": "widen_relation", "relation": "ABOUT", "add_range": ["Note"]})

    narrowed = evolve(store, {"op": "narrow_relation", "relation": "ABOUT", "remove_range": ["Note"]})
    bounded = evolve(store, {"op": "set_relation_cardinality", "relation": "ABOUT", "cardinality": "one_to_one"})

    assert (narrowed.no_op, bounded.no_op) == (False, False)


def test_an_ontology_of_a_graph_that_is_not_there_is_not_found(store: Store) -> None:
    body = msgspec.convert({"ops": OPS}, OntologyEvolveRequest)
    with refused("not_found", "no graph 'main'"):
        run(store.database, lambda tx: ontology.evolve(tx, "", OntologyEvolveQuery(), body, caller()))


def test_a_graph_can_be_created_again_until_something_is_declared(store: Store) -> None:
    def create() -> object:
        return run(store.database, lambda tx: graph.create(tx, store.graph_id, NoQuery(), caller()))

    assert create() == create()

    declared(store)
    with refused("conflict", "graph 'main' is there"):
        create()
