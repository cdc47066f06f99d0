"""The manifest `scheduler_blob_deployment`, and how its entries differ from deployed schedules (blobhub 7.1).

type: scheduler_blob_deployment
version: "1.0"
blob: acme/timer
revision: default
schedules:
  - alias: each-morning
    repeat: recurring_cron
    cron_expression: 0 9 ? * MON-FRI *
    timezone: Europe/Berlin
    invocation_target_type: workflow
    invocation_target:
      target: {org: acme, blob: support-bot, revision: default, session: nightly}
      workflow: {definition: answer-question}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from turnbuckle.hub.alias import is_alias
from turnbuckle.hub_deploy import manifest
from turnbuckle.hub_deploy.manifest import BlobPlace, Item, Part
from turnbuckle.hub_deploy.problem import DeployProblem

FIELDS: Final = (  # in the order that a pulled manifest has
    "alias",
    "description",
    "repeat",
    "cron_expression",
    "invocation_time",
    "timezone",
    "enabled",
    "start_date",
    "end_date",
    "invocation_target_type",
    "invocation_target",
)
_TEXTS: Final = tuple(field for field in FIELDS if field not in ("enabled", "invocation_target"))
_REQUIRED: Final = ("repeat", "timezone", "invocation_target_type")
_ENABLED: Final = "enabled"
_KEPT: Final = ("start_date", "end_date")  # the server cannot clear these


@dataclass(frozen=True)
class ScheduleManifest:
    path: Path
    place: BlobPlace
    schedules: tuple[dict[str, Any], ...]  # the create fields of each, `enabled` filled in


def read(path: Path) -> ScheduleManifest:
    """DeployProblem MANIFEST_* | FORMAT_* | BLOB_REFERENCE_INVALID | SCHEDULE_*."""
    top = manifest.read_top(path, manifest.SCHEDULER_TYPE, {"schedules"})
    entries = tuple(_entry(item) for item in top.items("schedules"))
    aliases = [entry["alias"] for entry in entries]
    for index, alias in enumerate(aliases):
        if alias in aliases[:index]:
            raise top.wrong(f"schedules[{index}].alias", f"{alias!r} stands twice", "SCHEDULE_ALIAS_INVALID")
    return ScheduleManifest(path, manifest.place_of(top), entries)


def _entry(item: Item) -> dict[str, Any]:
    part = item.part(set(FIELDS))
    alias = part.optional_text("alias")
    if alias is None:
        raise part.wrong("alias", "missing", "SCHEDULE_ALIAS_REQUIRED")
    if not is_alias(alias):
        raise part.wrong("alias", f"got {alias!r}", "SCHEDULE_ALIAS_INVALID")
    for field in _REQUIRED:
        part.text(field)
    _check_timing(part)
    enabled = part.value.get(_ENABLED, True)
    if not isinstance(enabled, bool):
        raise part.wrong(_ENABLED, f"got {enabled!r}, expected true or false")
    texts = {field: part.optional_text(field) for field in _TEXTS}
    _check_target(part)
    given = {field: text for field, text in texts.items() if text is not None}
    return {**given, _ENABLED: enabled, "invocation_target": part.value["invocation_target"]}


def _check_timing(part: Part) -> None:
    if "cron_expression" in part.value and "invocation_time" in part.value:
        raise part.wrong("", "expected one of `cron_expression` and `invocation_time`")


def _check_target(part: Part) -> None:
    """Its shape alone: what it names is looked up on the server."""
    target = part.value.get("invocation_target")
    if not isinstance(target, Mapping) or not set(_TARGET_PARTS) <= set(target) <= {*_TARGET_PARTS, "input_data"}:
        raise _bad_target(part, "", f"expected a mapping with {' and '.join(_TARGET_PARTS)}, and perhaps input_data")
    for key, (needed, more) in _TARGET_PARTS.items():
        named = target[key]
        is_right = isinstance(named, Mapping) and needed <= set(named) <= needed | more
        if not is_right or not all(isinstance(value, str) for value in named.values()):
            what = f"expected texts under {', '.join(sorted(needed))}, and perhaps {', '.join(sorted(more))}"
            raise _bad_target(part, f".{key}", what)


def _bad_target(part: Part, where: str, what: str) -> DeployProblem:
    return part.wrong(f"invocation_target{where}", what, "SCHEDULE_TARGET_INVALID")


# The keys each part needs, and those it may have.
_TARGET_PARTS: Final = {
    "target": (frozenset({"blob", "revision", "session"}), frozenset({"org"})),
    "workflow": (frozenset({"definition"}), frozenset({"org", "blob", "revision"})),
}


def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest says of a deployed schedule, from its record."""
    return {field: record[field] for field in FIELDS if record.get(field) not in (None, "")}


def changes(wanted: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an update, empty when nothing differs.

    DeployProblem MANIFEST_INVALID when a field would have to be cleared that the server cannot clear.
    """
    deployed = fields_of(record)
    changed = {field: value for field, value in wanted.items() if _differ(value, deployed.get(field))}
    for field in _KEPT:
        if field in deployed and field not in wanted:
            what = f"{wanted['alias']}: {field} cannot be taken away; delete the schedule, then deploy it again"
            raise DeployProblem("MANIFEST_INVALID", what)
    if "description" in deployed and "description" not in wanted:
        changed["description"] = ""
    return changed


def _differ(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)
