"""What commands print: one JSON document for programs, tables for people."""

import json
import sys
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 1_000  # nothing is cut or wrapped where no terminal has an edge

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def print_json(value: Any) -> None:
    """A document made here. What a server answered is printed as it came, see `api.Answer.text`."""
    click.echo(json.dumps(value, ensure_ascii=False))


def console() -> Console:
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def table(head: Iterable[str], rows: Iterable[Iterable[RenderableType]], *, long: str, is_cut: bool = False) -> Table:
    """Columns without lines. Where the terminal is too narrow, column `long` gives way: it is folded, or cut."""
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in head:
        made.add_column(title, no_wrap=title != long, overflow="fold")
    for row in rows:
        made.add_row(*(_cell(cell, is_cut) if isinstance(cell, str) else cell for cell in row))
    return made


def tell_none(found: Any) -> None:
    """Under an empty list: where else to look. A graph that nobody used is empty, so a typo shows here."""
    if not found:
        click.echo("There are none; --graph or LBB_GRAPH names another graph.", err=True)


def _cell(text: str, is_cut: bool) -> Text:
    return Text(plain(text), no_wrap=True, overflow="ellipsis") if is_cut else Text(plain(text))


def plain(text: str) -> str:
    """Other people's text, safe to print: what moves a terminal's cursor or colours is shown, not done."""
    return "".join(one if one.isprintable() or one == "\n" else _escape(one) for one in text)


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode()


def short(text: str, width: int) -> str:
    """On one line, cut where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def compact(value: Any, width: int) -> str:
    """A JSON value on one line."""
    return short(json.dumps(value, ensure_ascii=False), width)
