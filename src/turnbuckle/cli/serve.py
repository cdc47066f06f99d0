"""`turnbuckle serve` and `turnbuckle dev`: run a server in the foreground."""

import errno
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import click

from turnbuckle import server
from turnbuckle.config import DEFAULT_PORT, Config
from turnbuckle.models.settings import BadSettings
from turnbuckle.operations import key
from turnbuckle.outside.settings import BadOutside
from turnbuckle.sparql.folder import NoFolder
from turnbuckle.store.database import CannotOpen, Database, write
from turnbuckle.store.key import Grant
from turnbuckle.store.migrate import NewerSchema
from turnbuckle.wire import limits

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DATA = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".turnbuckle"),
    show_default=True,
    help="Folder of the SQLite store.",
)
_PORT = click.option("--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True)
_MODELS = click.option(
    "--models",
    envvar="TURNBUCKLE_MODELS",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that names the model providers.",
)

_FLOW = click.option(
    "--flow/--no-flow", default=True, show_default=True, help="Run executions here: the flow worker beside the server."
)
_OUTSIDE = click.option(
    "--outside",
    envvar="TURNBUCKLE_OUTSIDE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that says where executions may send requests.  [default: nowhere]",
)
_QUERY_SECONDS = "How long a SPARQL query may run."
_QUERY_MEMORY = "Address space of the process that answers them."


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_PORT
@_DATA
@click.option("--database", help="A postgresql:// URL, instead of the SQLite store.")
@click.option("--workflows/--no-workflows", default=True, show_default=True, help="Serve the workflow engine.")
@_FLOW
@_MODELS
@_OUTSIDE
@click.option(
    "--index",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the SPARQL index.  [default: index in the data folder]",
)
@click.option("--query-seconds", type=click.FloatRange(0.1, 3_600), default=10, show_default=True, help=_QUERY_SECONDS)
@click.option("--query-memory-mb", type=click.IntRange(1_024), default=4_096, show_default=True, help=_QUERY_MEMORY)
def serve(
    host: str,
    port: int,
    data: Path,
    database: str | None,
    workflows: bool,
    flow: bool,
    models: Path | None,
    outside: Path | None,
    index: Path | None,
    query_seconds: float,
    query_memory_mb: int,
) -> None:
    """Run a server until SIGTERM. Every call needs a key: see `turnbuckle keys create`."""
    _run(
        Config(
            host,
            port,
            data,
            database,
            workflows,
            flow,
            models=models,
            outside=outside,
            index=index,
            sparql_query_ms=round(query_seconds * 1_000),
            sparql_memory_bytes=query_memory_mb * limits.MIB,
        )
    )


@click.command()
@_PORT
@_DATA
@click.option("--fresh", is_flag=True, help="Remove the store in the data folder first.")
@_FLOW
@_MODELS
@_OUTSIDE
@click.option(
    "--worker", help="Also run a worker: a template such as values-extract, or MODULE as `python -m` takes it."
)
@click.option("--graph", help="The worker's graph; by default that of its samples.")
def dev(
    port: int,
    data: Path,
    fresh: bool,
    flow: bool,
    models: Path | None,
    outside: Path | None,
    worker: str | None,
    graph: str | None,
) -> None:
    """Run a server to try things: loopback only, with the known key lbb_sk_test_local and mock models.

    With --worker its module's commands `try`, if it has one, and `start` are run beside the server, again after each
    change of its files; models.toml in its project names the models, unless --models does.
    """
    if worker is not None:
        sys.exit(
            _run_beside(worker, graph, port=port, data=data, fresh=fresh, flow=flow, models=models, outside=outside)
        )
    if graph is not None:
        raise click.UsageError("--graph is the worker's: give --worker too")
    click.echo(f"dev mode: loopback only, anyone on this machine may use the key {key.DEV_KEY}")
    config = Config("127.0.0.1", port, data, mode="dev", flow=flow, models=models, outside=outside)
    _run(config, _add_dev_key, is_fresh=fresh)


def _run_beside(
    worker: str,
    graph: str | None,
    *,
    port: int,
    data: Path,
    fresh: bool,
    flow: bool,
    models: Path | None,
    outside: Path | None,
) -> int:
    from turnbuckle.cli import dev_worker
    from turnbuckle.cli.worker_module import find_worker

    found = find_worker(worker)
    models = models or found.models
    server = ["dev", "--port", str(port), "--data", str(data)]
    server += ["--fresh"] if fresh else []
    server += [] if flow else ["--no-flow"]
    server += [] if outside is None else ["--outside", str(outside)]
    server += [] if models is None else ["--models", str(models)]
    return dev_worker.run(server, found, graph)


def _add_dev_key(database: Database) -> None:
    grant = Grant("test", "user", "admin")
    write(database, lambda tx: key.add(tx, key.DEV_KEY, "turnbuckle dev", grant))


def _run(config: Config, prepare: Callable[[Database], None] | None = None, *, is_fresh: bool = False) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it tells of each request to a model
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # it tells of its process, which says nothing to a user
    try:
        server.serve(config, lambda address: click.echo(f"listening on {address}"), prepare, is_fresh=is_fresh)
        logging.getLogger("turnbuckle").info("stopped, the store is closed")
    except OSError as exc:
        if exc.errno != errno.EADDRINUSE:
            sys.exit(f"turnbuckle: {exc}")
        sys.exit(f"turnbuckle: another program listens on {config.host}:{config.port}; stop it, or give another --port")
    except (BadOutside, BadSettings, CannotOpen, NewerSchema, NoFolder) as exc:
        sys.exit(f"turnbuckle: {exc}")
