"""Typing `turnbuckle hub ...` in a folder, beside a real server that runs executions."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from turnbuckle.cli.main import cli

TURNBUCKLE = str(Path(sys.executable).with_name("turnbuckle"))
DOCUMENT: dict[str, Any] = {
    "type": "workflow_definition",
    "version": "1.0.1",
    "components": [
        {"id": "s", "category": "flow", "type": "flow.start", "name": "Start"},
        {
            "id": "q",
            "category": "data",
            "type": "data.text",
            "name": "Question",
            "ports": [
                {"category": "setting", "route": "alias", "value": {"type": "text", "text": "question"}},
                {"category": "setting", "route": "persistence", "value": {"type": "choice", "id": "execution"}},
                {"category": "setting", "route": "value", "value": None},
            ],
        },
        {
            "id": "c",
            "category": "logic",
            "type": "logic.code",
            "name": "Answer",
            "ports": [
                {"category": "setting", "route": "language", "value": {"type": "choice", "id": "python"}},
                {"category": "setting", "route": "code", "value": None},
                {"category": "data_input", "route": "question", "value": None},
            ],
        },
    ],
    "connections": [
        {
            "id": "1",
            "source_id": "s",
            "target_id": "c",
            "source_port": "flow_output",
            "target_port": "flow_input",
            "route": "next",
        },
        {
            "id": "2",
            "source_id": "q",
            "target_id": "c",
            "source_port": "data_output",
            "target_port": "data_input",
            "source_route": "value",
            "target_route": "question",
        },
    ],
}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def refusal(self) -> Any:
        """What stands on stderr under --json."""
        return json.loads(self.err)


@dataclass(frozen=True)
class HubShell:
    """`home` is where the profile file lies, `url` that of the API."""

    data: Path
    home: Path
    url: str

    def run(self, *words: str, **environment: str | None) -> Done:
        mine = {"HOME": str(self.home), "BLOBHUB_API_URL": self.url, "BLOBHUB_API_KEY": None, "BLOBHUB_PROFILE": None}
        done = CliRunner().invoke(cli, ["hub", *words], env={**mine, "BLOBHUB_ORG": None, **environment})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    def ok(self, *words: str, **environment: str | None) -> Done:
        done = self.run(*words, **environment)
        assert done.code == 0, done.err
        return done

    def json(self, *words: str, **environment: str | None) -> Any:
        return self.ok(*words, "--json", **environment).json

    def refused(self, *words: str, **environment: str | None) -> Any:
        """The error object of a command that ends with 1."""
        done = self.run(*words, "--json", **environment)
        assert done.code == 1, done
        return done.refusal

    def init(self, name: str, *words: str) -> Any:
        """A blob, and its key in the profile that the following commands use."""
        return self.json("init", name, "--data", str(self.data), "--profile", "mine", *words)


@contextmanager
def hub_shell(folder: Path) -> Iterator[HubShell]:
    data, home = folder / ".turnbuckle", folder / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LBB_", "BLOBHUB_"))}
    with subprocess.Popen(
        [TURNBUCKLE, "serve", "--port", "0", "--data", str(data)], stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().removeprefix("listening on ").strip()
            yield HubShell(data, home, f"{url}/v1")
        finally:
            server.terminate()
            server.communicate(timeout=60)  # it may say more until it has stopped
    assert server.returncode == 0
