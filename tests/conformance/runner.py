"""Drives our worker through a scenario against a scripted server (conformance/workflow-worker/README.md)."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lbb import AsyncLbbClient
from lbb.wire_json import wire_value
from lbb.workflows import (
    ActivityCapture,
    LbbActivities,
    TriggeredWorkflowDefinition,
    WorkflowContext,
    WorkflowDefinition,
    WorkflowResult,
    WorkflowWorker,
    capture_activities,
    lbb_activities,
    workflow,
)
from tests.conformance.activities import captured_json
from tests.conformance.matching import mismatches
from tests.conformance.program import Record, Turn, play
from tests.conformance.scenario import Scenario
from tests.conformance.scripted import Received, ScriptedServer
from tests.conformance.template import Json, Values

BASE_URL = "http://localhost:7400"
WORKER_ID = "conformance"
# Far above the longest scenario: a worker that hangs is a failed scenario and not a hanging suite.
SCENARIO_LIMIT_S = 30.0


@dataclass
class Outcomes:
    """How the runs ended, and what was captured."""

    runs: list[str] = field(default_factory=list)
    capture: ActivityCapture | None = None


@dataclass(frozen=True)
class Verdict:
    """What went wrong in a run of a scenario; no problems means the worker conforms."""

    scenario: Scenario
    problems: list[str]
    received: list[Received]

    @property
    def conforms(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        """The scenario, its rule, every problem and the requests in order, for a reader of a failed test."""
        lines = [f"scenario: {self.scenario.name}", f"rule: {self.scenario.rule}"]
        lines += [f"- {problem}" for problem in self.problems]
        lines += [f"  {n} {one.method} {one.path} {one.text[:400]}" for n, one in enumerate(self.received)]
        return "\n".join(lines)


async def run(scenario: Scenario) -> Verdict:
    """Run all of a scenario's runs with one worker and compare everything it did."""
    record, server, outcomes = Record(), ScriptedServer(scenario), Outcomes()
    try:
        async with asyncio.timeout(SCENARIO_LIMIT_S):
            await _drive(scenario, record, server, outcomes)
        endless = []
    except TimeoutError:
        endless = [f"the scenario did not end within {SCENARIO_LIMIT_S:g} s"]
    found = [*record.broken, *endless, *server.problems, *server.unused(), *_unmet(scenario, record, outcomes)]
    return Verdict(scenario, found, server.received)


async def _drive(scenario: Scenario, record: Record, server: ScriptedServer, outcomes: Outcomes) -> None:
    client = AsyncLbbClient(BASE_URL, graph=scenario.client_graph, max_retries=2, retry_delay=0, transport=server)
    async with client:
        lbb = lbb_activities(client)
        if scenario.capture is not None:
            outcomes.capture = capture_activities(lbb, workflow=scenario.capture["workflow"])
            lbb = outcomes.capture.activities
        definition = _definition(scenario, client, lbb, record)
        worker = WorkflowWorker(client, [definition], worker=WORKER_ID, **scenario.workflow.get("worker", {}))
        for _ in range(scenario.runs):
            outcomes.runs.append(await _outcome_of_a_run(worker))
        await asyncio.sleep(scenario.expect.get("settle_ms", 0) / 1000)


def _definition(scenario: Scenario, client: AsyncLbbClient, lbb: LbbActivities, record: Record) -> WorkflowDefinition:
    async def run_program(name: str, ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json] | None:
        values = Values(state, wire_value(message), broken=record.broken)
        return await play(scenario.programs[name], Turn(client, lbb, ctx, values, record))

    async def handler(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json] | None:
        return await run_program("handler", ctx, state, message)

    named = scenario.workflow
    common = {"name": named["name"], "version": named["version"], "initial_state": named.get("initial_state")}
    if scenario.is_plain:
        return workflow(**common, on_message=handler)
    return TriggeredWorkflowDefinition(**common, **{name: _triggered(name, run_program) for name in scenario.programs})


def _triggered(name: str, run_program: Any) -> Any:
    """A handler of a triggered workflow, whose message comes before the state, and after the events of a stream."""

    async def handler(ctx: WorkflowContext, message: Any, state: Json) -> Any:
        return await run_program(name, ctx, state, message)

    async def events_handler(ctx: WorkflowContext, events: list[Json], message: Any, state: Json) -> Any:
        return await run_program(name, ctx, state, {**wire_value(message), "events": events})

    return events_handler if name == "on_events" else handler


async def _outcome_of_a_run(worker: WorkflowWorker) -> str:
    """`claimed`, `idle`, or `error` with the exception's class and text behind it."""
    try:
        return "claimed" if await worker.run_once(wait_ms=0) else "idle"
    except Exception as exc:
        return f"error {type(exc).__name__}: {exc}"


def _unmet(scenario: Scenario, record: Record, outcomes: Outcomes) -> Iterator[str]:
    expect = scenario.expect
    if [outcome.split(" ", 1)[0] for outcome in outcomes.runs] != expect["outcomes"]:
        yield f"outcomes: expected {expect['outcomes']}, got {outcomes.runs}"
    if "captured" in expect and outcomes.capture is not None:
        yield from mismatches(expect["captured"], captured_json(outcomes.capture), "captured", arrived_at_ms=0)
    if record.ran != expect.get("ran", record.ran):
        yield f"ran: expected {expect['ran']}, got {record.ran}"
    if record.effect_ids != expect.get("effect_ids", record.effect_ids):
        yield f"effect_ids: expected {expect['effect_ids']}, got {record.effect_ids}"
