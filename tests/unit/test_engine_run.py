"""Records of runs: engine/run.py (P29, P31, P35)."""

import json

import msgspec
import pytest

from tests.unit.engine_rows import NOW, held, instance, operation
from turnbuckle.engine import run as runs
from turnbuckle.engine import turn as turns
from turnbuckle.engine.turn import Turn
from turnbuckle.wire.run import WorkflowRunCounts, WorkflowRunInput, WorkflowRunResultsReport

BUDGET = b"LbbError: spent (code workflow_budget_exceeded, request req_1)"


def done(result: bytes | None) -> Turn:
    return turns.complete(held(), result, b"hash", None, NOW + 10)


@pytest.mark.parametrize(
    ("turn", "outcome"),
    [
        (done(None), "done"),
        (turns.complete(held(), None, b"hash", 2, NOW), "more"),
        (turns.fail(held(), b"no", False, 3, NOW), "retried"),
        (turns.fail(held(failures=2), b"no", False, 3, NOW), "failed"),
        (turns.fail(held(), b"no", True, 3, NOW), "failed"),
        (turns.defer(held(), BUDGET, NOW, NOW), "budget"),
        (turns.defer(held(), b"released", NOW, NOW), "paused"),
        (turns.cancel(held(), NOW), "cancelled"),
        (turns.skip(turns.fail(held(), b"no", True, 3, NOW), NOW), "failed"),
    ],
    ids=["done", "more", "retried", "exhausted", "final", "budget", "paused", "cancelled", "skipped"],
)
def test_the_outcome_of_a_run_is_one_word(turn: Turn, outcome: str) -> None:
    assert runs.outcome(turn) == outcome


def test_a_record_says_what_the_run_was() -> None:
    turn = turns.with_queue(done(b"1"), 4)

    run = runs.end(instance(), turn, b"[]", None)

    assert (run.run_id, run.workflow, run.attempt) == (f"{NOW:013d}-a-1", "instance:a", 1)
    assert (run.started_at_ms, run.ended_at_ms, run.queue_before, run.queue_after) == (NOW, NOW + 10, 1, 4)


@pytest.mark.parametrize(
    ("instance_id", "workflow"),
    [
        ("starter.values", "values"),
        ("starter.values.3", "values"),
        ("starter.values.books", "values"),
        ("starter.values.3.4", "instance:starter.values.3.4"),
        ("starter.", "instance:starter."),
        ("orders", "instance:orders"),
        ("mystarter.values", "instance:mystarter.values"),
    ],
)
def test_an_instance_belongs_to_the_workflow_its_id_names(instance_id: str, workflow: str) -> None:
    assert runs.named_workflow(instance_id) == workflow


# -- what the result says ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "counters", "sample"),
    [
        (None, None, None),
        (b"1", None, None),
        (b'["counters"]', None, None),
        (b'"counters"', None, None),
        (b'{"counters":{"rows":3,"bad":true,"half":0.5},"sample":["a",1,"b"]}', {"rows": 3}, ["a", "b"]),
        (b'{"counters":[1],"sample":"a"}', None, None),
        (b'{"counters":{},"sample":[]}', None, None),
        (b'{"counters":{"big":123456789012345678901234567890}}', {"big": 123456789012345678901234567890}, None),
    ],
)
def test_counters_and_sample_are_taken_where_they_have_the_shape(
    result: bytes | None, counters: object, sample: object
) -> None:
    run = runs.end(instance(), done(result), b"[]", None)

    assert (run.counters and json.loads(run.counters)) == counters
    assert (run.sample and json.loads(run.sample)) == sample


def test_of_many_counters_and_texts_the_first_32_and_20_are_kept() -> None:
    result = json.dumps({"counters": {f"c{i}": i for i in range(50)}, "sample": [str(i) for i in range(50)]}).encode()

    run = runs.end(instance(), done(result), b"[]", None)

    assert run.counters is not None
    assert run.sample is not None
    assert list(json.loads(run.counters)) == [f"c{i}" for i in range(32)]
    assert json.loads(run.sample) == [str(i) for i in range(20)]


def test_units_are_those_of_the_last_progress() -> None:
    told = operation(progress=b'{"phase":"p","done":7,"unit":"pages"}')

    run = runs.end(instance(), done(None), b"[]", told)

    assert (run.units, run.unit) == (7, "pages")


def test_an_error_text_is_cut_to_500_characters_not_bytes() -> None:
    run = runs.end(instance(), turns.fail(held(), ("é" * 900).encode(), True, 3, NOW), b"[]", None)

    assert run.error == ("é" * 500).encode()


def test_of_a_long_report_200_inputs_are_kept_and_all_counts() -> None:
    inputs = [WorkflowRunInput(label=str(i), outcome="written", values=[]) for i in range(300)]
    report = WorkflowRunResultsReport(inputs=inputs, counts=WorkflowRunCounts(written=300))

    run = runs.end(instance(), done(None), b"[]", None, report)

    assert run.results is not None
    kept = msgspec.json.decode(run.results, type=WorkflowRunResultsReport)
    assert ([one.label for one in kept.inputs], kept.counts.written) == ([str(i) for i in range(200)], 300)


# -- phases ------------------------------------------------------------------------------------------------------


def phases_after(reports: list[dict[str, object]]) -> list[tuple[object, ...]]:
    phases: bytes | None = None
    for at, progress in enumerate(reports):
        phases = runs.add_phase(phases, progress, NOW + at) or phases
    made = msgspec.json.decode(phases or b"[]")
    return [(p["phase"], p["started_at_ms"] - NOW, p["ended_at_ms"] - NOW, p["done"]) for p in made]


def test_each_new_phase_word_is_one_phase() -> None:
    reports: list[dict[str, object]] = [
        {"phase": "read", "done": 1, "total": 9},
        {"phase": "read", "done": 2},
        {"phase": "write", "done": 0},
        {"phase": "read", "done": 3},
    ]

    assert phases_after(reports) == [("read", 0, 1, 2), ("write", 2, 2, 0), ("read", 3, 3, 3)]


def test_at_most_32_phases_are_kept_and_the_last_goes_on() -> None:
    reports: list[dict[str, object]] = [{"phase": f"p{i}", "done": i} for i in range(40)]

    assert [phase for phase, *_ in phases_after(reports)] == [f"p{i}" for i in range(32)]
    assert phases_after([*reports[:32], {"phase": "p31", "done": 99}])[-1] == ("p31", 31, 32, 99)
