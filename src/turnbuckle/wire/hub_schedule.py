"""Schedules of a scheduler blob (blobhub 7.1). Their rules of time and target are not here."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire.base import Request
from turnbuckle.wire.hub_base import Description, HubChannelRequest, Moment, Named
from turnbuckle.wire.hub_execution import HubInputValue, HubWorkflowReference, Part

Repeat = Literal["one_time", "recurring_cron"]
Cron = Annotated[str, Meta(min_length=11, max_length=200)]
TimeZone = Annotated[str, Meta(min_length=1, max_length=64)]


class HubInvocationPlace(Request, omit_defaults=True, frozen=True, kw_only=True):
    blob: Part
    revision: Part
    session: Part
    org: Part | UnsetType = UNSET


class HubInvocationTarget(Request, omit_defaults=True, frozen=True, kw_only=True):
    target: HubInvocationPlace
    workflow: HubWorkflowReference
    input_data: list[HubInputValue] | UnsetType = UNSET


class HubCreateScheduleRequest(HubChannelRequest, tag="create_schedule", frozen=True, kw_only=True):
    repeat: Repeat
    timezone: TimeZone
    invocation_target_type: Literal["workflow"]
    invocation_target: HubInvocationTarget
    alias: str | UnsetType = UNSET  # grammar: hub/alias.py
    description: Description | UnsetType = UNSET
    cron_expression: Cron | UnsetType = UNSET  # with `recurring_cron`
    invocation_time: Moment | UnsetType = UNSET  # with `one_time`, read in `timezone`
    enabled: bool = True
    start_date: Moment | UnsetType = UNSET
    end_date: Moment | UnsetType = UNSET


class HubUpdateScheduleRequest(HubChannelRequest, tag="update_schedule", frozen=True, kw_only=True):
    """The fields to change; the description is cleared with an empty text, the others cannot be."""

    schedule_id: Named
    repeat: Repeat | UnsetType = UNSET
    timezone: TimeZone | UnsetType = UNSET
    invocation_target_type: Literal["workflow"] | UnsetType = UNSET
    invocation_target: HubInvocationTarget | UnsetType = UNSET
    alias: str | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    cron_expression: Cron | UnsetType = UNSET
    invocation_time: Moment | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    start_date: Moment | UnsetType = UNSET
    end_date: Moment | UnsetType = UNSET


class HubDeleteScheduleRequest(HubChannelRequest, tag="delete_schedule", frozen=True, kw_only=True):
    schedule_id: Named


class HubGetScheduleRequest(HubChannelRequest, tag="get_schedule", frozen=True, kw_only=True):
    schedule_id: Named


class HubListSchedulesRequest(HubChannelRequest, tag="list_schedules", frozen=True, kw_only=True):
    start_schedule_id: Named | UnsetType = UNSET


class HubListScheduleExecutionsRequest(HubChannelRequest, tag="list_executions", frozen=True, kw_only=True):
    schedule_id: Named
    start_execution_id: Named | UnsetType = UNSET
    include_schedule: bool = False
