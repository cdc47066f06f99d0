"""Schedules on revisions of scheduler blobs: made, changed, read, deleted (blobhub 7.1). hub_fire.py lets them fire."""

import uuid
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from turnbuckle.hub import alias as aliases
from turnbuckle.hub import limits as limit_rules
from turnbuckle.hub import reference as references
from turnbuckle.hub import schedule as rules
from turnbuckle.hub import value as values
from turnbuckle.hub.schedule import Fields
from turnbuckle.operations import hub_blob, hub_execution, hub_place, hub_revision, hub_schedule_time, hub_session
from turnbuckle.operations.hub_place import Place, Visitor, denied
from turnbuckle.operations.hub_time import micro_iso, now_us
from turnbuckle.store import hub_schedule as schedules
from turnbuckle.store.hub_rows import Fire, HubSchedule
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import WORKFLOW_BLOB
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_limits import PAGE_DEFAULT
from turnbuckle.wire.hub_schedule import (
    HubCreateScheduleRequest,
    HubDeleteScheduleRequest,
    HubGetScheduleRequest,
    HubInvocationTarget,
    HubListScheduleExecutionsRequest,
    HubListSchedulesRequest,
    HubUpdateScheduleRequest,
)

_NEWEST = 2**62

# -- changing ----------------------------------------------------------------------------------------------------


def create(tx: Transaction, place: Place, request: HubCreateScheduleRequest) -> dict[str, Any]:
    """HubRefused(invalid_request_body | alias_in_use | limit_exceeded | invalid_invocation_target | access_denied)."""
    fields, at_us = rules.create(request), now_us(tx)
    hub_schedule_time.check(fields, at_us)
    fields = _resolved(tx, place.visitor, fields)
    revision_id = place.revision.revision_id
    newest = schedules.page(tx, place.graph_id, revision_id, _NEWEST, 1)
    made = HubSchedule(
        graph_id=place.graph_id,
        schedule_id=str(uuid.uuid4()),
        revision_id=revision_id,
        number=newest[0].number + 1 if newest else 1,
        alias=request.alias if isinstance(request.alias, str) else None,
        fields=msgspec.json.encode(fields),
        owner=msgspec.json.encode(place.visitor),
        state=rules.ACTIVE,
        due_at_us=due_us(fields, at_us),
        fires=0,
        created_at_us=at_us,
        updated_at_us=at_us,
    )
    held = schedules.count(tx, place.graph_id, revision_id)
    if not schedules.add(tx, made):
        raise _taken(made.alias)
    limit_rules.check_limit(limit_rules.SCHEDULES, held, hub_blob.overrides(place.blob))
    return {"schedule": of_schedule(made)}


def update(tx: Transaction, place: Place, request: HubUpdateScheduleRequest) -> dict[str, Any]:
    """The fields that came; who sends another target lets it fire with what they may do themselves."""
    known, at_us = find(tx, place, request.schedule_id, lock=True), now_us(tx)
    before = fields_of(known)
    fields = rules.update(before, known.state, request)
    if _timing(fields) != _timing(before):
        hub_schedule_time.check(fields, at_us)
    owner = known.owner
    if request.invocation_target is not UNSET:
        fields, owner = _resolved(tx, place.visitor, fields), msgspec.json.encode(place.visitor)
    due = due_us(fields, at_us)
    alias = request.alias if isinstance(request.alias, str) else known.alias
    holder = None if alias is None else schedules.alias_holder(tx, place.graph_id, known.revision_id, alias)
    if holder not in (None, known.schedule_id):
        raise _taken(alias)
    changed = msgspec.structs.replace(
        known,
        alias=alias,
        fields=msgspec.json.encode(fields),
        owner=owner,
        state=rules.COMPLETED if fields.enabled and due is None else rules.ACTIVE,
        due_at_us=due,
        updated_at_us=at_us,
    )
    schedules.save(tx, known, changed)
    return {"schedule": of_schedule(changed)}


def delete(tx: Transaction, place: Place, request: HubDeleteScheduleRequest) -> dict[str, Any]:
    """With its history; executions that it started go on."""
    known = find(tx, place, request.schedule_id, lock=True)
    schedules.delete(tx, known.graph_id, known.schedule_id)
    return {}


def due_us(fields: Fields, after_us: int) -> int | None:
    return hub_schedule_time.next_us(fields, after_us) if fields.enabled else None


def _timing(fields: Fields) -> Fields:
    """What says when, for comparison."""
    return msgspec.structs.replace(fields, invocation_target=Raw(b"{}"), description=None, enabled=True)


def _taken(alias: str | None) -> HubRefused:
    return HubRefused("alias_in_use", f"the revision has a schedule {alias!r} already")


# -- its target --------------------------------------------------------------------------------------------------


def target_place(tx: Transaction, visitor: Visitor, target: HubInvocationTarget, *, lock: bool = False) -> Place:
    """The revision it runs on, which must be writable now. HubRefused(access_denied | invalid_invocation_target)."""
    named = target.target
    if isinstance(named.org, str):
        blob = hub_place.owned_blob(tx, visitor, named.org, named.blob)
    else:
        blob = hub_place.blob(tx, visitor, named.blob, named.blob)
    hub_place.check_writer(visitor, blob)
    if blob.type != WORKFLOW_BLOB:
        raise HubRefused("invalid_invocation_target", f"target.blob: it is of the type {blob.type}")
    is_default = named.revision == references.DEFAULT
    ref = named.revision if is_default else aliases.lenient_id(named.revision) or named.revision
    revision = hub_place.revision_of(tx, blob, ref)
    if revision is None:
        raise denied(f"the revision {named.revision} of the blob {blob.alias}")
    place = hub_place.place(tx, visitor, revision.revision_id, lock=lock)
    try:
        hub_revision.check_channel(place.revision, is_command=True)
    except HubRefused as refused:
        raise HubRefused("invalid_invocation_target", f"target.revision: {refused.message}") from refused
    return place


def _resolved(tx: Transaction, visitor: Visitor, fields: Fields) -> Fields:
    """With everything that its target names found, and under a pinned revision its session's id for the alias."""
    target = fields.target
    reference = rules.check_target(target)
    place = target_place(tx, visitor, target)
    session = hub_session.find(tx, place, target.target.session)
    hub_execution.resolve(tx, place, reference)
    if isinstance(target.input_data, list):
        for index, given in enumerate(target.input_data):
            values.check_value(bytes(given.value), f"invocation_target.input_data[{index}].value")
    if target.target.revision != references.DEFAULT:
        pinned = msgspec.structs.replace(target.target, session=session.session_id)
        target = msgspec.structs.replace(target, target=pinned)
    return msgspec.structs.replace(fields, invocation_target=Raw(msgspec.json.encode(target)))


# -- reading -----------------------------------------------------------------------------------------------------


def find(tx: Transaction, place: Place, schedule_id: str, *, lock: bool = False) -> HubSchedule:
    """HubRefused(access_denied) when it is absent, or on another revision."""
    found = (schedules.lock if lock else schedules.get)(tx, place.graph_id, schedule_id)
    if found is None or found.revision_id != place.revision.revision_id:
        raise denied(f"the schedule {schedule_id}")
    return found


def get(tx: Transaction, place: Place, request: HubGetScheduleRequest) -> dict[str, Any]:
    return {"schedule": of_schedule(find(tx, place, request.schedule_id))}


def list_page(tx: Transaction, place: Place, request: HubListSchedulesRequest) -> dict[str, Any]:
    """Newest first, after the schedule that the last page ended with."""
    before = _NEWEST
    if isinstance(request.start_schedule_id, str):
        before = find(tx, place, request.start_schedule_id).number
    found = schedules.page(tx, place.graph_id, place.revision.revision_id, before, PAGE_DEFAULT + 1)
    page = found[:PAGE_DEFAULT]
    last = page[-1].schedule_id if len(found) > len(page) else None
    return {"schedules": [of_schedule(one) for one in page], "last_schedule_id": last}


def list_executions(tx: Transaction, place: Place, request: HubListScheduleExecutionsRequest) -> dict[str, Any]:
    """What came of its fires, newest first, after the one that the last page ended with."""
    schedule, before = find(tx, place, request.schedule_id), _NEWEST
    if isinstance(request.start_execution_id, str):
        known = schedules.fire_number(tx, place.graph_id, schedule.schedule_id, request.start_execution_id)
        if known is None:
            raise HubRefused("invalid_cursor", "start_execution_id: the schedule has no such fire any more")
        before = known
    found = schedules.fires(tx, place.graph_id, schedule.schedule_id, before, PAGE_DEFAULT + 1)
    page = found[:PAGE_DEFAULT]
    last = page[-1].fire_id if len(found) > len(page) else None
    answer = {"executions": [_of_fire(one) for one in page], "last_execution_id": last}
    return answer | ({"schedule": of_schedule(schedule)} if request.include_schedule else {})


def fields_of(schedule: HubSchedule) -> Fields:
    return msgspec.json.decode(schedule.fields, type=Fields)


def of_schedule(schedule: HubSchedule) -> dict[str, Any]:
    """Its record; what is not set is left out. `next_invocation_at` is ours."""
    fields = fields_of(schedule)
    given = {name: value for name, value in msgspec.structs.asdict(fields).items() if value is not None}
    return {
        "id": schedule.schedule_id,
        "revision_id": schedule.revision_id,
        **({} if schedule.alias is None else {"alias": schedule.alias}),
        **given,
        "state": schedule.state,
        "next_invocation_at": None if schedule.due_at_us is None else micro_iso(schedule.due_at_us),
        "created_at": micro_iso(schedule.created_at_us),
        "updated_at": micro_iso(schedule.updated_at_us),
    }


def _of_fire(fire: Fire) -> dict[str, Any]:
    return {
        "id": fire.fire_id,
        "schedule_id": fire.schedule_id,
        "created_at": micro_iso(fire.created_at_us),
        "invocation_target_type": "workflow",
        "invocation_target": Raw(fire.target),
        "status": fire.status,
        "result": Raw(fire.result),
    }
