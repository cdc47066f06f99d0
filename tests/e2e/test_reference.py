"""The reference document's engine examples run as they are against the real server, on SQLite."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROGRAM = Path(__file__).parent / "reference" / "run_engine.py"


@pytest.fixture
def dev_server(tmp_path: Path) -> Iterator[str]:
    """`turnbuckle dev` as a process of its own; its address."""
    command = [sys.executable, "-m", "turnbuckle.cli", "dev", "--port", "0", "--data", str(tmp_path / "data")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        line = next(line for line in process.stdout if line.startswith("listening on "))
        yield line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        assert process.wait(15) == 0
        process.stdout.close()


def test_the_engine_examples_of_the_reference_document_run_as_they_are(dev_server: str) -> None:
    """Start, send, serve and stop, signal, sleep, continue, long step, failure rules: each with its effect."""
    environment = os.environ | {"LBB_URL": dev_server, "LBB_API_KEY": "lbb_sk_test_local"}

    ran = subprocess.run(
        [sys.executable, str(_PROGRAM)], env=environment, capture_output=True, text=True, timeout=100, check=False
    )

    assert ran.returncode == 0, ran.stderr
    outcome = json.loads(ran.stdout.splitlines()[-1])
    assert outcome["states"] == {
        "counter-1": {"count": 2},
        "review-1": {"sent": 1},
        "pages-1": {"read": 45},
        "crawler-1": {"pages": 3},
        "invoice-1": {"last": 7},
    }
    assert outcome["results"]["review"] == "Draft for the report"
