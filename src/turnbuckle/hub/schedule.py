"""A schedule of a scheduler blob: its fields, and which of them go together (blobhub 7.1)."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from turnbuckle.hub import reference as references
from turnbuckle.hub.alias import check_alias, is_canonical_id, lenient_id
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_schedule import HubCreateScheduleRequest, HubInvocationTarget, HubUpdateScheduleRequest

ONE_TIME: Final = "one_time"
RECURRING: Final = "recurring_cron"
ACTIVE: Final = "active"  # until it fired its one time, or nothing is due before its end
COMPLETED: Final = "completed"
# What a fire came to
SUCCESS: Final = "success"
ACCESS_ERROR: Final = "access_error"  # something of its target is gone, or out of reach
INVOCATION_ERROR: Final = "invocation_error"  # the execution was refused
_TIMING: Final = {ONE_TIME: "invocation_time", RECURRING: "cron_expression"}
_CHANGED = ("repeat", "timezone", "cron_expression", "invocation_time", "enabled", "start_date", "end_date")


class Fields(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the caller sets; a field that is not set is None."""

    repeat: str
    timezone: str
    invocation_target: Raw
    invocation_target_type: str = ""
    description: str | None = None
    cron_expression: str | None = None
    invocation_time: str | None = None
    enabled: bool = True
    start_date: str | None = None
    end_date: str | None = None

    @property
    def target(self) -> HubInvocationTarget:
        return msgspec.json.decode(self.invocation_target, type=HubInvocationTarget)


def create(request: HubCreateScheduleRequest) -> Fields:
    """HubRefused(invalid_request_body) unless alias and timing are as they should be."""
    if isinstance(request.alias, str):
        check_alias(request.alias)
    made = Fields(
        repeat=request.repeat,
        timezone=request.timezone,
        invocation_target=Raw(msgspec.json.encode(request.invocation_target)),
        invocation_target_type=request.invocation_target_type,
        description=_set(request.description) or None,
        cron_expression=_set(request.cron_expression),
        invocation_time=_set(request.invocation_time),
        enabled=request.enabled,
        start_date=_set(request.start_date),
        end_date=_set(request.end_date),
    )
    return _checked(made)


def update(fields: Fields, state: str, request: HubUpdateScheduleRequest) -> Fields:
    """With another `repeat` the time of the old one goes. HubRefused(invalid_request_body), also when completed."""
    if state == COMPLETED:
        raise HubRefused("invalid_request_body", "the schedule is completed; make another")
    if isinstance(request.alias, str):
        check_alias(request.alias)
    changes: dict[str, Any] = {name: getattr(request, name) for name in _CHANGED}
    changes = {name: value for name, value in changes.items() if value is not UNSET}
    if isinstance(request.description, str):
        changes["description"] = request.description or None
    if request.invocation_target is not UNSET:
        changes["invocation_target"] = Raw(msgspec.json.encode(request.invocation_target))
    if changes.get("repeat", fields.repeat) != fields.repeat:
        changes.setdefault(_TIMING[fields.repeat], None)
    return _checked(msgspec.structs.replace(fields, **changes))


def _set(value: Any) -> Any:
    return None if value is UNSET else value


def _checked(fields: Fields) -> Fields:
    for repeat, name in _TIMING.items():
        is_there, is_wanted = getattr(fields, name) is not None, repeat == fields.repeat
        if is_there != is_wanted:
            what = "missing" if is_wanted else "got one, expected none"
            raise HubRefused("invalid_request_body", f"{name}: {what} with repeat {fields.repeat}")
    return fields


def check_target(target: HubInvocationTarget) -> references.WorkflowReference:
    """The definition it runs. HubRefused(invalid_invocation_target) for names that may come to mean another."""
    place = target.target
    if place.org is UNSET and not is_canonical_id(place.blob):
        raise _invalid(f"target.blob: got {place.blob!r} without an org, expected the blob's id")
    if place.revision != references.DEFAULT and lenient_id(place.revision) is None:
        raise _invalid(f"target.revision: got {place.revision!r}, expected `default` or an id")
    if place.revision == references.DEFAULT and is_canonical_id(place.session.strip().lower()):
        raise _invalid("target.session: an id belongs to one revision; under `default` name the session by its alias")
    named = msgspec.structs.asdict(target.workflow)
    try:
        reference = references.parse_mapping({name: part for name, part in named.items() if part is not UNSET})
    except references.BadReference as exc:
        raise _invalid(f"workflow: {exc}") from exc
    of_default = (place.revision if reference.is_local else reference.revision) == references.DEFAULT
    if of_default and reference.is_definition_id:
        raise _invalid("workflow.definition: an id belongs to one revision; under `default` name it by its alias")
    return reference


def _invalid(what: str) -> HubRefused:
    return HubRefused("invalid_invocation_target", what)
