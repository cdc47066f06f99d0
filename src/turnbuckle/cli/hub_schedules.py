"""`turnbuckle hub schedules`: what runs at which time, on scheduler blobs (blobhub 7.1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from blobhub import Blob, Client, Revision
from blobhub.request import path_of
from turnbuckle.cli.hub_deploy import manifest_option, warn
from turnbuckle.cli.hub_failure import SCHEMA_VERSION, HubFailure, denied_as
from turnbuckle.cli.hub_server import SCHEDULER_BLOB, blob_at, in_place, of_hub, org_option, print_result, revision_at
from turnbuckle.cli.hub_targets import Targets
from turnbuckle.cli.output import console, print_json, table
from turnbuckle.hub.alias import is_canonical_id
from turnbuckle.hub.limits import SCHEDULES
from turnbuckle.hub_deploy import files
from turnbuckle.hub_deploy import schedules as plan
from turnbuckle.hub_deploy.schedules import ScheduleManifest

Record = dict[str, Any]


@click.group()
def schedules() -> None:
    """See schedules, and deploy them from a manifest."""


@dataclass(frozen=True)
class Deployed:
    """A manifest beside the revision it names."""

    manifest: ScheduleManifest
    blob: Blob
    revision: Revision
    records: dict[str, Record]  # by alias
    unmanageable: list[str]  # ids of those without alias
    drift: list[str]  # aliases that are deployed and not in the manifest


def _look(client: Client, path: Path, org: str | None, *, is_write: bool) -> Deployed:
    read = plan.read(path)
    place = read.place
    name = place.blob if place.org is None else f"{place.org}/{place.blob}"
    blob = blob_at(client, name, org, type=SCHEDULER_BLOB)
    revision = revision_at(blob, place.revision, is_write=is_write)
    found = list(_all(revision))
    records = {one["alias"]: one for one in found if one.get("alias")}
    named = {entry["alias"] for entry in read.schedules}
    nameless = [one["id"] for one in found if not one.get("alias")]
    return Deployed(read, blob, revision, records, nameless, sorted(set(records) - named))


def _all(revision: Revision) -> Iterator[Record]:
    """Newest first."""
    after: dict[str, str] = {}
    while True:
        answer = revision.query("list_schedules", **after)
        yield from answer["schedules"]
        if not answer.get("last_schedule_id"):
            return
        after = {"start_schedule_id": answer["last_schedule_id"]}


@schedules.command("list")
@in_place
@of_hub
def list_all(client: Client, name: str, org: str | None, ref: str, as_json: bool) -> None:
    """List the schedules of a revision, newest first."""
    revision = revision_at(blob_at(client, name, org, type=SCHEDULER_BLOB), ref)
    found = list(_all(revision))
    if as_json:
        print_json({"schedules": found})
        return
    head = ("schedule", "when", "zone", "state", "next (UTC)", "runs")
    console().print(table(head, (_row(one) for one in found), long="runs"))


def _row(one: Record) -> tuple[str, ...]:
    target = one["invocation_target"]
    place = "/".join(str(target["target"].get(key, "")) for key in ("org", "blob", "revision"))
    return (
        one.get("alias") or one["id"],
        one.get("cron_expression") or one.get("invocation_time") or "",
        one["timezone"],
        one["state"] if one["enabled"] else "disabled",
        str(one.get("next_invocation_at") or "")[:19].replace("T", " "),
        f"{target['workflow']['definition']} in {place}, session {target['target']['session']}",
    )


@schedules.command()
@manifest_option
@org_option
@click.option("--dry-run", is_flag=True, help="Compare only; change nothing, and make no session.")
@of_hub
def deploy(client: Client, path: Path, org: str | None, dry_run: bool, as_json: bool) -> None:
    """Make or change the schedules of a manifest, known by their alias. Missing sessions are made.

    All targets are looked up before anything is written. Schedules that the manifest does not name keep firing.
    """
    found = _look(client, path, org, is_write=True)
    _check_room(client, found)
    targets = Targets(client, make=not dry_run)
    wanted = [_with_target(entry, targets) for entry in found.manifest.schedules]
    changes = {one["alias"]: _changes(found, one) for one in wanted}
    if not dry_run:
        for one in wanted:
            _write(found, one, changes[one["alias"]])
    warn(targets.advisories)
    new = [one["alias"] for one in wanted if one["alias"] not in found.records]
    changed = [one["alias"] for one in wanted if one["alias"] in found.records and changes[one["alias"]]]
    told = {
        "created": [] if dry_run else new,
        "updated": [] if dry_run else changed,
        "unchanged": [one["alias"] for one in wanted if one["alias"] not in new + changed],
        "planned": new + changed if dry_run else [],
        "sessions_created": [] if dry_run else targets.made,
        "dry_run": dry_run,
        "drift": found.drift,
    }
    _tell(told, as_json, ("created", "updated", "unchanged", "planned", "sessions_created"))


def _check_room(client: Client, found: Deployed) -> None:
    """HubFailure LIMIT_EXCEEDED before anything is written."""
    groups = client.request("GET", path_of("blobs", found.blob.org_id, found.blob.id, "limits"))["groups"]
    most = next((one["value"] for group in groups for one in group["limits"] if one["id"] == SCHEDULES), None)
    new = [entry for entry in found.manifest.schedules if entry["alias"] not in found.records]
    held = len(found.records) + len(found.unmanageable)
    if most is not None and new and held + len(new) > most:
        raise HubFailure(
            "LIMIT_EXCEEDED", f"the revision may have {most} schedules, has {held} and would get {len(new)}"
        )


def _with_target(entry: Record, targets: Targets) -> Record:
    return {**entry, "invocation_target": targets.resolve(entry["invocation_target"])}


def _changes(found: Deployed, wanted: Record) -> Record:
    record = found.records.get(wanted["alias"])
    return {} if record is None else plan.changes(wanted, record)


def _write(found: Deployed, wanted: Record, changes: Record) -> None:
    record = found.records.get(wanted["alias"])
    if record is None:
        found.revision.command("create_schedule", **wanted)
    elif changes:
        found.revision.command("update_schedule", schedule_id=record["id"], **changes)


@schedules.command()
@manifest_option
@org_option
@of_hub
def diff(client: Client, path: Path, org: str | None, as_json: bool) -> None:
    """Tell how the manifest differs from what is deployed. Exit code 0, also when it does."""
    found = _look(client, path, org, is_write=False)
    targets = Targets(client, make=False)
    told = [_difference(found, _with_target(entry, targets)) for entry in found.manifest.schedules]
    if as_json:
        rest = {"drift": found.drift, "unmanageable": found.unmanageable, "schema_version": SCHEMA_VERSION}
        print_json({"schedules": told, **rest})
        return
    rows = ((one["alias"], one["presence"], ", ".join(one["changed"]) or "nothing") for one in told)
    console().print(table(("schedule", "where", "what differs"), rows, long="what differs"))
    if found.drift:
        click.echo(f"deployed, and not in the manifest: {', '.join(found.drift)}", err=True)


def _difference(found: Deployed, wanted: Record) -> Record:
    record = found.records.get(wanted["alias"])
    presence = "local_only" if record is None else "both"
    changed = list(wanted) if record is None else list(_changes(found, wanted))
    return {"alias": wanted["alias"], "presence": presence, "changed": changed}


@schedules.command()
@manifest_option
@org_option
@click.option("--dry-run", is_flag=True, help="Tell what would be written; write nothing.")
@of_hub
def pull(client: Client, path: Path, org: str | None, dry_run: bool, as_json: bool) -> None:
    """Write the manifest anew from what is deployed, the oldest schedule first."""
    found = _look(client, path, org, is_write=False)
    entries = [plan.fields_of(record) for record in reversed(found.records.values())]
    if not dry_run:
        files.write(path, {**files.read(path), "schedules": entries})
    aliases = [entry["alias"] for entry in entries]
    told = {
        "pulled": [] if dry_run else aliases,
        "planned": aliases if dry_run else [],
        "unmanageable": found.unmanageable,
        "dry_run": dry_run,
    }
    _tell(told, as_json, ("pulled", "planned", "unmanageable"))


@schedules.command()
@in_place
@click.argument("schedule", metavar="SCHEDULE")
@of_hub
def delete(client: Client, name: str, org: str | None, ref: str, schedule: str, as_json: bool) -> None:
    """Delete a schedule, by its alias or id, with its history. Executions that it started go on."""
    revision = revision_at(blob_at(client, name, org, type=SCHEDULER_BLOB), ref, is_write=True)
    key = "id" if is_canonical_id(schedule) else "alias"
    found = next((one for one in _all(revision) if one.get(key) == schedule), None)
    if found is None:
        raise HubFailure("SCHEDULE_NOT_ACCESSIBLE", f"the revision has no schedule {schedule}")
    with denied_as("SCHEDULE_NOT_ACCESSIBLE", f"the schedule {schedule}"):
        revision.command("delete_schedule", schedule_id=found["id"])
    print_result(as_json, {"deleted": found["id"]}, f"{schedule} is deleted")


def _tell(told: Record, as_json: bool, words: tuple[str, ...]) -> None:
    if as_json:
        print_json({**told, "schema_version": SCHEMA_VERSION})
        return
    for word in words:
        if told[word]:
            click.echo(f"{word.replace('_', ' ')}: {', '.join(told[word])}")
    if told.get("drift"):
        click.echo(f"deployed, and not in the manifest: {', '.join(told['drift'])}", err=True)
