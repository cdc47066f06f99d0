"""`turnbuckle keys`: written to the store itself, also while a server runs on it."""

import datetime
from typing import Any

import click

from turnbuckle.cli.failure import Failure
from turnbuckle.cli.output import console, json_option, print_json, table
from turnbuckle.cli.store import Place, of_store
from turnbuckle.operations import key as operations
from turnbuckle.store.database import read, write
from turnbuckle.store.key import Key


@click.group()
def keys() -> None:
    """Make, list and revoke the keys of a server. They need the store, not another key."""


@keys.command()
@click.option("--label", default="", help="For people: whose key it is, or what for.")
@click.option("--environment", default="live", show_default=True, help="What the key gives access to.")
@click.option("--scope", type=click.Choice(operations.SCOPES), default="user", show_default=True)
@click.option("--role", type=click.Choice(operations.ROLES), default="write", show_default=True)
@of_store
@json_option
def create(place: Place, label: str, environment: str, scope: str, role: str, as_json: bool) -> None:
    """Make a key and print it, the only time it is seen. A running server takes it at once."""
    with place.opened(make=True) as database:
        made = write(database, lambda tx: operations.create(tx, label, environment, scope, role))
    if as_json:
        print_json({"key": made, "label": label, "environment": environment, "scope": scope, "role": role})
        return
    click.echo(made)
    click.echo(f"Keep it: it is not shown again. Environment {environment}, scope {scope}, role {role}.", err=True)


@keys.command("list")
@of_store
@json_option
def list_keys(place: Place, as_json: bool) -> None:
    """List the keys, newest first, each by its last four characters."""
    with place.opened() as database:
        found = read(database, operations.all_keys)
    if as_json:
        print_json({"keys": [_fields(key) for key in found]})
        return
    head = ("ends in", "label", "environment", "scope", "role", "made", "revoked")
    console().print(table(head, (_row(key) for key in found), long="label"))


@keys.command()
@click.argument("key_or_last_4")
@of_store
@json_option
def revoke(place: Place, key_or_last_4: str, as_json: bool) -> None:
    """Revoke a key by its last four characters, or whole. It stops working within about a second."""
    with place.opened() as database:
        revoked = write(database, lambda tx: operations.revoke(tx, key_or_last_4))
    if revoked is None:
        raise Failure(f"no valid key ends in {key_or_last_4[-4:]!r}; see `turnbuckle keys list`")
    if as_json:
        print_json({"revoked": _fields(revoked)})
        return
    click.echo(f"revoked the key that ends in {revoked.hint} ({_label(revoked)})")


def _fields(key: Key) -> dict[str, Any]:
    return {
        "last_4": key.hint,
        "label": _label(key),
        "environment": key.environment,
        "scope": key.scope,
        "role": key.role,
        "created_at_ms": key.created_at_ms,
        "revoked_at_ms": key.revoked_at_ms,
    }


def _row(key: Key) -> tuple[str, ...]:
    revoked = "" if key.revoked_at_ms is None else _day(key.revoked_at_ms)
    return key.hint, _label(key), key.environment, key.scope, key.role, _day(key.created_at_ms), revoked


def _label(key: Key) -> str:
    return key.label.decode(errors="replace")


def _day(at_ms: int) -> str:
    return datetime.datetime.fromtimestamp(at_ms / 1_000).strftime("%Y-%m-%d %H:%M")
