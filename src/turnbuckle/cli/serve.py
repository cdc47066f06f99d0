"""`turnbuckle serve` and `turnbuckle dev`: run a server in the foreground."""

import errno
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import click

from turnbuckle import server
from turnbuckle.config import DEFAULT_PORT, Config
from turnbuckle.operations import key
from turnbuckle.store.database import CannotOpen, Database, write
from turnbuckle.store.key import Grant
from turnbuckle.store.migrate import NewerSchema

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DATA = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".turnbuckle"),
    show_default=True,
    help="Folder of the SQLite store.",
)
_PORT = click.option("--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_PORT
@_DATA
@click.option("--database", help="A postgresql:// URL, instead of the SQLite store.")
@click.option("--workflows/--no-workflows", default=True, show_default=True, help="Serve the workflow engine.")
def serve(host: str, port: int, data: Path, database: str | None, workflows: bool) -> None:
    """Run a server until SIGTERM. Every call needs a key: see `turnbuckle keys create`."""
    _run(Config(host, port, data, database, workflows))


@click.command()
@_PORT
@_DATA
@click.option("--fresh", is_flag=True, help="Remove the store in the data folder first.")
def dev(port: int, data: Path, fresh: bool) -> None:
    """Run a server to try things: loopback only, with the known key lbb_sk_test_local."""
    click.echo(f"dev mode: loopback only, anyone on this machine may use the key {key.DEV_KEY}")
    _run(Config("127.0.0.1", port, data, mode="dev"), _add_dev_key, is_fresh=fresh)


def _add_dev_key(database: Database) -> None:
    grant = Grant("test", "user", "admin")
    write(database, lambda tx: key.add(tx, key.DEV_KEY, "turnbuckle dev", grant))


def _run(config: Config, prepare: Callable[[Database], None] | None = None, *, is_fresh: bool = False) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        server.serve(config, lambda address: click.echo(f"listening on {address}"), prepare, is_fresh=is_fresh)
    except OSError as exc:
        if exc.errno != errno.EADDRINUSE:
            sys.exit(f"turnbuckle: {exc}")
        sys.exit(f"turnbuckle: another program listens on {config.host}:{config.port}; stop it, or give another --port")
    except (CannotOpen, NewerSchema) as exc:
        sys.exit(f"turnbuckle: {exc}")
