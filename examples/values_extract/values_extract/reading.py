"""Reading one instance: what the reasoning model proposes, what of it passes, and how well each quote supports it."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lbb import LbbError
from lbb.workflows import LbbActivities, WorkflowContext, WorkflowStepContext, is_activity_refused

from values_extract.check import Proposal, check
from values_extract.prompts import PROMPT_CHARS_MAX, READ, SCHEMA, read_prompt, support_questions
from values_extract.records import Record
from values_extract.settings import Settings
from values_extract.units import unit_problem
from values_extract.values import Value

_LABEL_CHARS = 64
_ANSWER_BYTES_MAX = 60_000


@dataclass(frozen=True)
class Reading:
    record: Record
    values: Mapping[str, Value] = field(default_factory=dict)  # by property
    counts: Counter[str] = field(default_factory=Counter)
    error: str | None = None  # why it could not be read


async def read(lbb: LbbActivities, ctx: WorkflowContext, settings: Settings, index: int, record: Record) -> Reading:
    """Two model calls, each in a step named by `index`, the instance's place in the turn. None for an empty text."""
    if not record.text.strip():
        return Reading(record)
    proposed = await _propose(lbb, ctx, settings, index, record)
    if "refused" in proposed:
        return Reading(record, error=proposed["refused"])
    passed, failed = check(settings, record.text, proposed["values"])
    counts = failed + Counter(values_proposed=len(proposed["values"]))
    if not passed:
        return Reading(record, counts=counts)
    supports = await _weigh(lbb, ctx, index, record, passed)
    if "refused" in supports:
        return Reading(record, counts=counts, error=supports["refused"])
    values = {one.property: _value(settings, one, supports["support"][one.property]) for one in passed}
    return Reading(record, values, counts)


async def _propose(
    lbb: LbbActivities, ctx: WorkflowContext, settings: Settings, index: int, record: Record
) -> dict[str, Any]:
    """`{values: [{property, value, unit, quote}]}`, or `{refused}` with the reason."""
    prompt = read_prompt(settings, record.name, record.text)
    if len(prompt) + len(READ) > PROMPT_CHARS_MAX:
        return {"refused": f"the text is too long to be read in one call: {len(record.text)} characters"}

    async def propose(s: WorkflowStepContext) -> dict[str, Any]:
        try:
            answer = await lbb.reason(
                prompt,
                SCHEMA,
                system=READ,
                effect_id=s.effect_id,
                label=record.name[:_LABEL_CHARS],
                instance=record.iri,
            )
        except LbbError as error:
            return _refused(error)
        return _kept(answer.value)

    saved: dict[str, Any] = await ctx.step(f"values-{index}", propose, kind="model")
    return saved


async def _weigh(
    lbb: LbbActivities, ctx: WorkflowContext, index: int, record: Record, passed: list[Proposal]
) -> dict[str, Any]:
    """`{support: {property: 0 to 1, or None where the model did not say}}`, or `{refused}` with the reason."""

    async def weigh(s: WorkflowStepContext) -> dict[str, Any]:
        try:
            answer = await lbb.decide(
                {"record": record.name, "text": record.text},
                support_questions(passed),
                effect_id=s.effect_id,
                label=record.name[:_LABEL_CHARS],
                instance=record.iri,
            )
        except LbbError as error:
            return _refused(error)
        said = answer.model_dump(mode="json")["answers"]
        return {"support": {one.property: _support(said.get(one.property)) for one in passed}}

    saved: dict[str, Any] = await ctx.step(f"support-{index}", weigh, kind="model")
    return saved


def _kept(value: Any) -> dict[str, Any]:
    """What the step saves. An answer larger than a step's output would fail the turn, and so all its instances."""
    said = value.get("values", []) if isinstance(value, dict) else []
    if len(json.dumps(said).encode()) > _ANSWER_BYTES_MAX:
        return {"refused": f"the model proposed more than a step can save: {len(said)} values"}
    return {"values": said}


def _refused(error: LbbError) -> dict[str, Any]:
    """A refusal is an outcome of this instance; any other error is one of the attempt, which is tried again."""
    if is_activity_refused(error):
        return {"refused": str(error)}
    raise error


def _support(said: Mapping[str, Any] | None) -> float | None:
    shares = (said or {}).get("probabilities") or {}
    if "supported" in shares:
        return float(shares["supported"])
    if said is None or said.get("choice") is None:
        return None
    if said["choice"] != "supported":
        return 0.0
    return None if said.get("confidence") is None else float(said["confidence"])


def _value(settings: Settings, one: Proposal, support: float | None) -> Value:
    is_number = isinstance(one.value, int | float) and not isinstance(one.value, bool)
    declared = settings.units.get(one.property) if is_number else None
    problem = unit_problem(declared, float(one.value), one.quote, one.unit) if declared else None
    return Value(one.property, one.value, one.quote, support, problem, one.unit)
