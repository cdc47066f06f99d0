"""The reference document's Python runs as it is, block after block, against the real server on SQLite."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROGRAM = Path(__file__).parent / "reference" / "run_document.py"


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


def test_the_reference_document_runs_as_it_is(dev_server: str) -> None:
    """Every block in its order, with its effect: states, an answered review, counts in the graph, a checked capture."""
    environment = os.environ | {"LBB_URL": dev_server, "LBB_API_KEY": "lbb_sk_test_local"}

    ran = subprocess.run(
        [sys.executable, str(_PROGRAM)], env=environment, capture_output=True, text=True, timeout=100, check=False
    )

    assert ran.returncode == 0, ran.stderr
    *printed, outcome = ran.stdout.splitlines()
    results, states = json.loads(outcome)["results"], json.loads(outcome)["states"]
    code = states["codes-1"].pop("code")
    assert states == {
        "counter-1": {"count": 2},
        "codes-1": {},
        "review-1": {"sent": 1},
        "pages-1": {"read": 45},
        "rooms-1": {"floor": "tiles"},
        "crawler-1": {"pages": 3},
        "invoice-1": {"last": 7},
    }
    assert isinstance(code, str)
    assert results["review"] == "Draft for the report"
    assert results["words"] == {"Monday": 3, "Tuesday": 2}
    assert results["captured"] == [["dry_run", [], 2]]
    # The document's own capture names a note that never was, so the server's check refuses its write.
    assert [line.split(" ")[:2] for line in printed] == [["write", "dry_run"]]
    assert "0123456789abcdef0123456789abcdef" in printed[0]
