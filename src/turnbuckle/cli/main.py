"""The group of all commands."""

import click

from turnbuckle import __version__
from turnbuckle.cli import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="turnbuckle")
def cli() -> None:
    """Turnbuckle: a durable turn engine for Python."""


cli.add_command(serve.serve)
cli.add_command(serve.dev)
