"""Drives our worker through a scenario against a scripted server (conformance/workflow-worker/README.md)."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowContext, WorkflowDefinition, WorkflowResult, WorkflowWorker, workflow
from tests.conformance.program import NeedsMore, Record, Turn, play, require
from tests.conformance.scenario import Scenario
from tests.conformance.scripted import Received, ScriptedServer
from tests.conformance.template import Json, Values

BASE_URL = "http://localhost:7400"
WORKER_ID = "conformance"
# Far above the longest scenario: a worker that hangs is a failed scenario and not a hanging suite.
SCENARIO_LIMIT_S = 30.0


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
    """Run all of a scenario's runs with one worker and compare everything it did.

    NeedsMore when the scenario uses a part of the format that has no code here yet.
    """
    record, server = Record(), ScriptedServer(scenario)
    outcomes: list[str] = []
    try:
        async with asyncio.timeout(SCENARIO_LIMIT_S):
            await _drive(scenario, record, server, outcomes)
        endless = []
    except TimeoutError:
        endless = [f"the scenario did not end within {SCENARIO_LIMIT_S:g} s"]
    found = [*record.broken, *endless, *server.problems, *server.unused(), *_unmet(scenario, record, outcomes)]
    return Verdict(scenario, found, server.received)


async def _drive(scenario: Scenario, record: Record, server: ScriptedServer, outcomes: list[str]) -> None:
    client = AsyncLbbClient(BASE_URL, graph=scenario.client_graph, max_retries=2, retry_delay=0, transport=server)
    async with client:
        definition = _definition(scenario, client, record)
        worker = WorkflowWorker(client, [definition], worker=WORKER_ID, **scenario.workflow.get("worker", {}))
        for _ in range(scenario.runs):
            outcomes.append(await _outcome_of_a_run(worker))
        await asyncio.sleep(scenario.expect.get("settle_ms", 0) / 1000)


def _definition(scenario: Scenario, client: AsyncLbbClient, record: Record) -> WorkflowDefinition:
    if not scenario.is_plain or scenario.capture is not None:
        raise NeedsMore("this runner needs code for triggered workflows and captures")
    program = scenario.programs["handler"]
    require(program)

    async def handler(ctx: WorkflowContext, state: Json, message: Json) -> WorkflowResult[Json] | None:
        return await play(program, Turn(client, ctx, Values(state, message, broken=record.broken), record))

    named = scenario.workflow
    return workflow(
        name=named["name"], version=named["version"], initial_state=named.get("initial_state"), on_message=handler
    )


async def _outcome_of_a_run(worker: WorkflowWorker) -> str:
    """`claimed`, `idle`, or `error` with the exception's class and text behind it."""
    try:
        return "claimed" if await worker.run_once(wait_ms=0) else "idle"
    except Exception as exc:
        return f"error {type(exc).__name__}: {exc}"


def _unmet(scenario: Scenario, record: Record, outcomes: list[str]) -> Iterator[str]:
    expect = scenario.expect
    if [outcome.split(" ", 1)[0] for outcome in outcomes] != expect["outcomes"]:
        yield f"outcomes: expected {expect['outcomes']}, got {outcomes}"
    if record.ran != expect.get("ran", record.ran):
        yield f"ran: expected {expect['ran']}, got {record.ran}"
    if record.effect_ids != expect.get("effect_ids", record.effect_ids):
        yield f"effect_ids: expected {expect['effect_ids']}, got {record.effect_ids}"
