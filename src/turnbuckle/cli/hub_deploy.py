"""`turnbuckle hub deploy` and `diff`: what a manifest's files make, and what is deployed (blobhub 6.5)."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from blobhub import Client, Revision
from turnbuckle.cli import hub_remote
from turnbuckle.cli.hub_definitions import finding_line
from turnbuckle.cli.hub_failure import SCHEMA_VERSION, HubFailure
from turnbuckle.cli.hub_server import blob_at, of_hub, org_option, revision_at
from turnbuckle.cli.output import console, plain, print_json, table
from turnbuckle.hub.moment import micro_iso
from turnbuckle.hub_deploy import build, compare, files, manifest
from turnbuckle.hub_deploy.imports import ImportRoots
from turnbuckle.hub_deploy.manifest import DefinitionEntry, Manifest
from turnbuckle.hub_deploy.problem import Advisory, DeployProblem

NEAR_LIMIT_BYTES = 8 * 1024 * 1024
manifest_option = click.option(
    "-f", "--file", "path", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The manifest."
)


@dataclass(frozen=True)
class Pair:
    """A definition of the manifest as its files make it, and as it is deployed."""

    entry: DefinitionEntry
    category: str
    source: Any | None  # as it is in the file; None when there is no file
    local: Any | None  # with what was built in it
    remote_id: str | None
    remote: Any | None
    problem: DeployProblem | None  # why there is no `local`

    @property
    def is_equal(self) -> bool:
        return compare.compare(self.local, self.remote).is_equal


@dataclass(frozen=True)
class Deployment:
    """A manifest beside the revision it names."""

    revision: Revision
    pairs: list[Pair]
    drift: list[str]  # aliases that are deployed and not in the manifest


def look(client: Client, path: Path, org: str | None, *, is_write: bool, force: bool) -> Deployment:
    """Build all, download all. Nothing is changed."""
    read = manifest.read(path)
    place = read.place
    name = place.blob if place.org is None else f"{place.org}/{place.blob}"
    blob = blob_at(client, name, org)
    revision = revision_at(blob, place.revision, is_write=is_write)
    records = hub_remote.definitions_of(revision)
    roots = ImportRoots(hub_remote.code_imports(blob), is_strict=True)
    pairs = [_pair(revision, entry, records, roots, force) for entry in read.definitions]
    return Deployment(revision, pairs, _drift(read, records))


@click.command()
@manifest_option
@org_option
@click.option("--force", is_flag=True, help="Replace code that was edited, or was not built from files.")
@click.option("--dry-run", is_flag=True, help="Build and compare only; change nothing.")
@of_hub
def deploy(client: Client, path: Path, org: str | None, force: bool, dry_run: bool, as_json: bool) -> None:
    """Build what the manifest names, upload what has changed, then check the uploaded workflows.

    Everything is built before anything is uploaded. Definitions that the manifest does not name stay, and are told.
    """
    found = look(client, path, org, is_write=True, force=force)
    for pair in found.pairs:
        if pair.problem is not None:
            raise pair.problem
        if pair.remote is not None:
            build.check_remote_kept(pair.entry, pair.local, pair.remote, force=force)
    changed = [pair for pair in found.pairs if not pair.is_equal]
    told: dict[str, Any] = {
        "created": [],
        "uploaded": [],
        "unchanged": [pair.entry.alias for pair in found.pairs if pair.is_equal],
        "planned": [pair.entry.alias for pair in changed] if dry_run else [],
        "skipped_check": [],
        "checked": [],
        "dry_run": dry_run,
        "drift": found.drift,
    }
    if not dry_run:
        uploaded = [(pair, _upload(found.revision, pair, told)) for pair in changed]
        _check(found.revision, uploaded, told)
    if as_json:
        print_json({**told, "schema_version": SCHEMA_VERSION})
        return
    for word in ("created", "uploaded", "unchanged", "planned", "checked"):
        if told[word]:
            click.echo(f"{word}: {', '.join(told[word])}")
    if found.drift:
        click.echo(f"deployed, and not in the manifest: {', '.join(found.drift)}", err=True)


def _upload(revision: Revision, pair: Pair, told: dict[str, Any]) -> str:
    """The definition's id. The file gets what was built, so that it and the deployed one stay the same."""
    if pair.local != pair.source:
        files.write(pair.entry.source, pair.local)
    definition_id = pair.remote_id
    if definition_id is None:
        definition_id = hub_remote.create_definition(revision, pair.entry.alias, pair.category, pair.local)
        told["created"].append(pair.entry.alias)
    hub_remote.upload_document(revision, definition_id, pair.local)
    told["uploaded"].append(pair.entry.alias)
    return definition_id


def _check(revision: Revision, uploaded: list[tuple[Pair, str]], told: dict[str, Any]) -> None:
    """HubFailure CHECK_FAILED for the first that is not sound. All are uploaded by then, and stay so."""
    for pair, definition_id in uploaded:
        if pair.category != "workflow":
            told["skipped_check"].append(pair.entry.alias)
            continue
        is_sound, events = hub_remote.check_definition(revision, definition_id)
        if not is_sound:
            errors = "; ".join(finding_line(event) for event in events if event.get("type") == "error")
            raise HubFailure("CHECK_FAILED", f"{pair.entry.alias} is uploaded and not sound: {errors}")
        told["checked"].append(pair.entry.alias)


@click.command()
@manifest_option
@org_option
@of_hub
def diff(client: Client, path: Path, org: str | None, as_json: bool) -> None:
    """Tell how what the files make differs from what is deployed. Exit code 0, also when it does."""
    found = look(client, path, org, is_write=False, force=True)
    told = [_difference(pair) for pair in found.pairs]
    if as_json:
        print_json({"definitions": told, "drift": found.drift, "schema_version": SCHEMA_VERSION})
        return
    head = ("definition", "where", "code", "what differs")
    rows = ((one["alias"], one["presence"], one["state"] or "", _summary(one)) for one in told)
    console().print(table(head, rows, long="what differs"))
    if found.drift:
        click.echo(f"deployed, and not in the manifest: {', '.join(found.drift)}", err=True)


def _difference(pair: Pair) -> dict[str, Any]:
    # Without a build the file is compared as it is, so that the rest can still be seen.
    local = pair.local if pair.problem is None else pair.source
    difference = asdict(compare.compare(local, pair.remote))
    states = build.states_of(pair.entry, pair.remote) if pair.remote is not None else {}
    state = compare.worst(states)
    return {
        "alias": pair.entry.alias,
        "category": pair.category,
        **difference,
        "compile_error": None if pair.problem is None or pair.source is None else _told(pair.problem),
        "state": None if state is None else state.value,
    }


def _told(problem: DeployProblem) -> dict[str, str]:
    return {"code": problem.code, "message": problem.message}


def _summary(one: dict[str, Any]) -> str:
    if one["compile_error"] is not None:
        return f"{one['compile_error']['code']}: {one['compile_error']['message']}"
    if one["is_equal"]:
        return "nothing"
    if one["presence"] != "both":
        return "all of it"
    parts = [
        f"{len(one[key])} components {word}"
        for key, word in (
            ("components_added", "new"),
            ("components_removed", "gone"),
            ("components_changed", "changed"),
        )
        if one[key]
    ]
    return ", ".join([*parts, *(["connections"] if one["connections_changed"] else [])]) or "other keys"


# -- building ----------------------------------------------------------------------------------------------------


def _pair(
    revision: Revision, entry: DefinitionEntry, records: list[dict[str, Any]], roots: ImportRoots, force: bool
) -> Pair:
    source = files.read(entry.source) if entry.source.exists() else None
    category = manifest.category_of(entry, source)
    local, problem = _built(entry, source, roots, force)
    known = next((one for one in records if one["alias"] == entry.alias and one["category"] == category), None)
    remote_id = None if known is None else str(known["id"])
    remote = None if remote_id is None else hub_remote.document_of(revision, remote_id)
    return Pair(entry, category, source, local, remote_id, remote, problem)


def _built(
    entry: DefinitionEntry, source: Any, roots: ImportRoots, force: bool
) -> tuple[Any | None, DeployProblem | None]:
    if source is None:
        return None, DeployProblem("SOURCE_NOT_FOUND", f"{entry.alias}: there is no file {entry.source}")
    try:
        made = build.build(entry, source, roots, micro_iso(time.time_ns() // 1_000), force=force)
    except DeployProblem as problem:
        return None, problem
    size_bytes = len(files.dump(made.document, Path("-.json")).encode())
    if size_bytes > NEAR_LIMIT_BYTES:
        what = f"{entry.alias} has {size_bytes:,} bytes; the server takes about 10,000,000"
        warn([Advisory("DEFINITION_SIZE_NEAR_LIMIT", what)])
    warn(made.advisories)
    return made.document, None


def _drift(read: Manifest, records: list[dict[str, Any]]) -> list[str]:
    named = {entry.alias for entry in read.definitions}
    return sorted({str(record["alias"]) for record in records if record["alias"] not in named})


def warn(advisories: Iterable[Advisory]) -> None:
    for advisory in advisories:
        click.echo(plain(f"warning: {advisory.code}: {advisory.message}"), err=True)
