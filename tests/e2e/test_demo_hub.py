"""`make demo-hub` ends with 0 on this machine, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(180)
def test_the_demo_runs_its_three_definitions(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-m", "examples.support_bot.run"], cwd=ROOT, env=env, capture_output=True, text=True
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "It left our store this morning" in ended.stdout
    assert ended.stdout.count("  completed") == 3
    assert "Ask a person left by deny" in ended.stdout
    assert list(tmp_path.iterdir()) == []
