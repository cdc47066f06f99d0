"""Named workflows: settings and what they refuse, changes while work is about, and what is left behind."""

import threading
from functools import partial
from typing import Any

import pytest

from tests.open_store import OpenStore
from tests.store import calls
from tests.store.calls import Store, claim, claimed, complete, inspect, refused, start
from tests.store.test_doctor import damage
from tests.store.watch_calls import (
    T_V1,
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
    put,
    queue,
    starter,
    watch,
)
from turnbuckle.operations import budget, doctor, graph, named, named_reads, named_runs, sender, triggered
from turnbuckle.operations import watch as watch_operations
from turnbuckle.store import named as names
from turnbuckle.store.database import Lane, read, write
from turnbuckle.wire.named import (
    NamedWorkflowDeleteQuery,
    NamedWorkflowRunQuery,
    NamedWorkflowRunResultsQuery,
    NamedWorkflowRunsQuery,
    NamedWorkflowRunStatsQuery,
    NamedWorkflowsQuery,
    TriggeredWorkflowsQuery,
)
from turnbuckle.wire.run import WorkflowRunCounts, WorkflowRunInput, WorkflowRunResultsReport, WorkflowRunUsage

# -- settings ----------------------------------------------------------------------------------------------------


def test_a_workflow_is_shown_as_it_was_asked_for(store: Store) -> None:
    declare(store)
    asked = {
        "name": "notes",
        "workflow": T_V1,
        "triggers": [{"id": "w", "watch": {"class": "note"}}, {"review": {"workflow": "other"}}],
        "shards": 3,
        "route_by": "owner",
        "window": 9,
        "batch": 5,
        "owns": {"properties": ["word_count"], "classes": ["Topic"], "relations": ["has_source"]},
        "fan_in": "sum",
        "on_exhausted": "skip",
        "budget_usd_per_month": 1.5,
    }

    shown = put(store, asked)

    assert (shown.shards, shown.window, shown.batch, shown.fan_in) == (3, 9, 5, "sum")
    assert (shown.on_exhausted, shown.budget_usd_per_month, shown.paused) == ("skip", 1.5, False)
    assert shown.route_by == "https://littlebigbrain.com/p/owner"
    assert [(one.id, one.kind) for one in shown.triggers] == [("w", "watch"), ("review", "review")]
    assert shown.triggers[1].review is not None
    assert shown.triggers[1].review.workflow == "other"
    assert shown.details is not None
    assert shown.details.every_field
    for id in ("starter.notes", "starter.notes.1", "starter.notes.2", "starter.notes.sum"):
        made = inspect(store, id)
        assert (made.workflow_type, made.version, made.on_exhausted, bytes(made.state)) == ("t", "v1", "skip", b"{}")
    assert read(store.database, partial(budget.limit_of, graph_id=store.graph_id, workflow="notes")) == 1_500_000


def test_the_same_settings_again_change_nothing(store: Store) -> None:
    declare(store)
    first = watch(store)
    store.clock.pass_ms(5)

    assert watch(store).updated == first.updated
    assert watch(store, batch=3).updated != first.updated


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"name": "A"}, "name"),
        ({"class_": "Nothing"}, "watch"),
        ({"fields": ["nothing"]}, "watch"),
        ({"owns": {"properties": ["nothing"]}}, "owns"),
        ({"route_by": "nothing"}, "route_by"),
        ({"fan_in": "1"}, "fan_in"),
        ({"fan_in": "Sum"}, "fan_in"),
        ({"workflow": {"workflow_type": "lbb.values", "version": "v1"}}, "workflow"),
        ({"triggers": [{"id": "a b", "watch": {"class": "Note"}}]}, "triggers[0].id"),
        ({"triggers": [{}]}, "triggers[0]"),
        ({"triggers": [{"review": {}}]}, "triggers"),
        ({"triggers": [{"watch": {"class": "Note"}}, {"watch": {"class": "Note"}}]}, "triggers"),
        ({"triggers": [{"watch": {"class": "Note"}, "review": {}}]}, "triggers[0]"),
        ({"triggers": [{"id": "x", "watch": {"class": "Note"}}, {"id": "x", "review": {}}]}, "triggers"),
        ({"triggers": [{"watch": {"class": "Note"}}, {"review": {"workflow": "A b"}}]}, "name"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_field(store: Store, more: dict[str, Any], param: str) -> None:
    declare(store)
    watched = {"class": more.get("class_", "Note"), "fields": more.get("fields", ["text"])}
    rest = {name: value for name, value in more.items() if name not in ("class_", "fields")}
    body = {"name": "notes", "workflow": T_V1, "triggers": [{"watch": watched}], **rest}

    with refused("workflow_param_invalid") as info:
        put(store, body)

    assert info.value.param == param


@pytest.mark.parametrize(
    ("more", "code", "param"),
    [
        ({"starter": "nothing"}, "not_found", "starter"),
        ({"starter": "workflow@v2"}, "not_found", "starter"),
        ({"starter": "values.extract"}, "workflow_param_invalid", "starter"),
        ({"starter": "search.embed@v1"}, "workflow_param_invalid", "starter"),
        ({"params": {"a": 1}}, "workflow_param_invalid", "params"),
        ({"gate": {"below": 0.5}}, "workflow_param_invalid", "gate"),
        ({"watch": None}, "workflow_param_invalid", "watch"),
        ({"workflow": None}, "workflow_param_invalid", "workflow"),
        ({"watch": {"class": "Nothing"}}, "workflow_param_invalid", "watch"),
        ({"name": "Bad"}, "workflow_param_invalid", "name"),
    ],
)
def test_a_wrong_starter_or_setting_of_it_is_refused(store: Store, more: dict[str, Any], code: str, param: str) -> None:
    declare(store)

    with refused(code) as info:
        starter(store, **more)

    assert info.value.param == param


def test_a_starter_without_a_name_gets_that_of_its_class(store: Store) -> None:
    declare(store)

    assert starter(store, starter="workflow@v1").name == "note"
    assert starter(store, watch={"class": "<https://littlebigbrain.com/class/topic>"}).name == "topic"


def test_a_request_by_starter_keeps_what_it_has_no_word_for(store: Store) -> None:
    declare(store)
    watch(store, shards=3, fan_in="sum", window=9)

    starter(store, name="notes", batch=2)

    shown = get(store)
    assert (shown.shards, shown.fan_in, shown.window, shown.batch) == (3, "sum", 9, 2)


def test_workflows_are_listed_by_name_a_page_at_a_time(store: Store) -> None:
    declare(store)
    for name in ("b", "a", "c"):
        watch(store, name)

    first: Any = store.look(named_reads.get, NamedWorkflowsQuery(limit=2))
    rest: Any = store.look(named_reads.get, NamedWorkflowsQuery(limit=2, cursor=first.next_cursor))
    twins: Any = store.look(triggered.get, TriggeredWorkflowsQuery())
    one: Any = store.look(triggered.get, TriggeredWorkflowsQuery(name="a", starter="workflow"))

    assert [one.name for one in (*first.data, *rest.data)] == ["a", "b", "c"]
    assert (first.has_more, rest.has_more) == (True, False)
    assert [one.name for one in twins.data] == ["a", "b", "c"]
    assert one.name == "a"
    with refused("named_workflow_not_found"):
        get(store, "d")
    with refused("triggered_workflow_not_found"):
        store.look(triggered.get, TriggeredWorkflowsQuery(name="d"))


def test_an_unknown_graph_has_nothing_to_watch(store: Store) -> None:
    nowhere = Store(store.database, store.location, graph.NOWHERE, store.clock)

    with refused("workflow_param_invalid", "none is declared"):
        watch(nowhere, fields=None)
    assert store.look(named_reads.get, NamedWorkflowsQuery()).data == []


# -- changes -----------------------------------------------------------------------------------------------------


def test_another_version_waits_for_empty_inboxes(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store)
    pump(store)
    v2 = {"workflow_type": "t", "version": "v2"}

    with refused("workflow_shards_busy"):
        watch(store, workflow=v2)
    complete(store, claimed(store))
    watch(store, workflow=v2)
    note(store, "b", text="x")
    pump(store)

    assert claim(store) is None
    assert message(claimed(store, pairs=(("t", "v2"),)))["instances"] == [iri_of(store, "b")]


def test_other_shards_wait_for_empty_inboxes_and_share_what_waits(store: Store) -> None:
    declare(store)
    notes(store, [f"n{number}" for number in range(20)], text="x")
    watch(store, batch=1, window=1)
    pump(store)

    with refused("workflow_shards_busy"):
        watch(store, shards=4, batch=1, window=1)
    pause(store)
    pump(store)
    calls.control(store, "resume", id="starter.notes")
    complete(store, claimed(store))
    watch(store, shards=4, batch=1, window=1)

    assert {item.shard for item in queue(store).data} == {0, 1, 2, 3}


def test_other_fields_begin_a_new_pass_with_a_new_queue(store: Store) -> None:
    declare(store)
    notes(store, [f"n{number}" for number in range(5)], text="x")
    note(store, "t", type="Topic", text="x")
    watch(store, batch=1, window=1)
    pump(store)
    complete(store, claimed(store))

    watch(store, class_="Topic", batch=1, window=1)
    pump(store)

    task = claimed(store)
    assert (message(task)["reason"], message(task)["instances"]) == ("refresh", [iri_of(store, "t", "Topic")])
    assert origin(task)["note"] == "the watch was changed"
    assert read(store.database, doctor.problems) == []
    while write(store.database, watch_operations.clear_old_queue, Lane.BULK):
        pass


def test_the_queue_of_a_deleted_workflow_goes_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(store)
    for name in ("a", "b"):
        link(store, name, "ABOUT", "t")
    watch(store, fields=["about/text"])
    write(store.database, partial(named.advance, graph_id=store.graph_id, name="notes", most=10))
    pause(store)
    pause(store, paused=False)
    monkeypatch.setattr(watch_operations, "ROWS_AT_ONCE", 1)

    delete(store)

    assert read(store.database, doctor.problems) == []
    pieces = 0
    while write(store.database, watch_operations.clear_old_queue, Lane.BULK):
        pieces += 1
    assert pieces >= 1


def test_a_deletion_is_confirmed_by_the_name(store: Store) -> None:
    declare(store)
    watch(store)

    with refused("invalid_param", "confirm"):
        store.do(named.delete, NamedWorkflowDeleteQuery(name="notes", confirm="note"))


def test_an_instance_that_was_there_before_is_taken_over(store: Store) -> None:
    declare(store)
    start(store, "starter.notes", state={"mine": 1})
    note(store, "a", text="x")
    watch(store)
    pump(store)

    assert bytes(claimed(store).state) == b'{"mine": 1}'


def test_a_new_graph_of_an_old_name_begins_anew(store: Store) -> None:
    declare(store)
    watch(store)
    again = write(store.database, lambda tx: graph.use(tx, "test", "other"))
    other = Store(store.database, store.location, again, store.clock)
    declare(other)
    note(other, "a", text="x")

    watch(other)
    pump(other)

    assert claimed(other).turn.message_id == "starter-notes-1"
    assert claim(store) is None


# -- review answers and other messages ---------------------------------------------------------------------------


def test_workflows_with_a_review_trigger_are_found_by_whose_answers_they_get(store: Store) -> None:
    declare(store)
    watched = {"watch": {"class": "Note"}}
    put(store, {"name": "own", "workflow": T_V1, "triggers": [watched, {"review": {}}]})
    put(store, {"name": "of-other", "workflow": T_V1, "triggers": [watched, {"review": {"workflow": "other"}}]})
    watch(store, "none")

    def found(of: str | None) -> list[str]:
        return [one.name for one in read(store.database, lambda tx: names.with_review_trigger(tx, store.graph_id, of))]

    assert (found("own"), found("other"), found("none"), found(None)) == (
        ["own"],
        ["of-other"],
        [],
        ["of-other", "own"],
    )


def test_a_message_under_its_own_id_is_delivered_once_beside_the_numbers(store: Store) -> None:
    declare(store)
    watch(store)

    def deliver() -> bool:
        def work(tx: Any) -> bool:
            return sender.deliver(tx, named.locked(tx, store.graph_id, "notes"), 0, "review-1-r1", b'{"type":"x"}')

        return write(store.database, work)

    assert (deliver(), deliver()) == (True, False)
    assert claimed(store).turn.message_id == "review-1-r1"
    assert get(store).shard_states[0].next_message == 1  # type: ignore[index]


# -- runs --------------------------------------------------------------------------------------------------------


def test_runs_of_all_shards_are_listed_summed_and_looked_up(store: Store) -> None:
    declare(store)
    notes(store, [f"n{number}" for number in range(8)], text="x")
    watch(store, shards=2, batch=1)
    pump(store)
    told = 0
    while (task := claim(store)) is not None:
        one = WorkflowRunInput(label="n", iri=message(task)["instances"][0], outcome="written", values=[])
        report = WorkflowRunResultsReport(inputs=[one], counts=WorkflowRunCounts(written=1))
        store.clock.pass_ms(10)
        complete(store, task, results=report, usage=WorkflowRunUsage(calls=2, cost_micro_usd=5))
        pump(store)
        told += 1

    page: Any = store.look(named_runs.runs, NamedWorkflowRunsQuery(name="notes", limit=5))
    rest: Any = store.look(named_runs.runs, NamedWorkflowRunsQuery(name="notes", limit=5, cursor=page.next_cursor))
    stats: Any = store.look(named_runs.run_stats, NamedWorkflowRunStatsQuery(name="notes"))
    run_id = page.data[0].id
    one_run: Any = store.look(named_runs.get_run, NamedWorkflowRunQuery(name="notes", id=run_id))

    assert told == 8
    assert [run.id for run in (*page.data, *rest.data)] == sorted(
        (r.id for r in (*page.data, *rest.data)), reverse=True
    )
    assert (len(page.data), len(rest.data), rest.has_more) == (5, 3, False)
    assert {run.identity for run in (*page.data, *rest.data)} == {"starter.notes", "starter.notes.1"}
    assert (stats.runs, stats.outcomes, stats.running_ms) == (8, {"done": 8}, 80)
    assert (stats.usage.calls, stats.usage.cost_micro_usd, stats.counts.written) == (16, 40, 8)
    assert (one_run.run.id, one_run.calls, one_run.calls_truncated) == (run_id, [], False)
    assert store.look(named_runs.runs, NamedWorkflowRunsQuery(name="notes", outcome="failed")).data == []
    with refused("workflow_run_not_found"):
        store.look(named_runs.get_run, NamedWorkflowRunQuery(name="notes", id="nothing"))


def test_what_runs_did_with_their_inputs_is_listed(store: Store) -> None:
    declare(store)
    notes(store, ["a", "b", "c"], text="x")
    watch(store)
    pump(store)
    task = claimed(store)
    outcomes: list[Any] = ["written", "failed", "review"]
    inputs = [
        WorkflowRunInput(label=iri[-4:], iri=iri, outcome=outcome, values=[])
        for iri, outcome in zip(message(task)["instances"], outcomes, strict=True)
    ]
    counts = WorkflowRunCounts(written=1, failed=1, review=1)
    complete(store, task, results=WorkflowRunResultsReport(inputs=inputs, counts=counts))
    run_id = store.look(named_runs.runs, NamedWorkflowRunsQuery(name="notes")).data[0].id

    def listed(**query: Any) -> Any:
        return store.look(named_runs.run_results, NamedWorkflowRunResultsQuery(name="notes", **query))

    everything, first = listed(), listed(limit=2, run=run_id)
    rest = listed(limit=2, run=run_id, cursor=first.next_cursor)

    assert [one.outcome for one in everything.data] == outcomes
    assert [one.id for one in (*first.data, *rest.data)] == [one.id for one in everything.data]
    assert all(one.id.startswith("wrr_") and one.run == run_id for one in everything.data)
    assert (first.has_more, rest.has_more) == (True, False)
    assert (first.run_counts.counts, first.run_counts.inputs, first.run_counts.listed) == (counts, 3, 3)
    assert [one.outcome for one in listed(outcome="failed,review").data] == ["failed", "review"]
    assert [one.outcome for one in listed(iri=inputs[0].iri).data] == ["written"]
    with refused("invalid_param", "cursor"):
        listed(cursor="nonsense")


# -- several servers ---------------------------------------------------------------------------------------------


def test_several_pumps_send_each_change_once(store: Store) -> None:
    """As several servers on one store, or a server and one that is just being replaced."""
    declare(store)
    names_of = [f"n{number}" for number in range(60)]
    notes(store, names_of[:30], text="x")
    watch(store, shards=3, batch=4, window=128)
    broken: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(25):
                write(store.database, partial(named.advance, graph_id=store.graph_id, name="notes", most=7))
        except BaseException as exc:
            broken.append(exc)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for name in names_of[30:]:
        note(store, name, text="y")
    for thread in threads:
        thread.join()
    pump(store)

    assert broken == []
    sent: list[str] = []
    ids: set[str] = set()
    while (task := claim(store)) is not None:
        sent += message(task)["instances"]
        ids.add(task.turn.message_id)
        complete(store, task)
    assert sorted(sent) == sorted(iri_of(store, name) for name in names_of)
    states = get(store).shard_states
    assert states is not None
    assert len(ids) == sum(state.next_message - 1 for state in states)


def test_a_record_that_changes_while_its_sources_are_looked_for_is_looked_through_again(store: Store) -> None:
    declare(store)
    for number in range(6):
        link(store, f"n{number}", "ABOUT", "t")
    watch(store, fields=["about/text"], batch=64)
    pump(store)
    complete(store, claimed(store))
    note(store, "t", type="Topic", text="first")
    advance = partial(named.advance, graph_id=store.graph_id, name="notes", most=2)
    write(store.database, advance)
    write(store.database, advance)

    last = note(store, "t", type="Topic", text="second")
    pump(store, most=2)

    newest: dict[str, int] = {}
    while (task := claim(store)) is not None:
        newest |= dict.fromkeys(message(task)["instances"], message(task)["as_of_commit_seq"])
        complete(store, task)
        pump(store)
    assert newest == {iri_of(store, f"n{number}"): last for number in range(6)}


def test_what_turns_gave_back_is_forgotten_with_them(store: Store) -> None:
    declare(store)
    note(store, "a", text="x")
    watch(store)
    pump(store)
    task = claimed(store)
    give_back(store, task, iri_of(store, "a"))
    calls.delete(store, "starter.notes")

    note(store, "a", text="y")
    pump(store)

    again = claimed(store)
    assert again.turn.number == task.turn.number
    assert give_back(store, again, iri_of(store, "a"), error="other").attempt == 1
    assert not write(store.database, watch_operations.forget_given, Lane.BULK)


def test_the_doctor_finds_watches_and_waiting_instances_that_belong_to_nothing(open_store: OpenStore) -> None:
    graph_id = write(open_store.database, lambda tx: graph.use(tx, "test", "main"))
    store = Store(open_store.database, open_store.location, graph_id, open_store.clock)
    declare(store)
    notes(store, ["a", "b"], text="x")
    watch(store, batch=1, window=1)
    pump(store)

    damage(store.database, "update watch set name = 'nobody', queue_id = 'gone'")

    problems = read(store.database, doctor.problems)
    assert any("1 watches belong to nothing" in problem for problem in problems), problems
    assert any("1 watch items belong to nothing" in problem for problem in problems), problems
