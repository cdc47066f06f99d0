"""`turnbuckle effects`: what steps did outside, and what they may have done when their attempt ended."""

from collections.abc import Iterator
from typing import Any, get_args

import click
from rich.text import Text

from turnbuckle.cli.api import Api, of_server
from turnbuckle.cli.output import console, plain, table
from turnbuckle.cli.words import clock
from turnbuckle.wire.effect import EffectState
from turnbuckle.wire.limits import PAGE_DEFAULT, PAGE_MAX

_STYLES = {"in_doubt": "red", "intended": "yellow", "confirmed": "green"}


@click.command()
@click.argument("instance_id", metavar="[ID]", required=False)
@click.option("--turn", type=click.IntRange(1), help="Only of this turn; needs an ID.")
@click.option("--state", type=click.Choice(get_args(EffectState)), help="Only in this state.")
@click.option("--after", metavar="CURSOR", help="Go on after a page; the page before it told the cursor.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=PAGE_DEFAULT, show_default=True, help="How many.")
@of_server
def effects(api: Api, instance_id: str | None, as_json: bool, **query: Any) -> None:
    """List outside effects: of an instance, or of the whole graph those that nobody has confirmed.

    In doubt is what an attempt meant to do and never said it had: look at the other side before you retry or skip.
    """
    answer = api.get("effects", id=instance_id, **query)
    if as_json:
        click.echo(answer.text)
        return
    now_ms = api.get("served").data["now_ms"]
    head = ("instance", "turn", "step", "state", "kind", "tries", "meant", "effect id", "target")
    console().print(table(head, (_row(effect, now_ms) for effect in answer.data["effects"]), long="target"))
    if instance_id is None and not answer.data["effects"]:
        click.echo("Nothing is unconfirmed on this graph; name an instance to see what it did.", err=True)
    if answer.data.get("next_after") is not None:
        click.echo(f"There are more: --after {answer.data['next_after']}", err=True)


def _row(effect: Any, now_ms: int) -> Iterator[str | Text]:
    yield effect["workflow_id"]
    yield str(effect["turn"])
    yield effect["step"]
    yield Text(effect["state"], style=_STYLES[effect["state"]])
    yield effect["kind"]
    yield str(effect["attempts"])
    yield clock(effect["intended_at_ms"], now_ms)
    yield effect["effect_id"]
    yield plain(effect["target"])
