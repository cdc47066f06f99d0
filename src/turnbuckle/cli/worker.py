"""`turnbuckle worker flow`: run executions in a process of its own, beside those that the server runs."""

import logging
import os

import click

from turnbuckle.cli.api import DEFAULT_URL
from turnbuckle.cli.failure import Failure


@click.group()
def worker() -> None:
    """Run workers that belong to Turnbuckle itself."""


@worker.command()
@click.option("--concurrency", type=click.IntRange(1, 1_000), default=32, show_default=True, help="Turns at once.")
def flow(concurrency: int) -> None:
    """Run executions of the environment that the key in LBB_API_KEY belongs to, until SIGTERM.

    The key has the scope `runtime`: `turnbuckle keys create --scope runtime` makes one.
    """
    from turnbuckle.flow import worker as flow_worker

    key = os.environ.get("LBB_API_KEY")
    if not key:
        raise Failure("set LBB_API_KEY to a key of scope runtime: `turnbuckle keys create --scope runtime`")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    url = os.environ.get("LBB_URL") or DEFAULT_URL
    click.echo(f"running executions of {url}")
    flow_worker.run(url, key, concurrency=concurrency)
