"""Watches: what wakes an instance, what its message says, and what is sent how often (lbb-graph 5.3 to 5.6)."""

from tests.store.calls import (
    Store,
    claim,
    claimed,
    claimed_turn,
    complete,
    control,
    fail_for_good,
    inspect,
    refused,
    send,
)
from tests.store.calls import delete as delete_instance
from tests.store.watch_calls import (
    committed,
    declare,
    delete,
    get,
    give_back,
    iri_of,
    link,
    message,
    note,
    notes,
    origin,
    pause,
    pump,
    queue,
    retract,
    run_now,
    starter,
    watch,
)
from turnbuckle.wire import limits


def told(store: Store) -> list[dict[str, object]]:
    """The messages that are ready, each turn completed at once."""
    found = []
    while (task := claim(store)) is not None:
        found.append(message(task))
        complete(store, task)
        pump(store)
    return found


def settled(store: Store, **settings: object) -> None:
    """An ontology and a watch that has nothing to do."""
    declare(store)
    watch(store, **settings)
    pump(store)


# -- what wakes --------------------------------------------------------------------------------------------------


def test_a_new_watch_sends_all_that_is_there_in_the_order_of_iris_at_one_commit(store: Store) -> None:
    declare(store)
    seq = notes(store, ["a", "b", "c"], text="x")

    watch(store)
    pump(store)

    task = claimed(store)
    assert task.turn.workflow_id == "starter.notes"
    assert task.turn.message_id == "starter-notes-1"
    assert message(task) == {
        "type": "instances",
        "workflow": "notes",
        "graph": "main",
        "as_of_commit_seq": seq,
        "reason": "backfill",
        "instances": sorted(iri_of(store, name) for name in "abc"),
        "removed": [],
        "origin": {"kind": "backfill", "trigger": "watch", "target_seq": seq},
    }
    assert origin(task) == message(task)["origin"]


def test_a_change_of_a_watched_field_wakes_its_instance(store: Store) -> None:
    settled(store)

    seq = note(store, "a", text="x")
    pump(store)

    (sent,) = told(store)
    assert sent["reason"] == "changed"
    assert sent["instances"] == [iri_of(store, "a")]
    assert sent["as_of_commit_seq"] == seq
    assert sent["origin"] == {"kind": "commit", "trigger": "watch", "from_seq": seq, "to_seq": seq, "fields": ["text"]}


def test_a_change_of_another_field_or_class_wakes_nothing(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store)
    pump(store)
    told(store)

    note(store, "a", owner="me")
    note(store, "t", type="Topic", text="y")
    pump(store)

    assert told(store) == []
    assert get(store).status.lag_commits == 0


def test_without_fields_every_fact_counts_but_for_excluded_and_owned_ones(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store, fields=None, exclude=["owner"], owns={"properties": ["word_count"], "relations": ["HAS_SOURCE"]})
    pump(store)
    told(store)

    note(store, "a", owner="me")
    note(store, "a", word_count=3)
    link(store, "a", "HAS_SOURCE", "s")
    pump(store)
    assert told(store) == []

    link(store, "a", "ABOUT", "t")
    pump(store)
    assert [one["instances"] for one in told(store)] == [[iri_of(store, "a")]]


def test_an_owned_field_wakes_nothing_even_when_it_is_watched(store: Store) -> None:
    settled(store, fields=["text", "word_count"], owns={"properties": ["word_count"]})
    note(store, "a", text="x")
    pump(store)
    told(store)

    note(store, "a", word_count=1)
    pump(store)

    assert told(store) == []


def test_instances_of_an_owned_class_wake_nothing(store: Store) -> None:
    declare(store)
    declare(
        store,
        {"op": "add_entity_type", "name": "Summary"},
        {"op": "add_super_types", "entity_type": "Summary", "super_types": ["Note"]},
    )
    watch(store, owns={"classes": ["Summary"]})
    pump(store)

    note(store, "s", type="Summary", text="x")
    note(store, "n", text="x")
    pump(store)

    assert [one["instances"] for one in told(store)] == [[iri_of(store, "n")]]


def test_an_instance_of_a_subclass_belongs_to_the_class(store: Store) -> None:
    declare(store)
    declare(
        store,
        {"op": "add_entity_type", "name": "Memo"},
        {"op": "add_super_types", "entity_type": "Memo", "super_types": ["Note"]},
    )
    note(store, "old", type="Memo", text="x")
    watch(store)
    pump(store)
    note(store, "new", type="Memo", text="x")
    pump(store)

    sent = [iri for one in told(store) for iri in one["instances"]]  # type: ignore[attr-defined]
    assert sent == [iri_of(store, "old", "Memo"), iri_of(store, "new", "Memo")]


def test_the_display_name_is_the_field_label(store: Store) -> None:
    settled(store, fields=["label"])
    committed(store, entity_properties=[{"type": "Note", "name": "first", "key": "a", "properties": {"text": "x"}}])
    pump(store)
    told(store)

    committed(store, entity_properties=[{"type": "Note", "name": "second", "key": "a", "properties": {}}])
    pump(store)

    (sent,) = told(store)
    assert sent["origin"]["fields"] == ["label"]  # type: ignore[index]


def test_a_change_of_a_linked_records_field_wakes_the_instances_that_lead_to_it(store: Store) -> None:
    declare(store)
    note(store, "t", type="Topic", text="old")
    for name in ("a", "b"):
        link(store, name, "ABOUT", "t")
    note(store, "c", text="x")
    watch(store, fields=["about/text"])
    pump(store)
    told(store)

    seq = note(store, "t", type="Topic", text="new")
    pump(store)

    (sent,) = told(store)
    assert sent["instances"] == sorted([iri_of(store, "a"), iri_of(store, "b")])
    assert sent["origin"]["fields"] == ["about/text"]  # type: ignore[index]
    assert sent["as_of_commit_seq"] == seq


def test_another_link_wakes_the_instance(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store, fields=["about/label"])
    pump(store)
    told(store)

    link(store, "a", "ABOUT", "t")
    pump(store)

    assert [one["instances"] for one in told(store)] == [[iri_of(store, "a")]]


def test_many_instances_that_lead_to_one_record_are_looked_for_in_pieces(store: Store) -> None:
    declare(store)
    names = [f"n{number}" for number in range(25)]
    for name in names:
        link(store, name, "ABOUT", "t")
    watch(store, fields=["about/text"], batch=64)
    pump(store)
    told(store)

    note(store, "t", type="Topic", text="new")
    pieces = pump(store, most=10)

    sent = [iri for one in told(store) for iri in one["instances"]]  # type: ignore[attr-defined]
    assert sorted(sent) == sorted(iri_of(store, name) for name in names)
    assert pieces >= 3


def test_a_record_that_leaves_the_class_is_told_as_removed(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store)
    pump(store)
    told(store)

    retract(store, "a")
    pump(store)

    (sent,) = told(store)
    assert (sent["instances"], sent["removed"], sent["reason"]) == ([], [iri_of(store, "a")], "changed")


def test_a_record_that_waits_and_leaves_is_told_as_removed_only(store: Store) -> None:
    declare(store)
    notes(store, ["a", "b"], text="x")
    watch(store)

    retract(store, "a")
    pump(store)

    sent = told(store)
    assert [(one["instances"], one["removed"]) for one in sent] == [
        ([iri_of(store, "b")], []),
        ([], [iri_of(store, "a")]),
    ]


def test_a_record_that_comes_back_is_sent_as_an_instance(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    retract(store, "a")
    note(store, "a", text="y")
    pump(store)

    assert [(one["instances"], one["removed"]) for one in told(store)] == [([iri_of(store, "a")], [])]


def test_a_class_declared_anew_sends_all_its_instances(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    note(store, "m", type="Topic", text="x")
    watch(store)
    pump(store)
    told(store)

    declare(store, {"op": "add_super_types", "entity_type": "Topic", "super_types": ["Note"]})
    pump(store)

    (sent,) = told(store)
    assert sent["reason"] == "schema_changed"
    assert sent["instances"] == sorted([iri_of(store, "a"), iri_of(store, "m", "Topic")])
    assert sent["origin"]["ontology_version"] == 2  # type: ignore[index]


def test_a_declaration_that_is_no_matter_of_the_class_sends_nothing(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store)
    pump(store)
    told(store)

    declare(store, {"op": "add_property", "name": "another"})
    pump(store)

    assert told(store) == []


# -- messages ----------------------------------------------------------------------------------------------------


def test_an_instance_waits_once_however_often_it_changes(store: Store) -> None:
    settled(store)
    pause(store)
    first = note(store, "a", text="1")
    last = note(store, "a", text="2")
    note(store, "b", text="1")
    pause(store, paused=False)
    pump(store)

    (sent,) = told(store)
    assert sorted(sent["instances"]) == sorted([iri_of(store, "a"), iri_of(store, "b")])  # type: ignore[call-overload]
    assert (sent["origin"]["from_seq"], sent["origin"]["to_seq"]) == (first, last + 1)  # type: ignore[index]


def test_a_message_holds_a_batch_and_no_two_reasons(store: Store) -> None:
    declare(store)
    notes(store, [f"n{number}" for number in range(5)], text="x")
    watch(store, batch=2)
    pump(store)
    note(store, "new", text="x")
    pump(store)

    sent = told(store)

    assert [len(one["instances"]) for one in sent] == [2, 2, 1, 1]  # type: ignore[arg-type]
    assert [one["reason"] for one in sent] == ["backfill"] * 3 + ["changed"]


def test_a_shard_gets_no_more_messages_than_its_window(store: Store) -> None:
    declare(store)
    notes(store, [f"n{number}" for number in range(10)], text="x")
    watch(store, batch=1, window=3)
    pump(store)

    assert inspect(store, "starter.notes").pending_messages == 3
    shown = get(store)
    assert shown.status.pending == 7
    assert shown.shard_states is not None
    assert shown.shard_states[0].window_full_since is not None
    assert len(told(store)) == 10
    state = get(store).shard_states
    assert state is not None
    assert (state[0].next_message, state[0].window_full_since, state[0].in_flight) == (11, None, None)


def test_messages_of_others_do_not_count_in_the_window(store: Store) -> None:
    declare(store)
    watch(store, window=1)
    send(store, to="starter.notes", id="by hand")
    note(store, "a", text="x")
    pump(store)

    assert inspect(store, "starter.notes").pending_messages == 2


def test_an_id_that_was_used_by_hand_is_passed_over(store: Store) -> None:
    settled(store)
    send(store, to="starter.notes", id="starter-notes-1")
    note(store, "a", text="x")
    pump(store)

    complete(store, claimed(store))
    assert claimed(store).turn.message_id == "starter-notes-2"


def test_shards_share_the_instances_and_one_instance_always_meets_the_same(store: Store) -> None:
    declare(store)
    names = [f"n{number}" for number in range(40)]
    notes(store, names, text="x")
    watch(store, shards=4, batch=64)
    pump(store)

    first = _by_shard(store)
    notes(store, names, text="y")
    pump(store)

    assert set(first) == {"starter.notes", "starter.notes.1", "starter.notes.2", "starter.notes.3"}
    assert sum(len(instances) for instances in first.values()) == 40
    assert _by_shard(store) == first


def _by_shard(store: Store) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    while (task := claim(store)) is not None:
        found.setdefault(task.turn.workflow_id, []).extend(message(task)["instances"])
        assert task.turn.message_id.startswith(task.turn.workflow_id.replace("starter.", "starter-") + "-")
        complete(store, task)
    return {shard: sorted(instances) for shard, instances in found.items()}


def test_instances_with_one_value_go_to_one_shard(store: Store) -> None:
    declare(store)
    for number in range(20):
        note(store, f"n{number}", text="x", owner="me" if number % 2 else "you")
    watch(store, shards=16, route_by="owner", batch=64)
    pump(store)

    found = _by_shard(store)

    mine = sorted(iri_of(store, f"n{number}") for number in range(20) if number % 2)
    assert mine in found.values()
    assert len(found) == 2


def test_a_large_commit_is_read_in_pieces_and_sent_when_it_was_read(store: Store) -> None:
    settled(store, batch=64)
    names = [f"n{number}" for number in range(25)]
    seq = notes(store, names, text="x")
    pump(store, most=10)

    sent = told(store)

    assert {one["as_of_commit_seq"] for one in sent} == {seq}
    assert sorted(iri for one in sent for iri in one["instances"]) == sorted(  # type: ignore[attr-defined]
        iri_of(store, name) for name in names
    )


def test_a_deleted_shard_is_made_again(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    delete_instance(store, "starter.notes")

    note(store, "b", text="x")
    pump(store)

    task = claimed(store)
    assert task.turn.message_id == "starter-notes-2"
    assert message(task)["instances"] == [iri_of(store, "b")]


# -- what a person does ------------------------------------------------------------------------------------------


def test_run_now_sends_all_instances_again(store: Store) -> None:
    declare(store)
    seq = notes(store, ["a", "b"], text="x")
    watch(store)
    pump(store)
    told(store)

    assert run_now(store)
    assert run_now(store)
    pump(store)

    (sent,) = told(store)
    assert sent["reason"] == "refresh"
    assert sent["origin"] == {"kind": "manual", "trigger": "watch", "actor": "server", "target_seq": seq}
    assert len(sent["instances"]) == 2  # type: ignore[arg-type]


def test_a_paused_workflow_reads_and_runs_nothing_and_catches_up(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)

    shown = pause(store)
    seq = note(store, "b", text="x")
    pump(store)

    assert (shown.paused, shown.status.state) == (True, "paused")
    assert claim(store) is None
    assert inspect(store, "starter.notes").status == "paused"
    assert get(store).status.lag_commits == 1
    pause(store, paused=False)
    pump(store)
    assert [one["as_of_commit_seq"] for one in told(store)] == [seq - 1, seq]


def test_a_deleted_name_goes_on_with_its_numbers_and_its_state(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    complete(store, claimed(store), state={"seen": 1})

    assert delete(store)
    assert not delete(store)
    with refused("named_workflow_not_found"):
        get(store)
    watch(store)
    pump(store)

    task = claimed(store)
    assert (task.turn.message_id, bytes(task.state)) == ("starter-notes-2", b'{"seen": 1}')


def test_what_waits_can_be_read(store: Store) -> None:
    declare(store)
    notes(store, [f"n{number}" for number in range(5)], text="x")
    watch(store, batch=1, window=1)
    pump(store)

    first = queue(store, limit=3)
    rest = queue(store, limit=3, cursor=first.next_cursor)

    assert (first.pending, first.has_more, rest.has_more, first.trigger) == (4, True, False, "watch")
    iris = [item.iri for item in (*first.data, *rest.data)]
    assert iris == sorted(iri_of(store, f"n{number}") for number in range(5))[1:]
    assert {item.reason for item in first.data} == {"backfill"}
    assert first.shards is not None
    assert [one.message_id for one in first.shards[0].turns] == ["starter-notes-1"]
    assert first.shards[0].in_flight is not None
    with refused("invalid_param", "cursor"):
        queue(store, cursor="nonsense")


def test_a_pass_is_shown_while_it_goes_on(store: Store) -> None:
    declare(store)
    seq = notes(store, [f"n{number}" for number in range(5)], text="x")

    shown = watch(store)

    assert shown.status.state == "backfilling"
    assert shown.status.backfill.target_seq == seq
    assert queue(store).pass_.reason == "backfill"  # type: ignore[union-attr]
    pump(store)
    assert get(store).status.state == "ready"
    assert get(store).status.counters == {
        "sent_messages": 1,
        "instances": 5,
        "removed": 0,
        "requeued": 0,
        "exhausted": 0,
    }


def test_a_shard_that_stands_still_is_a_failed_workflow(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    fail_for_good(store, claimed(store))

    assert get(store).status.state == "failed"
    control(store, "skip", 1, id="starter.notes")
    assert get(store).status.state == "ready"


# -- giving back -------------------------------------------------------------------------------------------------


def test_an_instance_given_back_comes_after_1_4_and_16_minutes_and_then_no_more(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    one = iri_of(store, "a")

    for attempt, minutes in enumerate((1, 4, 16), start=1):
        task = claimed(store)
        answer = give_back(store, task, one, error="the model was silent")
        assert (answer.attempt, answer.requeued, answer.exhausted) == (attempt, [one], [])
        complete(store, task)
        store.clock.pass_ms(minutes * limits.MINUTE_MS - 1)
        pump(store)
        assert claim(store) is None
        store.clock.pass_ms(1)
        pump(store)

    task = claimed(store)
    assert origin(task) == {"kind": "requeue", "trigger": "watch", "attempt": 3, "note": "the model was silent"}
    assert message(task)["reason"] == "changed"
    answer = give_back(store, task, one, error="still silent")
    assert (answer.requeued, answer.exhausted, answer.not_before) == ([], [one], None)
    status = get(store).status
    assert status.counters is not None
    assert (status.counters["exhausted"], status.counters["requeued"]) == (1, 3)
    assert status.last_error is not None
    assert one in status.last_error
    assert "still silent" in status.last_error
    complete(store, task)
    store.clock.pass_ms(60 * limits.MINUTE_MS)
    pump(store)
    assert claim(store) is None


def test_the_same_given_back_again_changes_nothing(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    task = claimed(store)

    first = give_back(store, task, iri_of(store, "a"))
    store.clock.pass_ms(30_000)
    second = give_back(store, task, iri_of(store, "a"))

    assert first == second
    counters = get(store).status.counters
    assert counters is not None
    assert counters["requeued"] == 1


def test_a_newer_change_is_sent_at_once_and_clears_the_attempt(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    task = claimed(store)
    give_back(store, task, iri_of(store, "a"))
    complete(store, task)

    note(store, "a", text="y")
    pump(store)

    task = claimed(store)
    assert origin(task)["kind"] == "commit"
    assert give_back(store, task, iri_of(store, "a")).attempt == 1


def test_a_repeat_never_replaces_a_change_that_waits(store: Store) -> None:
    settled(store, window=1)
    note(store, "a", text="x")
    pump(store)
    task = claimed(store)
    note(store, "a", text="y")
    pump(store)

    give_back(store, task, iri_of(store, "a"))
    complete(store, task)
    pump(store)

    assert origin(claimed(store))["kind"] == "commit"


def test_only_a_turn_of_the_workflow_gives_records_back(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    foreign = claimed_turn(store, id="a")
    task = claimed(store)

    with refused("invalid_param", "workflow_id"):
        give_back(store, foreign, iri_of(store, "a"))
    with refused("invalid_param", r"items\[0\].instance"):
        give_back(store, task, "https://example.org/1")
    with refused("named_workflow_not_found"):
        give_back(store, task, iri_of(store, "a"), name="other")


def test_a_long_note_fits_into_an_origin(store: Store) -> None:
    settled(store)
    note(store, "a", text="x")
    pump(store)
    task = claimed(store)
    give_back(store, task, iri_of(store, "a"), error="語\n" * 400)
    complete(store, task)
    store.clock.pass_ms(limits.MINUTE_MS)
    pump(store)

    task = claimed(store)
    assert task.turn.origin is not None
    assert len(bytes(task.turn.origin)) <= limits.ORIGIN_BYTES
    assert origin(task)["note"].startswith("語\n")


def test_the_starter_makes_a_named_workflow_with_a_window_of_four(store: Store) -> None:
    declare(store)
    notes(store, ["a"], text="x")

    shown = starter(store, name="notes", owns={"properties": ["word_count"]})
    pump(store)

    assert (shown.starter, shown.version, shown.name, shown.batch) == ("workflow", "v1", "notes", 16)
    assert shown.watch is not None
    assert shown.watch.class_ == "https://littlebigbrain.com/class/note"
    assert [field.path for field in shown.watch.fields] == [["https://littlebigbrain.com/p/text"]]
    assert shown.owns is not None
    assert shown.owns.properties == ["https://littlebigbrain.com/p/word_count"]
    assert get(store).window == 4
    assert bytes(claimed(store).state) == b"{}"
    assert starter(store, name="notes", owns={"properties": ["word_count"]}).updated_at == shown.updated_at
