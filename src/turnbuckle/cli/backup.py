"""`turnbuckle backup`: a consistent copy of the store, while a server writes to it."""

import os
import time
from pathlib import Path

import click

from turnbuckle.cli.failure import Failure
from turnbuckle.cli.output import json_option, print_json
from turnbuckle.cli.store import Place, of_store
from turnbuckle.cli.words import size


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE when it is there.")
@of_store
@json_option
def backup(place: Place, file: Path, force: bool, as_json: bool) -> None:
    """Copy the store to FILE, as it is at one moment. Nobody has to stop for it."""
    if file.exists() and not force:
        raise Failure(f"{file} is there already; --force replaces it")
    began = time.monotonic()
    # The old copy is replaced by a whole new one or not at all, and never by half of one.
    part = file.with_name(file.name + ".part")
    try:
        with place.opened() as database:
            database.backup(str(part))
        os.replace(part, file)
    finally:
        if part.is_file():
            part.unlink()
    took_ms = round((time.monotonic() - began) * 1_000)
    size_bytes = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "size_bytes": size_bytes, "took_ms": took_ms})
        return
    click.echo(f"{file}: {size(size_bytes)} in {took_ms / 1_000:.1f} s")
