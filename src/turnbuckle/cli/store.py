"""Commands that open the store itself: where it is, and what goes wrong with that in one line."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from turnbuckle.cli.failure import Failure
from turnbuckle.config import Config
from turnbuckle.store.database import BackupFailed, CannotOpen, Database, open_database
from turnbuckle.store.migrate import NewerSchema
from turnbuckle.wire.errors import Refused

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Place:
    """A store by its options."""

    data: Path
    database: str | None
    is_named: bool  # by an option, not by default

    @property
    def location(self) -> str:
        """What opens it."""
        return Config(data=self.data, database=self.database).store

    @property
    def is_missing(self) -> bool:
        return self.database is None and not Path(self.location).exists()

    def __str__(self) -> str:
        """For people: without the password of a URL."""
        return re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1@", self.location)

    @contextlib.contextmanager
    def opened(self, *, make: bool = False) -> Iterator[Database]:
        """The open store. Failure when it cannot be opened, or when there is none and it is not to be made."""
        if self.is_missing and not make:
            raise Failure(f"there is no store at {self}; name its folder with --data, or its URL with --database")
        try:
            with contextlib.closing(open_database(self.location)) as database:
                yield database
        except (CannotOpen, BackupFailed, NewerSchema, OSError) as exc:
            raise Failure(str(exc)) from exc
        except Refused as refused:
            raise Failure(f"{refused.message} ({refused.code})") from refused
        except ModuleNotFoundError as exc:
            raise Failure(f"{exc.name} is not installed; run: pip install 'turnbuckle[postgres]'") from exc


def of_store(command: Command) -> Command:
    """The options that name a store, given to the command as `place`."""

    @click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(".turnbuckle"),
        show_default=True,
        help="Folder of the SQLite store.",
    )
    @click.option("--database", help="A postgresql:// URL, instead of the SQLite store.")
    @click.pass_context
    @functools.wraps(command)
    def run(ctx: click.Context, /, data: Path, database: str | None, **options: Any) -> Any:
        is_default = ctx.get_parameter_source("data") is click.core.ParameterSource.DEFAULT
        return command(place=Place(data, database, is_named=database is not None or not is_default), **options)

    return run  # type: ignore[return-value]  # click's decorators keep the signature they add to
