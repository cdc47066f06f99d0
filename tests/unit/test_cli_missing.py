"""The command without the packages of its extra: one line that says what to type."""

import json
import subprocess
import sys
from typing import Any

import pytest

import turnbuckle.cli

WITHOUT = "import sys; sys.modules['{}'] = None; from turnbuckle.cli import main; sys.argv[1:] = ['dev', '-h']; main()"


class Noted:
    """A distribution, as far as the command asks it."""

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


@pytest.mark.parametrize("module", ["click", "uvicorn", "pydantic_monty"])  # two of them only a command needs
def test_a_missing_extra_is_one_line_that_says_what_to_type(module: str) -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT.format(module)], capture_output=True, text=True)

    assert ran.returncode == 1
    assert ran.stderr.startswith(f"turnbuckle: {module} is not installed, which the extra `server` brings; run: ")
    assert f"{sys.executable} -m pip install 'turnbuckle[server]" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_module_of_nobody_stays_an_error_of_its_own() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT.format("lbb")], capture_output=True, text=True)

    assert "ModuleNotFoundError" in ran.stderr
    assert "extra" not in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (None, "turnbuckle[server]"),
        ({"url": "file:///a/checkout", "dir_info": {}}, "turnbuckle[server] @ file:///a/checkout"),
        ({"url": "https://a/b.git", "vcs_info": {"vcs": "git"}}, "turnbuckle[server] @ git+https://a/b.git"),
    ],
)
def test_the_extra_comes_from_where_the_rest_came_from(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None, wanted: str
) -> None:
    monkeypatch.setattr(turnbuckle.cli, "distribution", lambda name: Noted(origin))

    assert turnbuckle.cli._with_server() == wanted
