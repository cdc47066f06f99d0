"""What lies in a store, read beside the server: to show that a refusal changed nothing."""

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import psycopg

from turnbuckle.store import schema

Dump = dict[str, list[tuple[Any, ...]]]  # rows by table, each table in the order of its rows


def columns() -> dict[str, list[str]]:
    """The columns of every table, as the migrations declare them."""
    found: dict[str, list[str]] = {}
    for statement in (part for file in schema.files() for part in schema.statements(file)):
        match = re.fullmatch(r"create table (\w+) \((.*)\)[^)]*", statement, re.DOTALL)
        if match is not None:
            lines = (line.strip() for line in match[2].strip().splitlines())
            found[match[1]] = [line.split()[0] for line in lines if not line.startswith(("primary key", "unique"))]
    return found


def dump(location: str) -> Dump:
    """Every row of every table but the clock's, which goes on by itself."""
    names = [name for name in columns() if name != "clock"]
    if location.startswith("postgresql://"):
        with psycopg.connect(location) as connection:
            return {name: _in_order(connection.execute(f"select * from {name}").fetchall()) for name in names}
    with contextlib.closing(sqlite3.connect(f"{Path(location).as_uri()}?mode=ro", uri=True)) as file:
        return {name: _in_order(file.execute(f"select * from {name}").fetchall()) for name in names}


def _in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)
