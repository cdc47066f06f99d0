"""`turnbuckle hub init`: the first organization, blob and key, written to the store itself (decision 39)."""

import re

import click

from turnbuckle.cli.hub_failure import HubFailure, telling
from turnbuckle.cli.hub_profile import check_profiles, write_profile
from turnbuckle.cli.output import json_option, print_json
from turnbuckle.cli.store import Place, of_store
from turnbuckle.hub.alias import lenient_id
from turnbuckle.hub_deploy.manifest import split_blob
from turnbuckle.operations import graph, hub_blob
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store.database import write
from turnbuckle.store.hub_rows import Blob
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import SCHEDULER_BLOB, WORKFLOW_BLOB

DEFAULT_API_URL = "http://127.0.0.1:7400/v1"
_TYPES = {"workflow": WORKFLOW_BLOB, "scheduler": SCHEDULER_BLOB}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@click.command()
@click.argument("name", metavar="ORG/BLOB")
@click.option("--type", "kind", type=click.Choice(list(_TYPES)), default="workflow", show_default=True)
@click.option("--public", is_flag=True, help="Let everybody read the blob, also without a key.")
@click.option("--environment", default="live", show_default=True, help="What the blob and the key belong to.")
@click.option("--profile", help="Keep key and URL in ~/.blobhub/credentials.yaml under this name.")
@click.option(
    "--api-url", envvar="BLOBHUB_API_URL", default=DEFAULT_API_URL, show_default=True, help="Where the server answers."
)
@of_store
@json_option
def init(
    place: Place, name: str, kind: str, public: bool, environment: str, profile: str | None, api_url: str, as_json: bool
) -> None:
    """Make an organization, a blob with a draft and a key to write to all of the organization.

    What is there already is used as it is; the key is always a new one.
    """
    with telling(as_json):
        org_alias, alias = _names(name)
        if profile is not None:
            check_profiles()  # before a key is made that could not be kept

        def make(tx: Transaction) -> tuple[Blob, str]:
            blob = _blob(tx, environment, org_alias, alias, _TYPES[kind], "public" if public else "private")
            return blob, hub_blob.create_key(tx, environment, "org", blob.org_id, "write", f"hub init {name}")

        with place.opened(make=True) as database:
            blob, key = write(database, make)
        written = None if profile is None else write_profile(profile, key, api_url)
    if as_json:
        made = {"org_id": blob.org_id, "blob_id": blob.blob_id, "revision_id": blob.default_revision_id}
        print_json({**made, "api_key": key, "api_url": api_url})
        return
    click.echo(key)
    click.echo(f"{name}: blob {blob.blob_id}, revision {blob.default_revision_id}", err=True)
    if written is None:
        click.echo("Keep the key, it is not shown again: export BLOBHUB_API_KEY=...", err=True)
    else:
        click.echo(f"Profile {profile} is in {written}.", err=True)


def _names(name: str) -> tuple[str, str]:
    """HubFailure BLOB_REFERENCE_INVALID."""
    org, blob = split_blob(name)
    if org is None:
        raise HubFailure("BLOB_REFERENCE_INVALID", f"got {name!r}, expected ORG/BLOB", "Write ORG/BLOB.")
    for part in (org, blob):
        if not _NAME.fullmatch(part) or lenient_id(part) is not None:
            what = f"got {part!r}, expected up to 64 of a-z, 0-9, _ and -, and not the form of an id"
            raise HubFailure("BLOB_REFERENCE_INVALID", what, "Choose another name.")
    return org, blob


def _blob(tx: Transaction, environment: str, org_alias: str, alias: str, type: str, visibility: str) -> Blob:
    """HubFailure BLOB_NOT_WORKFLOW when there is one of another type."""
    org = hub_blob.create_org(tx, graph.use(tx, environment, graph.HUB), org_alias)
    known = blobs.by_alias(tx, org.graph_id, org.org_id, alias)
    if known is None:
        return hub_blob.create_blob(tx, org, alias, type, visibility=visibility)[0]
    if known.type != type:
        what = f"{org_alias}/{alias} is there, of the type {known.type}, expected {type}"
        raise HubFailure("BLOB_NOT_WORKFLOW", what, "Choose another name, or --type.")
    return known
