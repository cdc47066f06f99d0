"""`turnbuckle doctor`: whether a store is sound, and whether a server keeps out who has no key."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import click
import httpx

from turnbuckle.cli.failure import Failure
from turnbuckle.cli.output import json_option, plain, print_json
from turnbuckle.cli.store import Place, of_store
from turnbuckle.http.endpoints import ENDPOINTS, Endpoint
from turnbuckle.models.roster import open_models
from turnbuckle.models.settings import BadSettings
from turnbuckle.operations import doctor as operations
from turnbuckle.store import doctor as rows
from turnbuckle.store.database import Database, read

_TIMEOUT_S = 10


@dataclass
class _Checked:
    """What was looked at, what is well with it, and what is not."""

    what: str
    well: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@click.command()
@of_store
@click.option("--url", help="A server to check; without it, that of LBB_URL when it answers.")
@click.option(
    "--models",
    envvar="TURNBUCKLE_MODELS",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that names the model providers.",
)
@json_option
def doctor(place: Place, url: str | None, models: Path | None, as_json: bool) -> None:
    """Check a store, that a server refuses calls without a key, and a models file. Exit code 1 when something is wrong.

    A store may be in use meanwhile: it is read in pages, each as it was at one moment.
    """
    checked = [*_store(place, url), *_server(url), *_models(models)]
    if not checked:
        raise Failure(f"nothing to check: there is no store at {place}, and neither --url nor LBB_URL names a server")
    if as_json:
        print_json({"ok": not any(one.problems for one in checked), "checked": [asdict(one) for one in checked]})
    else:
        _print(checked)
    if any(one.problems for one in checked):
        raise click.exceptions.Exit(1)


def _print(checked: list[_Checked]) -> None:
    for one in checked:
        click.echo(plain(one.what))
        for line in one.well:
            click.echo(f"  ok       {plain(line)}")
        for line in one.problems:
            click.echo(f"  PROBLEM  {plain(line)}")


# -- the store ---------------------------------------------------------------------------------------------------


def _store(place: Place, url: str | None) -> list[_Checked]:
    """The store is checked when it is named or there; a look at a server alone makes none."""
    if place.is_missing and not place.is_named:
        return []
    with place.opened() as database:
        checked = _Checked(f"store {place}: {database.kind}, schema {read(database, operations.schema)}")
        _note(checked, "the database finds nothing wrong in its files", database.check())
        _note(checked, "every row is as the engine leaves it", _row_problems(database))
        _note(checked, "no row belongs to nothing, and no key can be read", read(database, operations.check_rest))
    return [checked]


def _row_problems(database: Database) -> list[str]:
    problems: list[str] = []
    after: rows.Place | None = rows.START
    while after is not None:
        found, after = read(database, partial(operations.check_page, after=after))
        problems += found
    return problems


def _note(checked: _Checked, well: str, problems: list[str]) -> None:
    if problems:
        checked.problems += problems
    else:
        checked.well.append(well)


# -- the models file ---------------------------------------------------------------------------------------------


def _models(file: Path | None) -> list[_Checked]:
    """What a server with this file and this environment would serve. No provider is asked."""
    if file is None:
        return []
    try:
        return [_Checked(f"models {file}", well=open_models(file, is_dev=False).described())]
    except BadSettings as exc:
        return [_Checked(f"models {file}", problems=[str(exc)])]


# -- the server --------------------------------------------------------------------------------------------------


def _server(url: str | None) -> list[_Checked]:
    named = url or os.environ.get("LBB_URL")
    if named is None:
        return []
    with httpx.Client(base_url=named, timeout=_TIMEOUT_S, trust_env=False) as client:
        try:
            health = client.get("/health")
            health.raise_for_status()
            told = health.json()
            what = f"server {named}: {told['mode']} mode, store {told['store']}, {told['status']}"
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as exc:
            if url is None:
                return []
            return [_Checked(f"server {named}", problems=[f"it does not answer as a server of ours: {exc}"])]
        checked = _Checked(what)
        _note(checked, _refused_line(), _open_endpoints(client.request))
    return [checked]


def _refused_line() -> str:
    return f"all {len(_keyed())} endpoints that need a key refuse a call without one (401)"


def _keyed() -> list[Endpoint]:
    return [endpoint for endpoint in ENDPOINTS if endpoint.roles is not None]


def _open_endpoints(send: Callable[[str, str], httpx.Response]) -> list[str]:
    """Endpoints that do not refuse a call without a key."""
    found = []
    for endpoint in _keyed():
        try:
            status = send(endpoint.method, endpoint.path).status_code
        except httpx.HTTPError as exc:
            found.append(f"{endpoint.method} {endpoint.path} gave no answer: {exc}")
            continue
        if status != httpx.codes.UNAUTHORIZED:
            found.append(f"{endpoint.method} {endpoint.path} answered {status} to a call without a key, expected 401")
    return found
