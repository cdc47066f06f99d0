"""The runner can fail: for each way a worker can go wrong, a scenario that our (right) worker does not fit."""

import asyncio
import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest

from lbb import AsyncLbbClient, LbbError
from lbb.workflows import WorkflowWorker
from tests.conformance.runner import Verdict, run
from tests.conformance.scenario import parse

TURNS = "/v1/workflows/turns/"
RULE = "a step is saved and the turn is completed"

Document = dict[str, Any]
Change = Callable[[Document], None]


def exchange(route: str, response: Document | None = None, **request: Any) -> Document:
    return {"request": {"method": "POST", "path": TURNS + route, **request}, "response": response or {}}


def one_step_turn() -> Document:
    """A scenario that our worker fits: a turn of one step."""
    return {
        "name": "one step",
        "rule": RULE,
        "workflow": {"type": "plain", "name": "job", "version": "v1"},
        "task": {
            "workflow_type": "job",
            "state": {"n": 1},
            "token": "tok",
            "lease_ms": 60_000,
            "effect_prefix": "pre",
            "turn": {
                "workflow_id": "job-1",
                "number": 3,
                "message_id": "m-3",
                "message": {},
                "version": "v1",
                "steps": [],
            },
        },
        "handler": [{"step": "a", "returns": 7}, {"return": {"state": {"n": {"$ref": "a"}}}}],
        "exchanges": [
            exchange("claim", {"claim": {}}),
            exchange("operation", body={"key": "a"}),
            exchange("checkpoint", body={"output": 7}),
            exchange("complete", body={"state": {"n": 7}}),
        ],
        "expect": {"outcomes": ["claimed"], "ran": ["a"], "effect_ids": ["pre/a"]},
    }


async def verdict_of(change: Change) -> Verdict:
    document = copy.deepcopy(one_step_turn())
    change(document)
    return await run(parse(document))


async def test_a_worker_that_does_what_is_written_conforms() -> None:
    verdict = await verdict_of(lambda document: None)

    assert verdict.conforms, str(verdict)
    assert [one.path.removeprefix(TURNS) for one in verdict.received] == [
        "claim",
        "operation",
        "checkpoint",
        "complete",
    ]


def wrong_body(document: Document) -> None:
    document["exchanges"][3]["request"]["body"] = {"state": {"n": 8}}


def wrong_raw_body(document: Document) -> None:
    document["exchanges"][3]["request"]["raw"] = "{}"


def wrong_route(document: Document) -> None:
    document["exchanges"][3]["request"]["path"] = TURNS + "fail"


def wrong_method(document: Document) -> None:
    document["exchanges"][3]["request"]["method"] = "PUT"


def wrong_query(document: Document) -> None:
    document["exchanges"][1]["request"]["query"] = {"graph": "other"}


def wrong_header(document: Document) -> None:
    document["exchanges"][1]["request"]["headers"] = {"lbb-version": "2020-01-01"}


def another_body_than_before(document: Document) -> None:
    document["exchanges"][3]["request"]["same_body_as"] = 2


def a_request_that_is_never_sent(document: Document) -> None:
    document["exchanges"].append(exchange("complete"))


def a_request_that_no_exchange_expects(document: Document) -> None:
    del document["exchanges"][3]


def wrong_outcome(document: Document) -> None:
    document["expect"]["outcomes"] = ["idle"]


def wrong_ran_list(document: Document) -> None:
    document["expect"]["ran"] = []


def wrong_effect_id(document: Document) -> None:
    document["expect"]["effect_ids"] = ["pre/b"]


def a_template_that_leads_nowhere(document: Document) -> None:
    document["handler"][1] = {"return": {"state": {"$ref": "b"}}}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (wrong_body, "request 3: body.state.n: expected 8, got 7"),
        (wrong_raw_body, "request 3: raw: expected {}, got {"),
        (wrong_route, "request 3: path: expected /v1/workflows/turns/fail, got /v1/workflows/turns/complete"),
        (wrong_method, "request 3: method: expected PUT, got POST"),
        (wrong_query, "request 1: query.graph: expected 'other', got 'main'"),
        (wrong_header, "request 1: headers.lbb-version: expected '2020-01-01', got '2026-10-21'"),
        (another_body_than_before, "request 3: body: expected that of request 2, {"),
        (a_request_that_is_never_sent, "exchange 4: never sent POST /v1/workflows/turns/complete"),
        (a_request_that_no_exchange_expects, "request 3: unexpected POST /v1/workflows/turns/complete"),
        (wrong_outcome, "outcomes: expected ['idle'], got ['claimed']"),
        (wrong_ran_list, "ran: expected [], got ['a']"),
        (wrong_effect_id, "effect_ids: expected ['pre/b'], got ['pre/a']"),
        (a_template_that_leads_nowhere, "the program's $ref 'b' leads nowhere"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_difference_is_reported_with_the_rule(change: Change, problem: str) -> None:
    verdict = await verdict_of(change)

    assert not verdict.conforms
    assert f"rule: {RULE}" in str(verdict)
    assert any(line.startswith(f"- {problem}") for line in str(verdict).splitlines()), str(verdict)


class LateWorker(WorkflowWorker):
    """A wrong worker: 20 ms after a run it still sends a heartbeat for the turn."""

    def __init__(self, client: AsyncLbbClient, *args: Any, **options: Any) -> None:
        super().__init__(client, *args, **options)
        self._late_client = client

    async def run_once(self, *, wait_ms: int = 0) -> bool:
        claimed = await super().run_once(wait_ms=wait_ms)
        self._late = asyncio.create_task(self._send_late())
        return claimed

    async def _send_late(self) -> None:
        await asyncio.sleep(0.02)
        # Refused, as the scenario has no exchange left. A task whose error nobody took is told when it is collected,
        # and a traceback that is printed in the middle of another test's ast.parse breaks that (CPython 3.11).
        with contextlib.suppress(LbbError):
            await self._late_client.raw_request("POST", f"{TURNS}heartbeat", body={}, options={"max_retries": 0})


async def test_a_request_after_the_run_is_caught_while_the_runner_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conformance.runner.WorkflowWorker", LateWorker)

    def settle(document: Document) -> None:
        document["expect"]["settle_ms"] = 200

    verdict = await verdict_of(settle)

    assert verdict.problems == [f"request 4: unexpected POST {TURNS}heartbeat {{}}"]


async def test_a_scenario_that_does_not_end_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conformance.runner.SCENARIO_LIMIT_S", 0.1)

    def block(document: Document) -> None:
        document["handler"][0]["do"] = [{"block": True}]

    verdict = await verdict_of(block)

    assert verdict.problems[0] == "the scenario did not end within 0.1 s"
