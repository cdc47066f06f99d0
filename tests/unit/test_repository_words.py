"""What must not be in the repository: places of the machine it was written on, and other people's servers."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_OURS = {".git", ".venv", ".turnbuckle", ".hypothesis", "dist", "build", "__pycache__"}
FORBIDDEN = {
    "a path of a machine": re.compile(r"(?<![\w.])/(work|root|farm|home/\w+|Users/\w+)/"),
    "a path out of the repository": re.compile(r"\.\./shared\b"),
    "a package registry": re.compile(r"\b(pypi\.org|pythonhosted\.org|registry\.npmjs\.org|proxy\.golang\.org)"),
    "a number of a ticket": re.compile(r"\bissues? #?\d"),
}


def texts() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and not name.endswith((".egg-info", "_cache"))]
        yield from (Path(folder, name) for name in sorted(files))


def findings(text: str) -> list[str]:
    lines = enumerate(text.splitlines(), start=1)
    return [
        f"line {n}: {what}: {line.strip()}"
        for n, line in lines
        for what, word in FORBIDDEN.items()
        if word.search(line)
    ]


def test_no_file_names_this_machine_or_a_registry() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in texts()
        if path != Path(__file__) and (lines := findings(path.read_bytes().decode("utf-8", "replace")))
    }

    assert found == {}


@pytest.mark.parametrize(
    "line", ["see /work/main/x", "cd /root/.venv", "index https://pypi.org/simple", "cf. ../shared/x", "as of issue #2"]
)
def test_each_kind_is_seen(line: str) -> None:
    assert findings(line)


def test_a_public_path_is_not_a_machine() -> None:
    assert findings("POST /v1/workflows/turns/claim of https://example.org/home and /tmp") == []
