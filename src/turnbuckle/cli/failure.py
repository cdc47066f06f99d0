"""How a command ends when it cannot do its work."""

from typing import IO, Any

import click

from turnbuckle.cli.output import plain


class Failure(click.ClickException):
    """One line on stderr, exit code 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"turnbuckle: {plain(' '.join(self.message.split()))}", err=True)
