"""`turnbuckle hub revisions`: the versions of a blob (blobhub 2.4)."""

import itertools
from typing import Any

import click

from blobhub import Client, Revision
from turnbuckle.cli.hub_server import blob_at, of_hub, org_option, print_result, revision_at
from turnbuckle.cli.output import console, print_json, table

_name_argument = click.argument("name", metavar="ORG/BLOB")
_ref_argument = click.argument("ref", metavar="REVISION")
_comment_option = click.option("--comment", help="What it is for, 1 to 200 characters.")


@click.group()
def revisions() -> None:
    """See and change the versions of a blob: a draft can be written to, a committed one is frozen."""


@revisions.command("list")
@_name_argument
@org_option
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many at most.")
@of_hub
def list_all(client: Client, name: str, org: str | None, limit: int, as_json: bool) -> None:
    """List the revisions, newest first; the one that `default` means has a star."""
    blob = blob_at(client, name, org, type=None)
    found = list(itertools.islice(blob.revisions(), limit))
    if as_json:
        default = blob.default_revision_id
        print_json({"default_revision_id": default, "revisions": [revision.record for revision in found]})
        return
    rows = (_row(revision, revision.id == blob.default_revision_id) for revision in found)
    console().print(table(("", "id", "phase", "status", "made", "comment"), rows, long="comment"))


@revisions.command()
@_name_argument
@org_option
@click.option("--comment", required=True, help="What it is for, 1 to 200 characters.")
@of_hub
def create(client: Client, name: str, org: str | None, comment: str, as_json: bool) -> None:
    """Make a draft with the definitions of the default, which must be committed. The default stays where it is."""
    made = blob_at(client, name, org, type=None).create_revision(comment)
    print_result(as_json, {"revision": made.record}, made.id)


@revisions.command()
@_name_argument
@_ref_argument
@org_option
@_comment_option
@of_hub
def commit(client: Client, name: str, ref: str, org: str | None, comment: str | None, as_json: bool) -> None:
    """Freeze a draft for good; its runs must have ended. REVISION is its id, or `default`."""
    revision = revision_at(blob_at(client, name, org, type=None), ref, is_write=True).commit(comment)
    print_result(as_json, {"revision": revision.record}, f"{revision.id} is committed")


@revisions.command("set-default")
@_name_argument
@_ref_argument
@org_option
@of_hub
def set_default(client: Client, name: str, ref: str, org: str | None, as_json: bool) -> None:
    """Let `default` mean this revision from now on."""
    blob = blob_at(client, name, org, type=None)
    revision = revision_at(blob, ref)
    path = f"blobs/{blob.org_id}/{blob.id}/default_revision"
    record: dict[str, Any] = client.request("POST", path, json={"revision_id": revision.id})["blob"]
    print_result(as_json, {"blob": record}, f"{name}: default is {revision.id}")


def _row(revision: Revision, is_default: bool) -> tuple[str, ...]:
    record = revision.record
    made = str(record.get("created_at") or "")[:19].replace("T", " ")
    return (
        "*" if is_default else "",
        revision.id,
        str(revision.phase),
        str(revision.status),
        made,
        revision.comment or "",
    )
