"""Settings of a server process."""

from dataclasses import dataclass
from pathlib import Path

from turnbuckle.wire import limits

DEFAULT_PORT = 7400
DATA_FILE = "turnbuckle.db"


@dataclass(frozen=True)
class Config:
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    data: Path = Path(".turnbuckle")  # the folder of the SQLite store
    database: str | None = None  # a postgresql:// URL instead of the folder
    workflows: bool = True
    flow: bool = True  # run the flow worker, which runs executions, beside the server
    mode: str = "serve"  # or "dev": the well-known key, loopback only, mock models without a file
    models: Path | None = None  # the file that names model providers: docs/reference/models-toml.md
    outside: Path | None = None  # the file that says where executions may send requests: docs/reference/outside-toml.md
    index: Path | None = None  # the folder of SPARQL indexes, one of each server; None: beside the SQLite store
    sparql_query_ms: int = limits.SPARQL_MS
    sparql_memory_bytes: int = 4 * 1024 * limits.MIB  # address space of the index process

    @property
    def store(self) -> str:
        """Where the store is: a URL, or the path of the SQLite file."""
        return self.database or str(self.data / DATA_FILE)

    @property
    def index_folder(self) -> Path:
        return self.index or self.data / "index"
