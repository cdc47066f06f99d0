"""The second API as the `hub` commands call it: through the blobhub SDK, with its keys and profiles."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from blobhub import Blob, Client, NotFound, Revision, connect
from turnbuckle.cli.hub_failure import HubFailure, denied_as, telling
from turnbuckle.cli.output import json_option, print_json
from turnbuckle.hub.alias import is_canonical_id
from turnbuckle.hub.revision import READABLE, WRITABLE
from turnbuckle.hub_deploy.manifest import split_blob
from turnbuckle.wire.hub_channel import SCHEDULER_BLOB, WORKFLOW_BLOB

__all__ = [
    "SCHEDULER_BLOB",
    "WORKFLOW_BLOB",
    "blob_at",
    "in_place",
    "of_hub",
    "org_option",
    "print_result",
    "revision_at",
]
Command = TypeVar("Command", bound=Callable[..., Any])
org_option = click.option("--org", envvar="BLOBHUB_ORG", help="The organization of a blob that is named without one.")
revision_option = click.option("--revision", "ref", default="default", show_default=True, help="Its id, or `default`.")


def of_hub(command: Command) -> Command:
    """The options of a command that talks to a server, given to it as `client` and `as_json`."""

    @click.option("--profile", help="A profile of ~/.blobhub/credentials.yaml; else BLOBHUB_PROFILE, else its default.")
    @json_option
    @functools.wraps(command)
    def run(profile: str | None, as_json: bool, **options: Any) -> Any:
        with telling(as_json), _connected(profile) as client:
            return command(client=client, as_json=as_json, **options)

    return run  # type: ignore[return-value]  # click's decorators keep the signature they add to


def in_place(command: Command) -> Command:
    """The argument and options that name a revision, given to the command as `name`, `org` and `ref`."""
    return click.argument("name", metavar="ORG/BLOB")(org_option(revision_option(command)))


def blob_at(client: Client, name: str, org: str | None = None, *, type: str | None = WORKFLOW_BLOB) -> Blob:
    """The blob named `ORG/BLOB`, `BLOB` with --org, or by its id. HubFailure BLOB_*."""
    given, blob = split_blob(name)
    org = given or org or (blob if is_canonical_id(blob) else None)
    if org is None:
        raise HubFailure("BLOB_REFERENCE_INVALID", f"{name} names no organization", "Write ORG/BLOB, or add --org.")
    with denied_as("BLOB_NOT_ACCESSIBLE", f"the blob {name}"):
        found = client.blob(org, blob)
    if type is not None and found.type != type:
        raise HubFailure("BLOB_NOT_WORKFLOW", f"{name} is of the type {found.type}, expected {type}")
    return found


def revision_at(blob: Blob, ref: str, *, is_write: bool = False) -> Revision:
    """The blob's revision, fit to be read or written. HubFailure REVISION_*."""
    try:
        with denied_as("REVISION_NOT_ACCESSIBLE", f"the revision {ref}"):
            found = blob.revision(ref)
    except NotFound as error:
        raise HubFailure("REVISION_NOT_ACCESSIBLE", f"{blob.alias} has no revision {ref}") from error
    if found.status != "ready" or found.phase not in READABLE:
        raise HubFailure("REVISION_NOT_ACCESSIBLE", f"the revision is {found.phase}, {found.status}, expected ready")
    if is_write and found.phase not in WRITABLE:
        what = f"revision {found.id} of {blob.alias} is in phase {found.phase} and does not change"
        raise HubFailure("REVISION_NOT_WRITABLE", what)
    return found


def print_result(as_json: bool, value: dict[str, Any], text: str) -> None:
    """One object for programs, a sentence for people."""
    if as_json:
        print_json(value)
    else:
        click.echo(text)


def _connected(profile: str | None) -> Client:
    try:
        client = connect(profile=profile)
    except ValueError as error:  # a URL or a key that cannot be sent
        raise HubFailure("CREDENTIALS_NOT_FOUND", str(error)) from error
    if client.anonymous:
        client.close()
        raise HubFailure("CREDENTIALS_NOT_FOUND", "there is no key")
    return client
