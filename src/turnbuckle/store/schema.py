"""The schema as the migrations declare it: their files, and the tables whose rows belong to a graph."""

import re
from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "migrations"
_TABLE = re.compile(r"create table (\w+) \(\s*graph_id\b(.*)\)[^)]*", re.DOTALL)
_KEY = re.compile(r"primary key \(([^)]*)\)")
_KEPT = {"graph", "deleted_graph"}  # their rows go with the name, and when nothing else is left


def files() -> list[Path]:
    """The migrations in their order."""
    return sorted(_FOLDER.glob("[0-9]*.sql"))


def statements(file: Path) -> list[str]:
    """The statements of a migration; each ends with a semicolon at a line's end."""
    lines = [line.split("--")[0] for line in file.read_text().splitlines()]
    return [part.strip() for part in "\n".join(lines).split(";\n") if part.strip().rstrip(";")]


@lru_cache
def tables_of_a_graph() -> dict[str, str]:
    """The key columns of each table whose rows belong to a graph, in the order of the migrations.

    `{"instance": "graph_id, instance_id", ...}`: instances first, so that no claim meets half of one.
    """
    found: dict[str, str] = {}
    for statement in (part for file in files() for part in statements(file)):
        table = _TABLE.fullmatch(statement)
        if table is not None and table[1] not in _KEPT:
            found[table[1]] = _KEY.findall(table[2])[0]
    return found


def clearing_statements() -> dict[str, str]:
    """`clear_<table>` for each of them: a piece of the graph's rows. Made here, so that no later table is forgotten."""
    return {
        f"clear_{table}": f"-- A piece of a deleted graph.\ndelete from {table} where ({key}) in (\n"
        f"select {key} from {table} where graph_id = :graph_id limit :limit)"
        for table, key in tables_of_a_graph().items()
    }
