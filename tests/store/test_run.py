"""Records of runs (lbb-engine 4.10, 6.10, P29)."""

import pytest

from tests.clock import START_MS
from tests.store.calls import (
    Store,
    begin,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    fail,
    fail_for_good,
    one_run,
    plain,
    progress,
    refused,
    runs,
    save,
    send,
    settle,
    sleep,
    start,
)
from turnbuckle.operations import run
from turnbuckle.wire.run import (
    WorkflowRunCounts,
    WorkflowRunInput,
    WorkflowRunResultsReport,
    WorkflowRunsQuery,
    WorkflowRunUsage,
)

REPORT = WorkflowRunResultsReport(
    inputs=[WorkflowRunInput(label="page 1", outcome="written", values=[])], counts=WorkflowRunCounts(written=1)
)


def test_a_run_is_recorded_when_it_ends_with_all_it_did(store: Store) -> None:
    start(store, "starter.values")
    send(store, to="starter.values", kind="manual")
    task = claimed(store)
    assert runs(store, "starter.values") == []
    begin(store, task)
    store.clock.pass_ms(5)
    progress(store, task, 1, {"phase": "read", "done": 7, "unit": "pages"})
    save(store, task)
    usage = WorkflowRunUsage(calls=1, tokens_in=3)
    complete(store, task, result={"counters": {"rows": 3}, "sample": ["a"]}, usage=usage, results=REPORT)

    (shown,) = runs(store, "starter.values")

    assert (shown.workflow, shown.identity, shown.turn, shown.attempts) == ("values", "starter.values", 1, 1)
    assert (shown.started_at_ms, shown.ended_at_ms, shown.outcome, shown.error) == (
        START_MS,
        START_MS + 5,
        "done",
        None,
    )
    assert ([(s.key, s.at_ms) for s in shown.steps], [p.phase for p in shown.phases]) == (
        [("s", START_MS + 5)],
        ["read"],
    )
    assert (shown.counters, shown.sample, shown.units, shown.unit) == ({"rows": 3}, ["a"], 7, "pages")
    assert (shown.usage, shown.origin and plain(shown.origin)) == (usage, {"kind": "manual"})
    assert one_run(store, shown.id, "starter.values").results == REPORT


def test_each_attempt_is_a_run_of_its_own(store: Store) -> None:
    fail(store, claimed_turn(store), "first", usage=WorkflowRunUsage(calls=1))
    store.clock.pass_ms(1_000)
    fail(store, claimed(store), "second", results=REPORT)
    store.clock.pass_ms(60_000)
    claimed(store)
    store.clock.pass_ms(60_000)
    settle(store)

    told = [(one.attempts, one.outcome, (one.error or "")[:13]) for one in reversed(runs(store))]

    assert told == [(1, "retried", "first"), (2, "retried", "second"), (3, "failed", "lease expired")]
    assert one_run(store, runs(store)[1].id).results == REPORT
    assert runs(store)[2].usage == WorkflowRunUsage(calls=1)


def test_a_sleep_goes_on_with_the_same_run(store: Store) -> None:
    sleep(store, claimed_turn(store), 5_000)
    assert runs(store) == []
    store.clock.pass_ms(5_000)
    complete(store, claimed(store))

    (shown,) = runs(store)

    assert (shown.started_at_ms, shown.ended_at_ms) == (START_MS, START_MS + 5_000)


def test_a_cancelled_turn_that_ran_leaves_a_run_and_one_that_did_not_leaves_none(store: Store) -> None:
    claimed_turn(store, messages=2)
    control(store, "cancel_turn", 1)
    control(store, "cancel_turn", 2)

    assert [(one.turn, one.outcome) for one in runs(store)] == [(1, "cancelled")]


def test_a_cancelled_turn_that_slept_ends_its_open_run(store: Store) -> None:
    sleep(store, claimed_turn(store), 5_000)

    control(store, "cancel_turn", 1)

    assert [(one.turn, one.outcome) for one in runs(store)] == [(1, "cancelled")]


def test_a_skipped_turn_has_one_run(store: Store) -> None:
    fail_for_good(store, claimed_turn(store))
    control(store, "skip", 1)

    assert [one.outcome for one in runs(store)] == ["failed"]


def test_a_retried_and_later_cancelled_turn_has_no_second_record_of_its_first_run(store: Store) -> None:
    fail_for_good(store, claimed_turn(store))
    control(store, "retry", 1)
    control(store, "cancel_turn", 1)

    assert [one.outcome for one in runs(store)] == ["failed"]


def test_a_run_knows_the_queue_before_and_after(store: Store) -> None:
    task = claimed_turn(store, messages=3)
    complete(store, task)
    task = claimed(store)
    complete(store, task, continue_with=1)

    assert [(one.queue_before, one.queue_after) for one in reversed(runs(store))] == [(3, 2), (2, 2)]
    shown = current(store, 2).run
    assert shown is not None
    assert (shown.queue_before, shown.queue_after) == (2, 2)


def test_runs_come_in_pages_newest_first(store: Store) -> None:
    start(store)
    for number in range(5):
        send(store, id=f"m-{number}")
        complete(store, claimed(store))
        store.clock.pass_ms(1)

    first = store.look(run.list_page, WorkflowRunsQuery(id="a", limit=3))
    second = store.look(run.list_page, WorkflowRunsQuery(id="a", limit=3, after=first.next_after))

    assert ([one.turn for one in first.runs], [one.turn for one in second.runs]) == ([5, 4, 3], [2, 1])
    assert second.next_after is None


@pytest.mark.parametrize("run_id", ["", "nothing", "0", "~", "1800000000000-a-2", "é", "x" * 5_000])
def test_an_unknown_run_is_told(store: Store, run_id: str) -> None:
    complete(store, claimed_turn(store))

    with refused("workflow_run_not_found"):
        one_run(store, run_id)


def test_a_report_over_its_size_is_refused_and_may_be_sent_without(store: Store) -> None:
    """The worker sends its completion once more without the report (lbb-engine 5.9)."""
    task = claimed_turn(store)
    inputs = [WorkflowRunInput(label="l" * 512, outcome="written", values=[])] * 1_000
    report = WorkflowRunResultsReport(inputs=inputs, counts=WorkflowRunCounts())

    for call in (complete, fail):
        with refused("payload_too_large", "results: got 5[0-9]* bytes, expected at most 524288") as info:
            call(store, task, results=report)
        assert info.value.param == "results"

    assert complete(store, task).status == "completed"
