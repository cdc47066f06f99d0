"""The runner's own rules: which files it refuses, what a matcher matches, what a template stands for."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.matching import mismatches
from tests.conformance.scenario import BadScenario, load, parse, problems_of
from tests.conformance.scripted import merge
from tests.conformance.template import Values, resolve

NOW_MS = 1_800_000_000_000
CLAIM = {"request": {"method": "POST", "path": "/v1/workflows/turns/claim"}, "response": {"claim": None}}


def scenario(**changes: Any) -> dict[str, Any]:
    """A scenario of one idle claim, with fields changed; a change to None takes the field away."""
    document = {
        "name": "idle",
        "rule": "an idle claim ends the run",
        "workflow": {"type": "plain", "name": "job", "version": "v1"},
        "task": {},
        "handler": [{"return": {"state": {}}}],
        "exchanges": [CLAIM],
        "expect": {"outcomes": ["idle"]},
        **changes,
    }
    return {name: value for name, value in document.items() if value is not None}


def test_a_scenario_that_fits_the_format_has_no_problems() -> None:
    assert problems_of(scenario()) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rule": None}, "scenario: field 'rule' is missing"),
        ({"rule": " "}, "scenario.rule: expected a text that is not blank"),
        ({"comment": "x"}, "scenario: unknown field 'comment'"),
        ({"workflow": {"type": "simple", "name": "j", "version": "v"}}, "scenario.workflow.type: expected one of"),
        ({"handler": []}, "scenario.handler: expected at least 1 items"),
        ({"handler": [{"step": "a"}]}, "scenario.handler: the last operation must be one of"),
        ({"handler": [{"stop": 1}]}, "scenario.handler[0]: expected an object with exactly one of"),
        ({"handler": [{"step": "a", "wait": 1}]}, "scenario.handler[0]: expected an object with exactly one of"),
        ({"handler": [{"step": "a", "ms": 1}, {"keep": True}]}, "scenario.handler[0]: unknown field 'ms'"),
        ({"handler": [{"step": "a", "do": [{"rest": 1}]}, {"keep": True}]}, "scenario.handler[0].do[0]: expected"),
        ({"handler": None}, "a plain workflow has the program `handler` alone, got []"),
        ({"on_events": [{"keep": True}]}, "a plain workflow has the program `handler` alone"),
        ({"exchanges": [{"request": {"path": "/x"}}]}, "scenario.exchanges[0].request: field 'method' is missing"),
        (
            {"exchanges": [{"request": {"method": "GET", "path": "/", "same_body_as": 0}}]},
            "scenario.exchanges[0].request.same_body_as: expected an earlier request, got 0",
        ),
        (
            {"exchanges": [{"request": {"method": "GET", "path": "/", "body": {"a": [{"$some": 1}]}}}]},
            "scenario.exchanges[0].request.body.a[0]: expected one of",
        ),
        (
            {"exchanges": [{**CLAIM, "response": {"claim": None, "body": {}}}]},
            "scenario.exchanges[0].response: ['body', 'claim'] exclude each other",
        ),
        ({"expect": {"outcomes": ["fine"]}}, "scenario.expect.outcomes[0]: expected one of"),
        ({"runs": 2}, "scenario.expect.outcomes: expected one per run, 2 in all, got 1"),
        ({"runs": True}, "scenario.runs: expected a whole number of at least 1, got True"),
        ({"expect": {"outcomes": ["idle"], "captured": {}}}, "nothing is captured without the field `capture`"),
    ],
)
def test_a_scenario_against_the_format_is_refused_with_the_path(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadScenario) as refused:
        parse(scenario(**changes))

    assert problem in str(refused.value)


def test_a_file_that_writes_a_key_twice_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    file.write_text(json.dumps(scenario()).replace('"name": "idle"', '"name": "idle", "name": "busy"'))

    with pytest.raises(BadScenario, match=r"twice\.json: keys written twice: \['name'\]"):
        load(file)


@pytest.mark.parametrize(
    ("matcher", "value"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}),
        ([1, {"a": 1}], [1, {"a": 1, "b": 2}]),
        (1, 1.0),
        (9007199254740993, 9007199254740993),
        ({"a": {"$absent": True}}, {}),
        ({"a": {"$any": True}}, {"a": None}),
        ({"a": {"$all": [{"$length": 2}, [1, 2]]}}, {"a": [1, 2]}),
        ({"$json_bytes_at_most": 10}, {"a": "é"}),  # {"a":"é"} has 9 characters and 10 bytes
        ({"$at_least_now_plus_ms": 1000}, NOW_MS + 900),
        (None, None),
    ],
)
def test_a_matcher_matches(matcher: Any, value: Any) -> None:
    assert list(mismatches(matcher, value, "body", NOW_MS)) == []


@pytest.mark.parametrize(
    ("matcher", "value", "problem"),
    [
        ({"a": 1}, {"a": 2}, "body.a: expected 1, got 2"),
        ({"a": 1}, {}, "body.a: expected 1, but it is missing"),
        ({"a": None}, {}, "body.a: expected null, but it is missing"),
        ({"a": {"$any": True}}, {}, 'body.a: expected {"$any":true}, but it is missing'),
        ({"a": {"$absent": True}}, {"a": None}, "body.a: expected to be absent, got null"),
        ({"a": 1}, [1], "body: expected an object, got [1]"),
        ([1, 2], [1], "body: expected a list of 2 items, got [1]"),
        ([1, 2], [1, 3], "body[1]: expected 2, got 3"),
        (1, True, "body: expected 1, got true"),
        (True, 1, "body: expected true, got 1"),
        ("1", 1, 'body: expected "1", got 1'),
        (9007199254740993, 9007199254740992, "body: expected 9007199254740993, got 9007199254740992"),
        ({"$all": [{"$length": 1}, [2]]}, [1], "body[0]: expected 2, got 1"),
        ({"$length": 0}, {}, "body: expected a list of 0 items, got {}"),
        ({"$json_bytes_at_most": 9}, {"a": "é"}, "body: expected at most 9 bytes of JSON, got 10"),
        ({"$at_least_now_plus_ms": 1000}, NOW_MS + 899, f"body: expected a time of at least {NOW_MS + 900}"),
        ({"$at_least_now_plus_ms": 0}, True, "body: expected a time of at least"),
    ],
)
def test_a_matcher_says_what_it_missed(matcher: Any, value: Any, problem: str) -> None:
    assert [one[: len(problem)] for one in mismatches(matcher, value, "body", NOW_MS)] == [problem]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({"$ref": "a.x.1"}, 20),
        ({"$ref": "a"}, {"x": [10, 20]}),
        ({"$message": "by"}, 2),
        ({"$message": ""}, {"by": 2}),
        ({"$state": "0"}, "first"),
        ({"$repeat": 2, "of": {"p": "page {i}", "n": 1}}, [{"p": "page 0", "n": 1}, {"p": "page 1", "n": 1}]),
        ({"$chars": 3}, "qqq"),
        ({"$chars": 2, "char": "é"}, "éé"),
        ({"deep": [{"$ref": "a.x.0"}, "plain"]}, {"deep": [10, "plain"]}),
    ],
)
def test_a_template_stands_for_its_value(template: Any, value: Any) -> None:
    values = Values(state=["first"], message={"by": 2}, outputs={"a": {"x": [10, 20]}})

    assert resolve(template, values) == value


def test_a_template_that_leads_nowhere_is_the_scenario_s_mistake() -> None:
    values = Values(state={}, message={})

    with pytest.raises(BadScenario, match="leads nowhere"):
        resolve({"$ref": "a"}, values)

    assert values.broken == ["the program's $ref 'a' leads nowhere"]


def test_a_claim_is_merged_over_the_task_key_by_key() -> None:
    base = {"token": "t", "turn": {"number": 1, "message": {"a": 1}, "steps": [1]}}
    over = {"turn": {"message": {"b": 2}, "steps": [], "new": {"c": 3}}}

    assert merge(base, over) == {
        "token": "t",
        "turn": {"number": 1, "message": {"a": 1, "b": 2}, "steps": [], "new": {"c": 3}},
    }
