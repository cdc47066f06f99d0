"""Lets a schedule that is due start its execution, in the same transaction that moves it to its next time.

So a server that is killed fires neither twice nor not at all. Times that passed while no server ran become one fire.
"""

import uuid
from typing import Any

import msgspec
from msgspec import UNSET

from turnbuckle.hub import schedule as rules
from turnbuckle.operations import hub_execution, hub_schedule
from turnbuckle.operations.hub_place import Visitor
from turnbuckle.operations.hub_time import now_us
from turnbuckle.store import hub_schedule as schedules
from turnbuckle.store.hub_rows import Fire, HubSchedule
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_execution import HubCreateExecutionRequest, HubExecutionTarget
from turnbuckle.wire.limits import DAY_MS

KEPT_US = 90 * DAY_MS * 1_000  # what came of a fire
_PIECE = 100  # schedules that are looked up at once
_ACCESS = ("access_denied", "revision_not_found", "not_found")


def due(tx: Transaction) -> list[tuple[str, str]]:
    """(graph id, schedule id) of what is to fire now."""
    return schedules.due(tx, now_us(tx), _PIECE)


def fire(tx: Transaction, graph_id: str, schedule_id: str) -> None:
    """Fire the schedule, unless another server was faster."""
    schedule, at_us = schedules.lock(tx, graph_id, schedule_id), now_us(tx)
    if schedule is None or schedule.due_at_us is None or schedule.due_at_us > at_us:
        return
    fire_id = str(uuid.uuid4())
    status, result = _invoke(tx, schedule, fire_id)
    fields, number = hub_schedule.fields_of(schedule), schedule.fires + 1
    schedules.add_fire(
        tx,
        Fire(
            graph_id=schedule.graph_id,
            schedule_id=schedule.schedule_id,
            number=number,
            fire_id=fire_id,
            target=bytes(fields.invocation_target),
            status=status,
            result=msgspec.json.encode(result),
            created_at_us=at_us,
        ),
    )
    due_us = hub_schedule.due_us(fields, at_us)
    state = rules.COMPLETED if due_us is None else rules.ACTIVE
    schedules.save(tx, schedule, msgspec.structs.replace(schedule, fires=number, due_at_us=due_us, state=state))


def forget_old(tx: Transaction) -> bool:
    """Remove what came of old fires. False: nothing is left to do."""
    schedules.forget_fires(tx, now_us(tx) - KEPT_US)
    return False


def _invoke(tx: Transaction, schedule: HubSchedule, fire_id: str) -> tuple[str, dict[str, Any]]:
    """(status, result). A refusal comes before anything of the execution is written, so the rest can be saved."""
    target = hub_schedule.fields_of(schedule).target
    visitor = msgspec.json.decode(schedule.owner, type=Visitor)
    request = HubCreateExecutionRequest(
        target=HubExecutionTarget(session=target.target.session),
        workflow=target.workflow,
        input_data=target.input_data if isinstance(target.input_data, list) else UNSET,
    )
    trigger = {"type": "schedule", "schedule_id": schedule.schedule_id, "schedule_execution_id": fire_id}
    try:
        place = hub_schedule.target_place(tx, visitor, target, lock=True)
        execution = hub_execution.create(tx, place, request, trigger)["execution"]
    except HubRefused as refused:
        status = rules.ACCESS_ERROR if refused.code in _ACCESS else rules.INVOCATION_ERROR
        return status, {"error": refused.code, "message": refused.message}
    return rules.SUCCESS, {"execution_id": execution["id"], "session_id": execution["session_id"]}
