"""The workflow: one turn reads the instances of one message, writes what is sure, and asks about what is not."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from lbb import models
from lbb.workflows import (
    FailedInstance,
    LbbActivities,
    TriggeredWorkflowDefinition,
    WorkflowContext,
    WorkflowResult,
    triggered_workflow,
)

from values_extract.answers import Answer, answer_of, settle, typed
from values_extract.reading import Reading, read
from values_extract.records import read_records
from values_extract.review_items import legacy_value_key, value_item, value_item_key
from values_extract.settings import DEFAULTS, VERSION, WORKFLOW, Settings
from values_extract.values import Outcome, owned_write

COUNTERS = (
    "instances",
    "values_proposed",
    "written",
    "review",
    "weak_support",
    "quote_not_found",
    "invalid_value",
    "unknown_property",
    "duplicate",
    "failed",
    "commits",
    "removed",
)
INSTANCES_PER_TURN = 16  # three steps for each and three more, of the 64 a turn can have

Answers = dict[str, Answer]  # by the key of the item


def create_workflow(
    lbb: LbbActivities, settings: Settings = DEFAULTS, version: str = VERSION
) -> TriggeredWorkflowDefinition:
    """The workflow over these activities. A preview hands in some that write nothing, and a version of its own."""

    @triggered_workflow(name=WORKFLOW, version=version, initial_state=dict.fromkeys(COUNTERS, 0))
    async def values_extract(
        ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: dict[str, int]
    ) -> WorkflowResult[dict[str, int]]:
        now, later = message.instances[:INSTANCES_PER_TURN], message.instances[INSTANCES_PER_TURN:]
        counts = Counter(instances=len(now), removed=len(message.removed))
        records = await read_records(lbb, settings, now, message.as_of_commit_seq)
        readings = [await read(lbb, ctx, settings, index, record) for index, record in enumerate(records)]
        counts += sum((reading.counts for reading in readings), Counter())
        outcomes = []
        for index, reading in enumerate(readings):
            if reading.error is None:  # one that could not be read keeps what an earlier turn wrote: it is no subject
                answers = await _read_answers(lbb, ctx, settings, message.workflow, index, reading)
                outcomes.append(_settle(settings, message.workflow, reading, answers, counts))
        await _ask(lbb, ctx, settings, message.workflow, outcomes)
        if outcomes:
            written = await lbb.write_owned(ctx, "write", owned_write(settings, outcomes), graph=message.graph)
            counts["commits"] += written.commit_seq is not None and not written.replayed
        failed = [
            FailedInstance(reading.record.iri, reading.error) for reading in readings if reading.error is not None
        ]
        await lbb.requeue(ctx, "requeue", failed, graph=message.graph)
        counts["failed"] += len(failed)
        return _end(ctx, message, later, state, counts)

    return values_extract


async def _read_answers(
    lbb: LbbActivities, ctx: WorkflowContext, settings: Settings, workflow: str, index: int, reading: Reading
) -> Answers:
    """A step, because people answer meanwhile: every attempt must see the same. One each, as its output is bounded."""
    keys = _keys(settings, workflow, reading)

    async def read_items() -> dict[str, Any]:
        items = [item.model_dump(mode="json") for item in await lbb.review_items(keys)]
        answers = {item["key"]: answer_of(item) for item in items}
        return {key: asdict(answer) for key, answer in answers.items() if answer is not None}

    saved = await ctx.step(f"answers-{index}", read_items)
    return {key: Answer(**fields) for key, fields in saved.items()}


def _keys(settings: Settings, workflow: str, reading: Reading) -> list[str]:
    entity_id = reading.record.entity_id
    old = [legacy_value_key(workflow, entity_id, value.property, value.value) for value in reading.values.values()]
    return [value_item_key(workflow, entity_id, name) for name in settings.properties] + old


def _settle(settings: Settings, workflow: str, reading: Reading, answers: Answers, counts: Counter[str]) -> Outcome:
    """What becomes of each property of one instance; `counts` is told."""
    record, written, asked, held = reading.record, [], [], set()
    for name in settings.properties:
        value = reading.values.get(name)
        answer = answers.get(value_item_key(workflow, record.entity_id, name))
        if answer is None and value is not None:
            answer = answers.get(legacy_value_key(workflow, record.entity_id, name, value.value))
        if answer is not None:
            answer = typed(answer, settings.properties[name])
        settled = settle(name, value, answer, record.text_hash, settings.gate)
        counts["weak_support"] += settled.is_weak
        if settled.written is not None:
            written.append(settled.written)
        if settled.asked is not None:
            asked.append((settled.asked, settled.reason))
        if settled.is_held:
            held.add(name)
    counts["written"] += len(written)
    counts["review"] += len(asked)
    return Outcome(record, written, asked, frozenset(held))


async def _ask(
    lbb: LbbActivities, ctx: WorkflowContext, settings: Settings, workflow: str, outcomes: list[Outcome]
) -> None:
    """File the questions. Their keys make it repeatable: a question that stands already is not filed twice."""
    requests = [
        value_item(settings, workflow, outcome.record, value, reason)
        for outcome in outcomes
        for value, reason in outcome.asked
    ]

    async def file() -> list[str]:
        return [(await lbb.review(request, workflow=workflow)).id for request in requests]

    if requests:
        await ctx.step("review", file)


def _end(
    ctx: WorkflowContext,
    message: models.WorkflowTriggerMessage,
    later: list[str],
    state: dict[str, int],
    counts: Counter[str],
) -> WorkflowResult[dict[str, int]]:
    """The counters of all turns are the state, those of this turn the result."""
    total = {name: state.get(name, 0) + counts[name] for name in COUNTERS}
    result = {"counters": {name: counts[name] for name in COUNTERS}}
    if not later:
        return WorkflowResult(state=total, result=result)
    rest = message.model_dump(mode="json", by_alias=True, exclude_none=True)
    return ctx.continue_(total, {**rest, "instances": later, "removed": []}, result=result)
