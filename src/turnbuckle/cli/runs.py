"""`turnbuckle runs`: what each executed attempt of an instance did, newest first."""

from collections.abc import Iterator
from typing import Any

import click
from rich.text import Text

from turnbuckle.cli.api import Api, of_server
from turnbuckle.cli.output import console, short, table
from turnbuckle.cli.words import age, clock
from turnbuckle.wire.limits import PAGE_DEFAULT, PAGE_MAX

_STYLES = {"failed": "red", "retried": "yellow", "done": "green"}
_WIDTH = 200


@click.command()
@click.argument("instance_id", metavar="ID")
@click.option("--after", metavar="RUN", help="Only runs older than this one.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=PAGE_DEFAULT, show_default=True, help="How many.")
@of_server
def runs(api: Api, instance_id: str, after: str | None, limit: int, as_json: bool) -> None:
    """List the runs of an instance, newest first. A run is one attempt of a turn; records are kept 30 days."""
    answer = api.get("instances/runs", id=instance_id, after=after, limit=limit)
    if as_json:
        click.echo(answer.text)
        return
    now_ms = api.get("served").data["now_ms"]
    rows = (_row(run, now_ms) for run in answer.data["runs"])
    console().print(table(("run", "turn", "attempt", "outcome", "began", "took", "what"), rows, long="what"))
    if answer.data.get("next_after") is not None:
        click.echo(f"There are more: --after {answer.data['next_after']}", err=True)


def _row(run: Any, now_ms: int) -> Iterator[str | Text]:
    yield run["id"]
    yield str(run["turn"])
    yield str(run["attempts"])
    yield Text(run["outcome"], style=_STYLES.get(run["outcome"], ""))
    yield clock(run["started_at_ms"], now_ms)
    yield age(run["ended_at_ms"] - run["started_at_ms"])
    yield short(run["error"], _WIDTH) if run.get("error") else f"{len(run['steps'])} steps saved"
