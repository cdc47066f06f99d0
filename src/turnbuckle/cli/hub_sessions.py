"""`turnbuckle hub sessions`: where executions run and keep their objects (blobhub 3.3)."""

from collections.abc import Callable, Iterator
from typing import Any

import click

from blobhub import Client
from turnbuckle.cli.hub_failure import denied_as
from turnbuckle.cli.hub_server import blob_at, in_place, of_hub, print_result, revision_at
from turnbuckle.cli.output import console, print_json, table

_PAGE = 200
_session_argument = click.argument("session", metavar="SESSION")


@click.group()
def sessions() -> None:
    """See sessions, and close, open or delete one, by its id or alias."""


@sessions.command("list")
@in_place
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many at most.")
@of_hub
def list_all(client: Client, name: str, org: str | None, ref: str, limit: int, as_json: bool) -> None:
    """List the sessions of a revision, newest first."""
    revision = revision_at(blob_at(client, name, org), ref)
    found: list[dict[str, Any]] = []
    for page in _pages(lambda **cursor: revision.query("list_sessions", limit=min(limit, _PAGE), **cursor)):
        found += page
        if len(found) >= limit:
            break
    if as_json:
        print_json({"sessions": found[:limit]})
        return
    rows = (_row(one) for one in found[:limit])
    console().print(table(("id", "alias", "status", "executions", "made"), rows, long="alias"))


def _pages(ask: Callable[..., dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    answer = ask()
    yield answer["sessions"]
    while answer.get("cursor"):
        answer = ask(cursor=answer["cursor"])
        yield answer["sessions"]


@sessions.command()
@in_place
@_session_argument
@of_hub
def close(client: Client, session: str, as_json: bool, **place: Any) -> None:
    """Close a session: its runs end, and nothing is written there until it is opened again."""
    _change(client, "close_session", session, as_json, **place)


@sessions.command("open")
@in_place
@_session_argument
@of_hub
def open_again(client: Client, session: str, as_json: bool, **place: Any) -> None:
    """Open a closed session again."""
    _change(client, "open_session", session, as_json, **place)


@sessions.command()
@in_place
@_session_argument
@of_hub
def delete(client: Client, session: str, as_json: bool, **place: Any) -> None:
    """Delete a session with all it holds: its runs end first."""
    _change(client, "delete_session", session, as_json, **place)


def _change(client: Client, command: str, session: str, as_json: bool, *, name: str, org: str | None, ref: str) -> None:
    revision = revision_at(blob_at(client, name, org), ref, is_write=True)
    with denied_as("SESSION_NOT_ACCESSIBLE", f"the session {session}"):
        record = revision.command(command, session_id=session).get("session")
    status = "gone" if record is None else record["status"]
    print_result(as_json, {"session": record, "status": status}, f"{session} is {status}")


def _row(session: dict[str, Any]) -> tuple[str, ...]:
    held = (session.get("held") or {}).get("workflow.executions_per_session", 0)
    made = str(session["created_at"])[:19].replace("T", " ")
    return session["id"], session.get("alias") or "", session["status"], str(held), made
