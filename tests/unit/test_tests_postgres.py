"""The PostgreSQL under the tests: fresh for each test, gone with its process."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.postgres import PostgresServer


@pytest.mark.parametrize("_", range(2))
def test_each_test_gets_an_empty_store(postgres_url: str, _: int) -> None:
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("select count(*) from pg_tables where schemaname = current_schema()").fetchone()
        connection.execute("create table left_behind (id integer)")

    assert tables == (0,)


def test_a_store_is_dropped_while_connections_are_open(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_store()
    with psycopg.connect(url) as connection:
        postgres_server.drop_store(url)

        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")


def test_the_server_ends_when_the_test_process_is_killed() -> None:
    """A killed test run leaves no server and no folder behind."""
    script = (
        "import sys, tests.postgres as p\nwith p.running_postgres() as s: print(s.folder, flush=True); sys.stdin.read()"
    )
    tests = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert tests.stdout is not None
    folder = Path(tests.stdout.readline().strip())
    postmaster = int((folder / "data" / "postmaster.pid").read_text().split()[0])

    tests.kill()
    tests.communicate()  # ends when the last process that shares its output has ended

    with pytest.raises(ProcessLookupError):
        os.kill(postmaster, 0)
    assert not folder.exists()
