"""`turnbuckle hub run`: start an execution, and watch it (blobhub 6.5)."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from blobhub import (
    Client,
    NetworkError,
    PermissionDenied,
    RequestNotSent,
    Revision,
    ServerError,
    WaitTimeout,
)
from blobhub.types.workflow import Execution, Workflow
from turnbuckle.cli.hub_deploy import warn
from turnbuckle.cli.hub_failure import SCHEMA_VERSION, HubFailure
from turnbuckle.cli.hub_server import blob_at, of_hub, org_option, revision_at
from turnbuckle.cli.output import plain, print_json, short
from turnbuckle.hub.alias import lenient_id
from turnbuckle.hub.reference import BadReference, WorkflowReference, parse_path, path_of
from turnbuckle.hub.value import is_value
from turnbuckle.hub_deploy import files
from turnbuckle.hub_deploy.problem import Advisory

_MESSAGE_WIDTH = 500
_TIME_CHARS = slice(11, 23)  # 09:05:00.123


@click.command()
@click.argument("reference", metavar="REF")
@click.option("--blob", "home", metavar="ORG/BLOB", help="Where it runs; without it where the definition is.")
@click.option("--revision", "ref", default="default", show_default=True, help="The revision of --blob.")
@org_option
@click.option(
    "--input", "inputs", multiple=True, metavar="ALIAS=VALUE", help="A value as JSON or @FILE, for each alias."
)
@click.option("--session", help="Its id or alias; an alias nobody has is made. Without it a new one.")
@click.option("--watch", is_flag=True, help="Show the events as they come, until the run has ended.")
@click.option("--timeout", type=click.FloatRange(0), default=900.0, show_default=True, help="Seconds to watch.")
@of_hub
def run(
    client: Client,
    reference: str,
    home: str | None,
    ref: str,
    org: str | None,
    inputs: tuple[str, ...],
    session: str | None,
    watch: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Run a definition. REF is ORG/BLOB/REVISION/DEFINITION, or with --blob also its alias or id alone.

    Exit code 1 when the watched run failed; 0 when it completed, was stopped, or goes on after the timeout.
    """
    values = input_values(inputs)
    revision, called = _place(client, reference, home, ref, org)
    is_new = _is_new(revision, session)
    execution = _execute(revision, called, values, session)
    if not as_json:
        click.echo(f"{execution.id} in session {execution.session_id}\n{execution.url}", err=True)
    if watch:
        _watch(execution, timeout, as_json)
    told = {
        "execution_id": execution.id,
        "session_id": execution.session_id,
        "session_created": is_new,
        "definition": reference,
        "status": execution.status,
        "url": execution.url,
    }
    if as_json:
        print_json({**told, "schema_version": SCHEMA_VERSION})
    else:
        click.echo(execution.status)
    if watch and execution.status == "failed":
        error = execution.record.get("error") or {}
        raise HubFailure("EXECUTION_FAILED", f"the run failed: {error.get('message') or 'it does not say why'}")


def input_values(given: tuple[str, ...]) -> dict[str, Any]:
    """By alias. HubFailure INPUT_INVALID for anything that is no data value."""
    values: dict[str, Any] = {}
    for one in given:
        alias, equals, text = one.partition("=")
        if not equals or not alias:
            raise HubFailure("INPUT_INVALID", f"got {one[:80]!r}, expected ALIAS=VALUE")
        path = Path(text[1:] if text.startswith("@") else "-.json")
        values[alias] = files.read(path) if text.startswith("@") else files.parse(text, path)
        if not is_value(values[alias]):
            raise HubFailure("INPUT_INVALID", f"the value of {alias} is no object with a `type`")
    return values


def _place(
    client: Client, reference: str, home: str | None, ref: str, org: str | None
) -> tuple[Revision, WorkflowReference]:
    """Where it runs, and the definition as seen from there."""
    try:
        called = parse_path(reference)
    except BadReference as error:
        raise HubFailure("WORKFLOW_REFERENCE_INVALID", f"{reference}: {error}") from error
    if home is not None:
        return revision_at(blob_at(client, home, org), ref, is_write=True), called
    if called.blob is None:
        raise HubFailure("WORKFLOW_REFERENCE_INVALID", f"{reference} names no blob")
    name = called.blob if called.org is None else f"{called.org}/{called.blob}"
    revision = revision_at(blob_at(client, name), called.revision or "default", is_write=True)
    return revision, WorkflowReference(called.definition)


def _is_new(revision: Revision, session: str | None) -> bool:
    """Whether the run makes its session. HubFailure SESSION_NOT_ACCESSIBLE for an id: nobody makes one under it."""
    if session is None:
        return True
    try:
        revision.query("get_session", session_id=session)
    except PermissionDenied as error:
        if lenient_id(session) is not None:
            raise HubFailure("SESSION_NOT_ACCESSIBLE", f"the revision has no session {session}") from error
        return True
    return False


def _execute(revision: Revision, called: WorkflowReference, values: dict[str, Any], session: str | None) -> Execution:
    try:
        return Workflow(revision).execute(path_of(called), input_data=values or None, session=session)
    except PermissionDenied as error:
        what = f"the definition {path_of(called)} is not there, or the key cannot reach it"
        raise HubFailure("DEFINITION_NOT_ACCESSIBLE", what) from error
    except RequestNotSent:
        raise
    except (ServerError, NetworkError) as error:
        raise HubFailure("EXECUTION_OUTCOME_UNKNOWN", str(error)) from error


def _watch(execution: Execution, timeout: float, as_json: bool) -> None:
    seen: Counter[str] = Counter()
    began = time.monotonic()

    def show(event: dict[str, Any]) -> None:
        seen[str(event.get("type"))] += 1
        if not as_json:
            click.echo(plain(event_line(event)))

    try:
        execution.wait(timeout=timeout, on_event=show)
    except WaitTimeout:
        warn([Advisory("EXECUTION_WATCH_TIMEOUT", f"the run goes on after {timeout:g} s")])
        return
    if not as_json:
        took = f"{time.monotonic() - began:.1f} s"
        click.echo(f"{seen['processor.exited']} components, {seen.total()} events, {took}", err=True)


def event_line(event: dict[str, Any]) -> str:
    """`09:05:00.123  processor.exited   Answer: success in 3 ms`."""
    attributes = event.get("attributes") or {}
    name = attributes.get("processor_name") or attributes.get("processor_id")
    message = short(str(event.get("message") or ""), _MESSAGE_WIDTH)
    said = message if not name or name in message else f"{name}: {message}"
    return f"{str(event['created_at'])[_TIME_CHARS]}  {event['type']:<17}  {said}"
