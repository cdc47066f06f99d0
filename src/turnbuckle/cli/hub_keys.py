"""`turnbuckle hub keys`: keys for one organization or one blob, written to the store itself."""

import click

from turnbuckle.cli.hub_failure import HubFailure, telling
from turnbuckle.cli.keys import list_keys, revoke
from turnbuckle.cli.output import json_option, print_json
from turnbuckle.cli.store import Place, of_store
from turnbuckle.hub_deploy.manifest import split_blob
from turnbuckle.operations import graph, hub_blob
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store.database import write
from turnbuckle.store.transaction import Transaction


@click.group()
def keys() -> None:
    """Make keys for one organization or one blob. They need the store, not another key."""


keys.add_command(list_keys)
keys.add_command(revoke)


@keys.command()
@click.argument("name", metavar="ORG or ORG/BLOB")
@click.option("--role", type=click.Choice(("read", "write", "admin", "review")), default="write", show_default=True)
@click.option("--environment", default="live", show_default=True, help="Where the organization was made.")
@click.option("--label", default="", help="For people: whose key it is, or what for.")
@of_store
@json_option
def create(place: Place, name: str, role: str, environment: str, label: str, as_json: bool) -> None:
    """Make a key for an organization, or for one blob of it, and print it, the only time it is seen."""
    with telling(as_json):

        def make(tx: Transaction) -> tuple[str, str, str]:
            scope, scope_id = _scope(tx, environment, name)
            return scope, scope_id, hub_blob.create_key(tx, environment, scope, scope_id, role, label)

        with place.opened() as database:
            scope, scope_id, key = write(database, make)
    if as_json:
        print_json({"key": key, "scope": scope, "scope_id": scope_id, "role": role, "environment": environment})
        return
    click.echo(key)
    click.echo(f"Keep it: it is not shown again. {role.capitalize()} on the {scope} {name}.", err=True)


def _scope(tx: Transaction, environment: str, name: str) -> tuple[str, str]:
    """HubFailure BLOB_NOT_ACCESSIBLE when it is not there."""
    first, second = split_blob(name)
    org_alias, alias = (second, None) if first is None else (first, second)
    org = blobs.org_by_alias(tx, graph.look(tx, environment, graph.HUB), org_alias)
    if org is None:
        raise HubFailure("BLOB_NOT_ACCESSIBLE", f"{environment} has no organization {org_alias}")
    if alias is None:
        return "org", org.org_id
    blob = blobs.by_alias(tx, org.graph_id, org.org_id, alias)
    if blob is None:
        raise HubFailure("BLOB_NOT_ACCESSIBLE", f"the organization {org_alias} has no blob {alias}")
    return "blob", blob.blob_id
