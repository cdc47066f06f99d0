"""The parts of a scenario's program that use activities: models, owned writes, requeues, reviews, and their capture."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from lbb.wire_json import wire_value
from lbb.workflows import (
    ActivityCapture,
    FailedInstance,
    OwnedWrite,
    WorkflowStepContext,
)
from tests.conformance.program import ACTIONS, GO_ON, OPERATIONS, Ending, Turn
from tests.conformance.template import Json, resolve

Fields = Mapping[str, Any]


async def _reason(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    suffix = fields.get("effect_id")
    effect_id = None if suffix is None else step.effect_id if suffix is True else step.effect_id + suffix
    await turn.lbb.reason(**fields["reason"], effect_id=effect_id)


async def _review_in_step(fields: Fields, step: WorkflowStepContext, turn: Turn) -> None:
    await turn.lbb.review(fields["review"])


async def _write_owned(fields: Fields, turn: Turn) -> Ending:
    write = OwnedWrite(**resolve(fields["write"], turn.values))
    graph = resolve(fields.get("graph"), turn.values)
    return _kept(
        fields["write_owned"], await turn.lbb.write_owned(turn.ctx, fields["write_owned"], write, graph=graph), turn
    )


async def _requeue(fields: Fields, turn: Turn) -> Ending:
    failed = [FailedInstance(**each) for each in fields["failed"]]
    graph = resolve(fields.get("graph"), turn.values)
    return _kept(fields["requeue"], await turn.lbb.requeue(turn.ctx, fields["requeue"], failed, graph=graph), turn)


async def _wait_for_review(fields: Fields, turn: Turn) -> Ending:
    key = fields["wait_for_review"]
    waited = await turn.lbb.wait_for_review(turn.ctx, key, fields["request"], timeout_ms=fields["timeout_ms"])
    return _kept(key, {"answered": waited.answered, "answer": waited.answer, "item": waited.item}, turn)


async def _review(fields: Fields, turn: Turn) -> Ending:
    return _kept(fields["review"], await turn.lbb.review(fields["request"]), turn)


async def _review_items(fields: Fields, turn: Turn) -> Ending:
    return _kept(fields["review_items"], await turn.lbb.review_items(fields["keys"]), turn)


def _kept(key: str, output: Any, turn: Turn) -> Ending:
    turn.values.outputs[key] = wire_value(output)
    return GO_ON


def captured_json(capture: ActivityCapture) -> Json:
    """`{writes, reviews, results}` as a scenario's matcher sees them: what is not there is left out."""
    kept = capture.result()
    return {
        "writes": [_without_none(vars(write)) for write in kept.writes],
        "reviews": [asdict(review) for review in kept.reviews],
        "results": [_without_none(result) for result in kept.results],
    }


def _without_none(fields: Mapping[str, Any]) -> Json:
    return {name: _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Json:
    return wire_value(value) if isinstance(value, BaseModel) else value


ACTIONS |= {"reason": _reason, "review": _review_in_step}
OPERATIONS |= {
    "write_owned": _write_owned,
    "requeue": _requeue,
    "wait_for_review": _wait_for_review,
    "review": _review,
    "review_items": _review_items,
}
