"""`turnbuckle hub definitions`: one definition at a time, as it is (blobhub 3.2)."""

from pathlib import Path
from typing import Any

import click

from blobhub import Client, Revision
from turnbuckle.cli import hub_remote
from turnbuckle.cli.hub_failure import HubFailure
from turnbuckle.cli.hub_server import blob_at, in_place, of_hub, print_result, revision_at
from turnbuckle.cli.output import console, plain, print_json, table
from turnbuckle.hub.alias import is_alias
from turnbuckle.hub_deploy import files
from turnbuckle.hub_deploy.build import components_of
from turnbuckle.hub_deploy.manifest import DefinitionEntry, category_of

_definition_argument = click.argument("definition", metavar="DEFINITION")


@click.group()
def definitions() -> None:
    """See, check, upload and download definitions, by alias or id. `turnbuckle hub deploy` does it for many at once."""


@definitions.command("list")
@in_place
@click.option("--category", type=click.Choice(hub_remote.CATEGORIES), help="Only of this category.")
@of_hub
def list_all(client: Client, category: str | None, as_json: bool, **place: Any) -> None:
    """List the definitions of a revision."""
    found = hub_remote.definitions_of(_revision(client, **place), *([category] if category else []))
    if as_json:
        print_json({"definitions": found})
        return
    rows = ((one["alias"], one["category"], one["id"], str(one.get("updated_at", ""))[:19]) for one in found)
    console().print(table(("alias", "category", "id", "changed"), rows, long="alias"))


@definitions.command()
@in_place
@_definition_argument
@of_hub
def show(client: Client, definition: str, as_json: bool, **place: Any) -> None:
    """Show a definition: its components and how they are connected."""
    revision = _revision(client, **place)
    record = hub_remote.find_definition(revision, definition)
    document = hub_remote.document_of(revision, record["id"])
    if as_json:
        print_json({"definition": record, "document": document})
        return
    click.echo(f"{record['alias']}  {record['category']}  {record['id']}\n")
    components = components_of(document)
    names = {one.get("id"): str(one.get("name") or one.get("id")) for one in components}
    rows = ((names[one.get("id")], str(one.get("type")), _routes(one)) for one in components)
    console().print(table(("component", "type", "ports"), rows, long="ports"))
    click.echo("")
    for one in document.get("connections") or []:
        source, target = (names.get(one.get(end), str(one.get(end))) for end in ("source_id", "target_id"))
        click.echo(plain(f"{source} --{_label(one)}--> {target}"))


def _routes(component: dict[str, Any]) -> str:
    ports = component.get("ports")
    return ", ".join(str(port.get("route")) for port in ports if isinstance(port, dict)) if ports else ""


def _label(connection: dict[str, Any]) -> str:
    ends = [str(connection[key]) for key in ("source_route", "target_route") if connection.get(key)]
    return str(connection.get("route") or " to ".join(ends))


@definitions.command()
@in_place
@_definition_argument
@of_hub
def check(client: Client, definition: str, as_json: bool, **place: Any) -> None:
    """Check a workflow where it is: what is wrong, what could be meant otherwise. Exit code 1 when it is not sound."""
    revision = _revision(client, **place)
    record = hub_remote.find_definition(revision, definition, "workflow")
    is_sound, events = hub_remote.check_definition(revision, record["id"])
    if as_json:
        print_json({"status": "success" if is_sound else "failure", "events": events})
    else:
        for event in events:
            click.echo(plain(finding_line(event)))
    if not is_sound:
        raise HubFailure("CHECK_FAILED", f"{record['alias']} is not sound", "Correct it where the findings say.")
    if not as_json:
        click.echo(f"{record['alias']} is sound", err=True)


def finding_line(event: dict[str, Any]) -> str:
    where = f" {event['component_id']}" if event.get("component_id") else ""
    code = f" [{event['code']}]" if event.get("code") else ""
    return f"{event.get('type')}:{where} {event.get('message', '')}{code}"


@definitions.command()
@in_place
@click.argument("source", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--alias", help="Its alias; without it that of the file's name.")
@of_hub
def upload(client: Client, source: Path, alias: str | None, as_json: bool, **place: Any) -> None:
    """Upload a document as it is, and make the definition when there is none of that alias yet."""
    document, alias = files.read(source), alias or source.stem
    if not is_alias(alias):
        what = f"got {alias!r}, expected 6 to 42 of a-z, 0-9, _ and -"
        raise HubFailure("DEFINITION_ALIAS_INVALID", what, "Name one with --alias.")
    category = category_of(DefinitionEntry(alias, source, None), document)
    revision = _revision(client, is_write=True, **place)
    known = [one for one in hub_remote.definitions_of(revision, category) if one["alias"] == alias]
    found = known[0]["id"] if known else hub_remote.create_definition(revision, alias, category, document)
    hub_remote.upload_document(revision, found, document)
    result = {"definition_id": found, "alias": alias, "category": category, "created": not known}
    print_result(as_json, result, f"{alias} is uploaded: {found}")


@definitions.command()
@in_place
@_definition_argument
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A file .json or .yaml; else stdout.")
@of_hub
def download(client: Client, definition: str, output: Path | None, as_json: bool, **place: Any) -> None:
    """Download a document as it is."""
    if output is not None:
        files.check_format(output)
    revision = _revision(client, **place)
    record = hub_remote.find_definition(revision, definition)
    document = hub_remote.document_of(revision, record["id"])
    if output is not None:
        files.write(output, document)
        print_result(as_json, {"definition": record, "file": str(output)}, f"{record['alias']} is in {output}")
    elif as_json:
        print_json(document)
    else:
        click.echo(files.dump(document, Path("-.json")), nl=False)


def _revision(client: Client, *, name: str, org: str | None, ref: str, is_write: bool = False) -> Revision:
    return revision_at(blob_at(client, name, org), ref, is_write=is_write)
