"""Run results (lbb-engine 6), with the vectors of the specification."""

from typing import Any

import pytest

from lbb.workflows import WorkflowResult
from lbb.workflows.js_json import js_json, js_json_bytes, js_number, value_text
from lbb.workflows.results import (
    REPORT_BYTES,
    RunResultsCollector,
    add_saved,
    add_unnamed,
    cut_input,
    fit_report,
    unwrap_output,
    wrap_output,
)
from lbb.workflows.running import current_turn
from tests.unit.workflow_server import ended, make_task, run_turn, saved

COUNTS = {"written": 0, "review": 0, "no_value": 0, "failed": 0, "duplicate": 0}


def an_input(iri: str = "e/1", outcome: str = "written", **fields: Any) -> dict[str, Any]:
    return {"iri": iri, "label": "one", "outcome": outcome, "values": [], **fields}


def a_value(text: str = "v", outcome: str = "written", **fields: Any) -> dict[str, Any]:
    return {"property": "p", "value": text, "quote": "q", "outcome": outcome, **fields}


# The measure (6.9)


def test_the_measure_of_the_specification() -> None:
    value = {"w": 2.50, "n": [1e22, 7.0], "t": "Straße ✓", "q": 5e-7, "z": None, "b": False}

    assert js_json_bytes(value) == 69


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (100.0, "100"),
        (1e20, "100000000000000000000"),
        (1.2345678901234567e20, "123456789012345670000"),
        (1e21, "1e+21"),
        (1.5e22, "1.5e+22"),
        (0.000001, "0.000001"),
        (0.0000123, "0.0000123"),
        (5e-7, "5e-7"),
        (1.25e-7, "1.25e-7"),
        (1e-10, "1e-10"),
        (-0.0, "0"),
        (-2.5, "-2.5"),
        (123456.789, "123456.789"),
        (1e16, "10000000000000000"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("nan"), "null"),
        (float("-inf"), "null"),
    ],
)
def test_floats_are_written_as_javascript_writes_them(number: float, text: str) -> None:
    assert js_number(number) == text


def test_other_values_are_written_compactly() -> None:
    assert (
        js_json({"a": [True, None, 2**70, "ü\n"], "b": {}}) == '{"a":[true,null,1180591620717411303424,"ü\\n"],"b":{}}'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (60.0, "60"),
        (3, "3"),
        ("x", "x"),
        (["a", 2.0, None], "a, 2, "),
        ({"en": "floor"}, "floor"),
        ({"a": 1, "b": 2.0}, '{"a":1,"b":2}'),
    ],
)
def test_a_value_is_shown_as_a_person_reads_it(value: Any, text: str) -> None:
    assert value_text(value) == text


# Cutting (6.3)


def test_texts_are_cut_to_their_lengths_and_empty_optional_ones_dropped() -> None:
    long = "x" * 3_000
    value = dict.fromkeys(
        ("property", "value", "quote", "outcome", "detail", "stated", "unconfirmed", "source", "review_item"), long
    )

    cut = cut_input(
        {"iri": long, "label": long, "outcome": "failed", "error": long, "values": [value, a_value(detail="")]}
    )

    assert {name: len(cut[name]) for name in ("iri", "label", "error")} == {"iri": 2048, "label": 512, "error": 500}
    assert {name: len(text) for name, text in cut["values"][0].items()} == {
        "property": 512,
        "value": 512,
        "quote": 600,
        "outcome": 64,
        "detail": 512,
        "stated": 512,
        "unconfirmed": 512,
        "source": 512,
        "review_item": 512,
    }
    assert cut["values"][1] == a_value()


def test_label_and_values_are_always_there_and_values_are_at_most_32() -> None:
    assert cut_input({"iri": "", "outcome": "no_value"}) == {"label": "", "outcome": "no_value", "values": []}
    assert len(cut_input(an_input(values=[a_value(str(number)) for number in range(40)]))["values"]) == 32


def test_regions_and_costs_are_kept() -> None:
    region = {"page": 1, "x0": 0.5, "y0": 0, "x1": 1, "y1": 1}
    item = an_input(region=region, cost_micro_usd=5, values=[a_value(region=region, support="s")])

    assert cut_input(item) == item


# The collector (6.4)


def test_inputs_are_kept_in_the_order_first_named_by_iri_or_label() -> None:
    collector = RunResultsCollector()
    for item in (an_input("e/2"), {"label": "only", "outcome": "failed"}, an_input("e/1"), an_input("e/2")):
        collector.add(item)

    assert [item.get("iri") or item["label"] for item in collector.inputs()] == ["e/2", "only", "e/1"]
    assert len(collector) == 3
    assert collector.has("only")
    assert not collector.has("e/3")


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("no_value", "duplicate", "duplicate"),
        ("duplicate", "written", "written"),
        ("written", "review", "review"),
        ("review", "failed", "failed"),
        ("failed", "no_value", "failed"),
        ("written", "no_value", "written"),
    ],
)
def test_of_two_reports_of_one_input_the_higher_outcome_wins(first: str, second: str, outcome: str) -> None:
    collector = RunResultsCollector()
    collector.add(an_input(outcome=first))
    collector.add(an_input(outcome=second))

    assert collector.report() == {"inputs": [an_input(outcome=outcome)], "counts": {**COUNTS, outcome: 1}}


def test_two_reports_of_one_input_are_merged() -> None:
    collector = RunResultsCollector()
    collector.add(an_input(label="", values=[a_value("a")], cost_micro_usd=2))
    collector.add(
        an_input(label="two", values=[a_value("a"), a_value("b")], cost_micro_usd=3, error="e2", region={"page": 2})
    )
    collector.add(an_input(label="three", cost_micro_usd=1, error="e3", region={"page": 3}))

    (merged,) = collector.inputs()
    assert merged == {
        "iri": "e/1",
        "label": "two",
        "outcome": "written",
        "values": [a_value("a"), a_value("b")],
        "error": "e2",
        "region": {"page": 2},
        "cost_micro_usd": 6,
    }


def test_merged_values_stay_at_most_32() -> None:
    collector = RunResultsCollector()
    for start in (0, 20):
        collector.add(an_input(values=[a_value(str(number)) for number in range(start, start + 20)]))

    assert [value["value"] for value in collector.inputs()[0]["values"]] == [str(number) for number in range(32)]


def test_past_the_limit_only_the_outcome_is_kept_for_the_counts() -> None:
    collector = RunResultsCollector(limit=1)
    for item in (an_input("e/1"), an_input("e/2", "no_value"), an_input("e/2", "failed"), an_input("e/1", "no_value")):
        collector.add(item)

    assert collector.report() == {"inputs": [an_input("e/1")], "counts": {**COUNTS, "written": 1, "failed": 1}}


def test_an_empty_collector_has_no_report_and_is_falsy() -> None:
    assert RunResultsCollector().report() is None
    assert not RunResultsCollector()


def test_what_is_added_during_a_step_is_logged_in_order_and_unmerged() -> None:
    collector = RunResultsCollector()
    collector.add(an_input("e/0"))
    collector.begin_step()
    collector.add(an_input("e/1"))
    collector.add(an_input("e/1", "review"))

    assert [item["outcome"] for item in collector.end_step()] == ["written", "review"]
    assert collector.end_step() == []


# The size of a report (6.5)


@pytest.mark.parametrize(
    ("inputs", "values", "chars", "with_values"), [(150, 20, 400, 18), (40, 32, 300, 20), (200, 8, 200, 100)]
)
def test_a_report_that_is_too_large_loses_values_from_the_last_half_on(
    inputs: int, values: int, chars: int, with_values: int
) -> None:
    items = [
        {"iri": f"e/{number}", "label": "l", "outcome": "written", "values": [{"value": "ß" * chars}] * values}
        for number in range(inputs)
    ]

    fitted = fit_report({"inputs": items, "counts": {"written": inputs}})

    assert len(fitted["inputs"]) == inputs
    assert [bool(item["values"]) for item in fitted["inputs"]] == [True] * with_values + [False] * (
        inputs - with_values
    )
    assert fitted["counts"] == {"written": inputs}
    assert js_json_bytes(fitted) <= REPORT_BYTES


def test_a_report_without_values_that_is_too_large_loses_its_last_inputs() -> None:
    items = [{"iri": f"e/{number}", "label": "ß" * 2_000, "outcome": "written", "values": []} for number in range(200)]

    fitted = fit_report({"inputs": items, "counts": {"written": 200}})

    assert len(fitted["inputs"]) == 100
    assert fitted["counts"] == {"written": 200}


# The saved step and its replay (6.7, 6.8)


def wrapped(logged: list[Any], value: Any = 5, run: str = "run-1") -> Any:
    import json

    text = json.dumps(value, separators=(",", ":")).encode()
    return json.loads(wrap_output(value, text, logged, run))


def test_a_step_that_reported_saves_its_results_beside_its_value() -> None:
    assert wrapped([an_input()]) == {"lbb_step_results": 1, "run": "run-1", "results": [an_input()], "value": 5}


def test_a_step_that_reported_nothing_saves_its_plain_value() -> None:
    assert wrap_output({"a": 1.0}, b'{"a":1.0}', [], "run-1") == b'{"a":1.0}'


def test_the_value_in_a_wrapper_keeps_its_spelling() -> None:
    assert wrap_output(100.0, b"100.0", [an_input()], "r").endswith(b'"value":100.0}')


def test_inputs_that_do_not_fit_are_brief_and_smaller_later_ones_whole_again() -> None:
    big = an_input("e/big", values=[a_value("x" * 512, quote="y" * 600) for _ in range(31)])
    assert js_json_bytes(big) > 32 * 1024

    results = wrapped([an_input("e/1"), big, an_input("e/2")])["results"]

    assert results == [an_input("e/1"), {"iri": "e/big", "label": "one", "outcome": "written"}, an_input("e/2")]


def test_results_take_at_most_32_kib_and_leave_60_kib_for_the_step() -> None:
    many = [an_input(f"e/{number}", label="l" * 500) for number in range(200)]

    small, large = wrapped(many), wrapped(many, "x" * 50 * 1024)

    assert js_json_bytes(small["results"]) <= 32 * 1024
    assert js_json_bytes(large["results"]) <= 10 * 1024
    assert 0 < len(large["results"]) < len(small["results"]) < 200
    assert js_json_bytes(large) < 60 * 1024 + 100


@pytest.mark.parametrize("value", ["x" * 60 * 1024, "x" * 63 * 1024])
def test_when_nothing_fits_the_plain_value_is_saved(value: str) -> None:
    assert wrapped([an_input()], value) == value


def test_results_without_a_utf_8_form_are_left_off() -> None:
    assert wrapped([an_input(label="\ud800")]) == 5


@pytest.mark.parametrize(
    "plain",
    [
        5,
        [1],
        {"lbb_step_results": 1, "run": "r", "results": []},
        {"lbb_step_results": 1, "run": "r", "results": [], "value": 1, "more": 1},
        {"lbb_step_results": 2, "run": "r", "results": [], "value": 1},
        {"lbb_step_results": True, "run": "r", "results": [], "value": 1},
        {"lbb_step_results": 1, "run": None, "results": [], "value": 1},
        {"lbb_step_results": 1, "run": "r", "results": {}, "value": 1},
    ],
)
def test_shapes_that_are_no_wrapper_are_plain_values(plain: Any) -> None:
    assert unwrap_output(plain) is None


def test_results_of_the_same_run_count_as_saved_and_of_an_earlier_one_as_duplicates() -> None:
    items = [an_input("e/1", values=[a_value("a"), a_value("b", "unconfirmed")]), an_input("e/2", "review")]

    same, earlier = RunResultsCollector(), RunResultsCollector()
    add_saved(same, items, is_same_run=True)
    add_saved(earlier, items, is_same_run=False)

    assert same.inputs() == items
    assert earlier.inputs() == [
        an_input("e/1", "duplicate", values=[a_value("a", "duplicate"), a_value("b", "unconfirmed")]),
        an_input("e/2", "review"),
    ]


def test_saved_results_that_cannot_be_read_are_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    collector = RunResultsCollector()

    add_saved(collector, [5, an_input("e/1"), {"values": 3}], is_same_run=True)

    assert [item["iri"] for item in collector.inputs()] == ["e/1"]
    assert caplog.text.count("cannot be read") == 2


def test_instances_named_nowhere_have_no_value_unless_they_go_on() -> None:
    collector = RunResultsCollector()
    collector.add(an_input("e/1"))

    add_unnamed(collector, ["e/1", "e/2", "e/3"], {"instances": ["e/3"]})

    assert [(item["iri"], item["outcome"]) for item in collector.inputs()] == [("e/1", "written"), ("e/2", "no_value")]


def test_a_turn_that_reported_nothing_names_no_instances() -> None:
    collector = RunResultsCollector()

    add_unnamed(collector, ["e/1"], None)

    assert collector.report() is None


async def report_in_step(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    def work() -> dict[str, int]:
        turn = current_turn.get()
        assert turn is not None
        if turn.results is not None:
            turn.results.add(an_input("e/1"))
        return {"count": 1}

    return WorkflowResult(state=await ctx.step("work", work))


async def test_a_worker_saves_the_wrapper_and_gives_the_handler_the_value() -> None:
    engine = await run_turn(report_in_step, make_task(results_max=5))

    assert engine.body("checkpoint")["output"] == {
        "lbb_step_results": 1,
        "run": "run-1",
        "results": [an_input("e/1")],
        "value": {"count": 1},
    }
    assert ended(engine)["state"] == {"count": 1}
    assert ended(engine)["results"]["counts"]["written"] == 1


async def test_without_results_max_the_plain_value_is_saved() -> None:
    engine = await run_turn(report_in_step)

    assert engine.body("checkpoint")["output"] == {"count": 1}


@pytest.mark.parametrize(("run", "outcome"), [("run-1", "written"), ("run-0", "duplicate")])
async def test_a_replayed_wrapper_gives_its_value_and_its_results(run: str, outcome: str) -> None:
    wrapper = {"lbb_step_results": 1, "run": run, "results": [an_input("e/1")], "value": {"count": 1}}

    engine = await run_turn(report_in_step, make_task([saved("work", wrapper)], results_max=5))

    assert ended(engine)["state"] == {"count": 1}
    assert ended(engine)["results"]["counts"][outcome] == 1


async def test_a_saved_wrapper_is_unwrapped_when_results_are_off_too() -> None:
    wrapper = {"lbb_step_results": 1, "run": "run-1", "results": [an_input("e/1")], "value": {"count": 1}}

    end = ended(await run_turn(report_in_step, make_task([saved("work", wrapper)])))

    assert end["state"] == {"count": 1}
    assert "results" not in end


async def test_a_handler_that_changes_its_message_does_not_change_what_is_named() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        message["instances"].clear()
        return await report_in_step(ctx, state, message)

    task = make_task(turn={"message": {"instances": ["e/1", "e/2"]}}, results_max=5)

    assert ended(await run_turn(handler, task))["results"]["counts"]["no_value"] == 1
