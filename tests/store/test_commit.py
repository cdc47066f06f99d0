"""Commits of records on both databases: operations/commit.py over graph/."""

import json
import threading
from typing import Any

import pytest

from tests.clock import MovableClock
from tests.store.calls import Store, refused
from tests.store.graphs import (
    by_id,
    caller,
    declared,
    detail,
    dry,
    everything,
    feed,
    fields,
    id_of,
    link,
    ref,
    retract,
    row,
    targets,
    view,
    write,
)
from tests.tables import dump
from turnbuckle.operations import commit, commit_log, graph
from turnbuckle.store import commit as commits
from turnbuckle.store import database
from turnbuckle.wire.commit import GraphCommitRequest
from turnbuckle.wire.graph import GraphDeleteQuery

Body = dict[str, Any]


@pytest.fixture
def notes(store: Store) -> Store:
    return declared(store)


def test_a_commit_writes_records_fields_and_links(notes: Store) -> None:
    answer = write(
        notes,
        entity_properties=[row("a", text="hello", word_count=1)],
        triplets=[link("a", "ABOUT", ref("Ann", "Person"), confidence=0.5, evidence="page 1")],
    )

    assert (answer.commit_seq, answer.replayed, answer.no_op) == (1, False, None)
    assert (answer.entities_written, answer.edges_written) == (2, 1)
    assert fields(notes, "a") == {"text": "hello", "word_count": 1}
    shown = detail(notes, id_of("a"))
    assert (shown.entity.type, shown.entity.name) == ("Note", "a")
    (out,) = shown.outgoing
    assert (out.relation, out.entity.type, out.confidence, out.evidence) == ("ABOUT", "Person", 0.5, {"text": "page 1"})
    assert [one.entity.id for one in detail(notes, id_of("Ann", "person")).incoming] == [id_of("a")]


def test_the_written_fields_are_told_by_row(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x", score=1)])

    answer = write(notes, entity_properties=[row("a", remove=["score"], text="y")])

    (one,) = answer.written_properties
    assert (one.type, one.name, one.fields, one.removed_fields) == ("Note", "a", ["text"], ["score"])


def test_a_key_that_was_committed_answers_the_first_commit(notes: Store) -> None:
    first = write(notes, key="k", entity_properties=[row("a", text="x")])
    write(notes, entity_properties=[row("a", text="y")])

    again = write(notes, key="k", entity_properties=[row("a", text="x")])

    assert (again.commit_seq, again.replayed, again.written_properties) == (first.commit_seq, True, [])
    assert again.entities_written == first.entities_written
    assert fields(notes, "a") == {"text": "y"}


def test_a_used_key_with_another_body_is_a_replay_with_a_warning(
    notes: Store, caplog: pytest.LogCaptureFixture
) -> None:
    write(notes, key="k", entity_properties=[row("a", text="x", word_count=1)])
    write(notes, key="k", entity_properties=[row("a", word_count=1, text="x")])  # the same in another order
    assert caplog.records == []

    again = write(notes, key="k", entity_properties=[row("b", text="x")])

    assert again.replayed
    assert "another body" in caplog.text


def test_a_commit_needs_a_key(notes: Store) -> None:
    with refused("missing_idempotency_key"):
        notes.do(commit.commit, GraphCommitRequest(triplets=[]), caller())


def test_nothing_changed_is_no_commit_and_its_key_stays_known(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x")])

    answer = write(notes, key="same", entity_properties=[row("a", text="x")])

    assert (answer.no_op, answer.commit_seq, answer.written_properties) == (True, 1, [])
    assert write(notes, entity_properties=[row("a", text="y")]).commit_seq == 2
    again = write(notes, key="same", entity_properties=[row("a", text="x")])
    assert (again.replayed, again.no_op, again.commit_seq) == (True, True, 1)
    assert fields(notes, "a") == {"text": "y"}


def test_two_commits_of_one_key_at_once_are_one_commit(notes: Store) -> None:
    answers = []
    start = threading.Barrier(4)

    def send() -> None:
        start.wait()
        answers.append(write(notes, key="k", entity_properties=[row("a", text="x")]))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {answer.commit_seq for answer in answers} == {1}
    assert sorted(answer.replayed for answer in answers) == [False, True, True, True]


def test_commits_at_once_get_numbers_without_a_gap(notes: Store) -> None:
    answers = []

    def send(name: str) -> None:
        answers.append(write(notes, key=name, entity_properties=[row(name, text="x")]))

    threads = [threading.Thread(target=send, args=(f"n{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answer.commit_seq for answer in answers) == [1, 2, 3, 4, 5, 6]


# -- records -----------------------------------------------------------------------------------------------------


def test_a_keyed_record_is_the_same_under_another_name(notes: Store) -> None:
    write(notes, entity_properties=[row(ref("Monday", key="n-1"), text="x")])
    write(notes, entity_properties=[row(ref("Tuesday", key="n-1"), word_count=1)])

    shown = detail(notes, id_of("", key="n-1"))

    assert (shown.entity.name, shown.metadata.key) == ("Tuesday", "n-1")
    assert shown.attributes == {"text": "x", "word_count": 1}
    assert detail(notes, id_of("", key="n-1"), as_of_commit_seq=1).entity.name == "Monday"


def test_a_reference_by_id_keeps_the_stored_name_when_its_name_is_the_id(notes: Store) -> None:
    write(notes, entity_properties=[row("Monday", text="x")])

    write(notes, entity_properties=[row(by_id(id_of("Monday")), word_count=1)])
    write(notes, entity_properties=[{**ref("whatever"), "entity_id": id_of("Monday"), "properties": {"score": 1}}])

    assert detail(notes, id_of("Monday")).entity.name == "whatever"
    assert detail(notes, id_of("Monday"), as_of_commit_seq=2).entity.name == "Monday"
    assert fields(notes, "Monday") == {"text": "x", "word_count": 1, "score": 1.0}


def test_an_id_that_never_was_is_refused_with_the_rows_path(notes: Store) -> None:
    body: Body = {"entity_properties": [row("a", text="x"), row(by_id("0" * 32), text="x")]}

    for send in (write, dry):
        with refused("unknown_entity", r"entity_properties\[1\]: .*0{32}") as info:
            send(notes, **body)
        assert info.value.param == "entity_properties[1]"

    assert feed(notes) == []


def test_a_record_that_was_retracted_is_skipped_and_told(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x"), row("b", text="x")])
    retract(notes, entities=[ref("a")])
    body: Body = {
        "entity_properties": [row(by_id(id_of("a")), word_count=1), row(by_id(id_of("b")), word_count=1)],
        "triplets": [link(by_id(id_of("a")), "MENTIONS", "b")],
    }

    tried, answer = dry(notes, **body), write(notes, **body)

    for skipped in (tried.skipped_entities, answer.skipped_entities):
        assert skipped is not None
        assert {(one.path, one.entity_id) for one in skipped} == {
            ("entity_properties[0]", id_of("a")),
            ("triplets[0].source", id_of("a")),
        }
    assert (tried.entity_properties, tried.triplets) == (1, 0)
    assert fields(notes, "b") == {"text": "x", "word_count": 1}
    with refused("not_found"):
        detail(notes, id_of("a"))


def test_a_retracted_record_comes_back_when_it_is_written_by_identity(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x")])
    retract(notes, entities=[ref("a")])

    write(notes, entity_properties=[row("a", word_count=2), row(by_id(id_of("a")), score=2)])

    assert fields(notes, "a") == {"word_count": 2, "score": 2.0}
    assert fields(notes, "a", at=1) == {"text": "x"}
    assert [(seq, kind) for seq, _, kind, _ in feed(notes)] == [(1, "created"), (2, "removed"), (3, "created")]


def test_a_subclass_record_is_addressed_by_the_class_above_it_and_no_other(notes: Store) -> None:
    write(notes, entity_properties=[row("d", "Draft", text="x")])
    id = id_of("d", "draft")

    write(notes, entity_properties=[row(by_id(id, "Note"), word_count=1)])

    assert detail(notes, id).entity.type == "Draft"
    with refused("invalid_request", r"entity_properties\[0\]\.type: got 'Person'"):
        write(notes, entity_properties=[row(by_id(id, "Person"), word_count=1)])


# -- fields ------------------------------------------------------------------------------------------------------


def test_both_shapes_of_properties_write_the_same(notes: Store) -> None:
    typed = [
        {"field": "score", "value": {"f64": 1.5}},
        {"field": "tags", "value": {"keyword_set": ["b", "a", "b"]}},
        {"field": "seen_at", "value": {"date_time": "2026-01-31T09:05:00+01:00"}},
    ]
    write(notes, entity_properties=[{**ref("a"), "properties": typed}])
    write(notes, entity_properties=[row("b", score=1.5, tags=["a", "b"], seen_at="2026-01-31T08:05:00Z")])

    assert fields(notes, "a") == fields(notes, "b")
    assert fields(notes, "a") == {"score": 1.5, "tags": ["a", "b"], "seen_at": "2026-01-31T08:05:00Z"}


def test_merge_keeps_other_fields_and_replace_does_not(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x", score=1), row("b", text="x", score=1)])

    write(notes, entity_properties=[row("a", text="y")])
    answer = write(notes, property_merge="replace", entity_properties=[row("b", text="y"), row("b", word_count=1)])

    assert fields(notes, "a") == {"text": "y", "score": 1.0}
    assert fields(notes, "b") == {"text": "y", "word_count": 1}
    assert answer.written_properties[0].removed_fields == ["score"]


def test_allowed_values_hold_when_written_only(notes: Store) -> None:
    write(notes, entity_properties=[row("a", state="open")])

    with refused("invalid_request", r'state: got "lost", expected one of "open", "done"'):
        write(notes, entity_properties=[row("a", state="lost")])

    assert fields(notes, "a") == {"state": "open"}


# -- links -------------------------------------------------------------------------------------------------------


def test_append_writes_every_triplet_and_skip_unchanged_only_new_ones(notes: Store) -> None:
    write(notes, triplets=[link("a", "MENTIONS", "b")])
    write(notes, triplets=[link("a", "MENTIONS", "b")])
    assert targets(notes, "a") == [("MENTIONS", "b")] * 2
    body: Body = {"edge_idempotency": "skip_unchanged", "triplets": [link("a", "MENTIONS", "b", evidence="new")]}
    body["triplets"] += [link("a", "MENTIONS", "c"), link("a", "MENTIONS", "c")]

    tried, answer = dry(notes, **body), write(notes, **body)

    assert tried.triplets == answer.edges_written == 1
    assert answer.commit.skipped_edges is not None
    assert [one.path for one in answer.commit.skipped_edges] == ["triplets[0]", "triplets[2]"]
    assert targets(notes, "a") == [("MENTIONS", "b")] * 2 + [("MENTIONS", "c")]


def test_a_link_has_fields_evidence_with_a_region_and_a_time(notes: Store) -> None:
    region = {"page": 2, "x0": 0.1, "y0": 0.2, "x1": 0.3, "y1": 0.4, "confidence": 0.9}
    more = {
        "evidence": {"text": "t", "source_id": "s", "region": region, "observation_id": "o"},
        "properties": {"score": 2},
        "valid_time": {"start": "2026-01-01", "granularity": "day"},
    }
    write(notes, triplets=[link("a", "MENTIONS", "b", **more)])

    shown = detail(notes, id_of("a"))

    (out,) = shown.outgoing
    assert out.evidence == more["evidence"]
    assert (out.properties, out.valid_time) == ({"score": 2.0}, more["valid_time"])
    assert [one.evidence["source_id"] for one in shown.observations] == ["s"]


def test_a_relation_takes_its_classes_and_those_below_only(notes: Store) -> None:
    write(notes, triplets=[link(ref("d", "Draft"), "ABOUT", ref("Ann", "Person"))])

    with refused("invalid_request", r"triplets\[0\]\.target: got a Note, expected the range of ABOUT: Person"):
        write(notes, triplets=[link("a", "ABOUT", "b")])


def test_a_many_to_one_relation_has_one_target_at_a_time(notes: Store) -> None:
    ann, bob = ref("Ann", "Person"), ref("Bob", "Person")
    write(notes, triplets=[link("a", "WRITTEN_BY", ann), link("b", "WRITTEN_BY", ann)])

    with refused("invalid_request", r"triplets\[0\]: WRITTEN_BY is many_to_one"):
        write(notes, triplets=[link("a", "WRITTEN_BY", bob)])

    owned = {"subjects": [ref("a")], "relations": ["WRITTEN_BY"]}
    write(notes, replace_owned=owned, triplets=[link("a", "WRITTEN_BY", bob)])
    assert targets(notes, "a") == [("WRITTEN_BY", "Bob")]


# -- replace_owned -----------------------------------------------------------------------------------------------


def test_an_owned_write_removes_what_it_does_not_assert_again(notes: Store) -> None:
    write(
        notes,
        entity_properties=[row("a", text="x", word_count=1, score=1), row("b", word_count=2, score=2)],
        triplets=[link("a", "MENTIONS", "b"), link("a", "MENTIONS", "c"), link("a", "ABOUT", ref("Ann", "Person"))],
    )

    answer = write(
        notes,
        edge_idempotency="skip_unchanged",
        replace_owned={"subjects": [ref("a"), ref("b")], "relations": ["MENTIONS"], "properties": ["word_count"]},
        entity_properties=[row("a", word_count=5)],
        triplets=[link("a", "MENTIONS", "b"), link("a", "MENTIONS", "d")],
    )

    assert answer.owned is not None
    assert (answer.owned.edges_retracted, answer.owned.fields_removed, answer.owned.entities_retracted) == (1, 1, 0)
    assert fields(notes, "a") == {"text": "x", "word_count": 5, "score": 1.0}  # names not listed are untouched
    assert fields(notes, "b") == {"score": 2.0}  # no row: its owned field goes
    assert targets(notes, "a") == [("ABOUT", "Ann"), ("MENTIONS", "b"), ("MENTIONS", "d")]
    assert targets(notes, "a", at=1) == [("ABOUT", "Ann"), ("MENTIONS", "b"), ("MENTIONS", "c")]


def test_a_body_with_only_replace_owned_erases(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x", word_count=1)])

    answer = write(notes, replace_owned={"subjects": [by_id(id_of("a"))], "properties": ["word_count"]})

    assert answer.owned is not None
    assert answer.owned.fields_removed == 1
    assert fields(notes, "a") == {"text": "x"}
    assert detail(notes, id_of("a")).entity.name == "a"  # a subject's name is not written


def test_every_copy_of_an_owned_link_goes(notes: Store) -> None:
    for _ in range(2):
        write(notes, triplets=[link("a", "MENTIONS", "b")])

    answer = write(notes, replace_owned={"subjects": [ref("a")], "relations": ["MENTIONS"]})

    assert answer.owned is not None
    assert answer.owned.edges_retracted == 2
    assert targets(notes, "a") == []


def test_subjects_without_names_remove_nothing_and_a_subject_that_never_was_is_no_mistake(notes: Store) -> None:
    write(notes, entity_properties=[row("a", word_count=1)])
    subjects = [ref("a"), by_id("0" * 32), ref("nobody")]

    first = write(notes, replace_owned={"subjects": subjects})
    second = write(notes, replace_owned={"subjects": subjects[1:], "properties": ["word_count"]})

    assert (first.no_op, second.no_op) == (True, True)
    assert fields(notes, "a") == {"word_count": 1}
    with refused("not_found"):
        detail(notes, id_of("nobody"))


def test_a_retracted_record_goes_with_its_fields_and_all_its_links(notes: Store) -> None:
    write(
        notes,
        entity_properties=[row("a", text="x")],
        triplets=[link("a", "MENTIONS", "b"), link("c", "MENTIONS", "a"), link("c", "MENTIONS", "b")],
    )

    answer = write(notes, replace_owned={"subjects": [], "retract_entities": [ref("a")]})

    assert answer.owned is not None
    assert (answer.owned.edges_retracted, answer.owned.fields_removed, answer.owned.entities_retracted) == (2, 1, 1)
    assert targets(notes, "c") == [("MENTIONS", "b")]
    assert fields(notes, "a", at=1) == {"text": "x"}
    changed = [(id, kind, names) for _, id, kind, names in feed(notes, after=1)]
    assert sorted(changed) == sorted(
        [(id_of("a"), "removed", ["p:text", "r:mentions"]), (id_of("c"), "changed", ["r:mentions"])]
    )


def test_a_retracted_record_keeps_what_the_same_commit_sets(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x", word_count=1)], triplets=[link("a", "MENTIONS", "b")])

    answer = write(
        notes,
        replace_owned={"subjects": [], "retract_entities": [ref("a")]},
        entity_properties=[row("a", word_count=1)],
    )

    assert answer.owned is not None
    assert (answer.owned.fields_removed, answer.owned.entities_retracted) == (1, 0)
    assert (fields(notes, "a"), targets(notes, "a")) == ({"word_count": 1}, [])


# -- past commits ------------------------------------------------------------------------------------------------


def test_every_past_commit_can_be_read(notes: Store) -> None:
    write(notes, entity_properties=[row("a", word_count=1), row("b", word_count=1)])
    write(notes, entity_properties=[row("a", word_count=2)], triplets=[link("a", "MENTIONS", "b")])
    write(notes, replace_owned={"subjects": [], "retract_entities": [ref("b")]})

    a, b = id_of("a"), id_of("b")
    assert everything(notes, 0) == (set(), set(), [])
    assert everything(notes, 1)[1] == {(a, "word_count", b"1"), (b, "word_count", b"1")}
    assert everything(notes, 2)[1:] == ({(a, "word_count", b"2"), (b, "word_count", b"1")}, [(a, "mentions", b)])
    assert everything(notes, 3) == ({(a, "note", b"a")}, {(a, "word_count", b"2")}, [])


def test_a_commit_above_the_head_is_an_error(notes: Store) -> None:
    write(notes, entity_properties=[row("a", word_count=1)])

    with refused("invalid_param", "as_of_commit_seq: got 2, the newest commit is 1"):
        detail(notes, id_of("a"), as_of_commit_seq=2)


def test_the_feed_tells_each_record_and_what_changed(notes: Store) -> None:
    write(
        notes, entity_properties=[row(ref("x", key="k"), text="1")], triplets=[link("b", "MENTIONS", ref("x", key="k"))]
    )
    write(notes, entity_properties=[row(ref("y", key="k"), text="1", score=1)])

    x, b = id_of("", key="k"), id_of("b")
    assert sorted(feed(notes)) == sorted(
        [
            (1, x, "created", ["label", "p:text"]),
            (1, b, "created", ["label", "r:mentions"]),
            (2, x, "changed", ["label", "p:score"]),
        ]
    )


# -- what must still be so ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "fits", "differs"),
    [
        ("expected_head_commit_seq", 1, 0),
        ("expected_ontology_version", 1, 7),
        ("expected_snapshot_token", commit_log.token(1), "other"),
    ],
)
def test_preconditions_are_compared_with_the_head(notes: Store, field: str, fits: object, differs: object) -> None:
    write(notes, entity_properties=[row("a", word_count=1)])

    with refused("conflict", f"preconditions.{field}"):
        write(notes, preconditions={field: differs}, entity_properties=[row("a", word_count=2)])

    assert write(notes, preconditions={field: fits}, entity_properties=[row("a", word_count=2)]).commit_seq == 2


def test_the_time_that_facts_were_seen_is_kept(notes: Store, clock: MovableClock) -> None:
    write(notes, observed_at="2020-01-01T00:00:00Z", entity_properties=[row("a", word_count=1)])

    kept = database.read(notes.database, lambda tx: commits.get(tx, notes.graph_id, 1))
    assert kept is not None
    assert (kept.observed_at_ms, kept.at_ms, kept.made_by) == (1_577_836_800_000, clock.now_ms, b"key:tests")


def test_a_dry_run_writes_nothing(notes: Store) -> None:
    body: Body = {
        "entity_properties": [row("a", text="x")],
        "triplets": [link("a", "MENTIONS", "b")],
        "replace_owned": {"subjects": [ref("a")], "properties": ["word_count"]},
    }
    write(notes, entity_properties=[row("a", word_count=1)])

    answer = dry(notes, **body)

    assert (answer.dry_run, answer.op_count, answer.triplets, answer.entity_properties) == (True, 2, 1, 1)
    assert answer.owned is not None
    assert answer.owned.fields_removed == 1
    assert fields(notes, "a") == {"word_count": 1}
    assert view(notes).ontology_version == 1


def test_a_deleted_graph_leaves_no_row_of_its_own(notes: Store) -> None:
    write(notes, entity_properties=[row("a", text="x")], triplets=[link("a", "MENTIONS", "b")])
    asked = GraphDeleteQuery(confirm="main")

    first = database.write(notes.database, lambda tx: graph.delete(tx, notes.graph_id, asked, caller()))
    while database.write(notes.database, graph.clear_deleted):
        pass
    second = database.write(notes.database, lambda tx: graph.delete(tx, notes.graph_id, asked, caller()))

    assert (first.deleted, second.deleted) == (True, False)
    left = {table for table, rows in dump(notes.location).items() if notes.graph_id in json.dumps(rows, default=str)}
    assert left == {"deleted_graph"}
    with refused("not_found"):
        view(notes)
