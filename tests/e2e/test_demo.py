"""`make demo` ends with 0 on this machine, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(180)
def test_the_demo_survives_its_kills(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.demo.run"]
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "COLUMNS": "200"}

    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Nothing was lost and nothing was saved twice" in ended.stdout
    assert ended.stdout.count("kill -9 worker") >= 3
    assert "kill -9 server" in ended.stdout
    assert list(tmp_path.iterdir()) == []
