"""`turnbuckle hub pull`: the files of a manifest from what is deployed (blobhub 6.2)."""

from pathlib import Path

import click

from blobhub import Client
from turnbuckle.cli.hub_deploy import look, manifest_option
from turnbuckle.cli.hub_failure import SCHEMA_VERSION, HubFailure
from turnbuckle.cli.hub_server import of_hub, org_option
from turnbuckle.cli.output import print_json
from turnbuckle.hub_deploy import files
from turnbuckle.hub_deploy.compare import compare


@click.command()
@manifest_option
@org_option
@click.option("--definition", "chosen", multiple=True, metavar="ALIAS", help="Only this one; may be given again.")
@click.option("--dry-run", is_flag=True, help="Tell what would be written; write nothing.")
@of_hub
def pull(client: Client, path: Path, org: str | None, chosen: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Write each definition of the manifest to its source file, as it is deployed. What the file held is replaced."""
    pairs = look(client, path, org, is_write=False, force=True).pairs
    named = {pair.entry.alias for pair in pairs}
    for alias in chosen:
        if alias not in named:
            raise HubFailure("DEFINITION_NOT_ACCESSIBLE", f"the manifest has no definition {alias}", "Add it there.")
    wanted = [pair for pair in pairs if not chosen or pair.entry.alias in chosen]
    changed = [pair for pair in wanted if pair.remote is not None and not compare(pair.source, pair.remote).is_equal]
    if not dry_run:
        for pair in changed:
            files.write(pair.entry.source, pair.remote)
    aliases = [pair.entry.alias for pair in changed]
    told = {
        "pulled": [] if dry_run else aliases,
        "unchanged": [pair.entry.alias for pair in wanted if pair.remote is not None and pair not in changed],
        "absent": [pair.entry.alias for pair in wanted if pair.remote is None],
        "planned": aliases if dry_run else [],
        "dry_run": dry_run,
    }
    if as_json:
        print_json({**told, "schema_version": SCHEMA_VERSION})
        return
    for word in ("pulled", "unchanged", "planned"):
        if told[word]:
            click.echo(f"{word}: {', '.join(told[word])}")  # type: ignore[arg-type]
    if told["absent"]:
        click.echo(f"not deployed: {', '.join(told['absent'])}", err=True)  # type: ignore[arg-type]
