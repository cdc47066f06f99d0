"""`turnbuckle instances`: which there are and what each waits for; `show`: one with its state and its current turn."""

from collections.abc import Iterator
from typing import Any, get_args

import click
from rich.text import Text

from turnbuckle.cli.api import Api, of_server
from turnbuckle.cli.output import compact, console, plain, print_json, table, tell_none
from turnbuckle.cli.steps import print_steps
from turnbuckle.cli.words import age, attempt, clock, why
from turnbuckle.wire.instance import InstanceStatus
from turnbuckle.wire.limits import PAGE_MAX

STYLES = {"running": "green", "failed": "red", "paused": "yellow", "waiting": "cyan", "queued": "blue", "idle": "dim"}
_VALUE_WIDTH = 2_000


@click.group(invoke_without_command=True)
@click.option("--type", "workflow_type", help="Only of this workflow type.")
@click.option("--status", type=click.Choice(get_args(InstanceStatus)), help="Only in this status.")
@click.option("--after", metavar="ID", help="Only those whose id comes after this one.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many at most.")
@of_server
@click.pass_context
def instances(
    ctx: click.Context,
    api: Api,
    workflow_type: str | None,
    status: str | None,
    after: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List instances by id, and what each does or waits for."""
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx)
        return
    found, next_after = _page(api, workflow_type, status, after, limit)
    if as_json:
        print_json({"instances": found, "next_after": next_after})
        return
    served = api.get("served").data
    rows = (
        (one["id"], _pair(one), styled(one["status"]), str(one["pending_messages"]), why(one, served)) for one in found
    )
    console().print(table(("id", "workflow", "status", "unfinished", "what"), rows, long="what"))
    tell_none(found)
    if next_after is not None:
        click.echo(f"There are more: --after {next_after}", err=True)


def _refuse_options(ctx: click.Context) -> None:
    """Options of the list would be lost in front of a subcommand."""
    given = [name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if given:
        raise click.UsageError(f"write the options after `{ctx.invoked_subcommand}`")


def _page(
    api: Api, workflow_type: str | None, status: str | None, after: str | None, limit: int
) -> tuple[list[Any], str | None]:
    """The first `limit` instances that fit, and the id to go on after when there are more."""
    found: list[Any] = []
    for one in every(api, after, workflow_type, status):
        if len(found) == limit:
            return found, found[-1]["id"]
        found.append(one)
    return found, None


def every(
    api: Api, after: str | None = None, workflow_type: str | None = None, status: str | None = None
) -> Iterator[Any]:
    """All instances by id, a page at a time, without what users put in."""
    filters = {"workflow_type": workflow_type, "status": status, "payloads": False, "limit": PAGE_MAX}
    while True:
        page = api.get("instances", after=after, **filters).data
        yield from page["instances"]
        after = page.get("next_after")
        if after is None:
            return


@instances.command()
@click.argument("instance_id", metavar="ID")
@of_server
def show(api: Api, instance_id: str, as_json: bool) -> None:
    """Show one instance: its state, its current turn, and why it waits."""
    answer = api.get("instances/get", id=instance_id)
    if as_json:
        click.echo(answer.text)
        return
    served = api.get("served").data
    one, out = answer.data, console()
    out.print(Text.assemble((one["id"], "bold"), "  ", _pair(one), "  ", styled(one["status"])))
    for name, text in _facts(one, served):
        out.print(Text(f"{name:<12}{plain(text)}"))
    print_steps(out, one.get("current_turn"), served["now_ms"])


def _facts(one: Any, served: Any) -> Iterator[tuple[str, str]]:
    now_ms, turn = served["now_ms"], one.get("current_turn")
    yield "what", why(one, served)
    yield "turns", f"{one['pending_messages']} unfinished, {one['completed_turns']} completed"
    yield "state", compact(one["state"], _VALUE_WIDTH)
    exhausted = "waits for a person" if one.get("on_exhausted", "block") == "block" else "is skipped"
    yield "limits", f"lease {age(one['lease_ms'])}, {one['max_attempts']} attempts, then the turn {exhausted}"
    yield "started", f"{clock(one['created_at_ms'], now_ms)}, changed {clock(one['updated_at_ms'], now_ms)}"
    if turn is not None:
        yield "turn", f"{turn['number']}, {turn['status']}, {attempt(turn)}"
        yield "message", f"{turn['message_id']}: {compact(turn['message'], _VALUE_WIDTH)}"


def _pair(one: Any) -> str:
    return f"{one['workflow_type']}@{one['version']}"


def styled(status: str) -> Text:
    return Text(status, style=STYLES.get(status, ""))
