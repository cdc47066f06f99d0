"""The command without the packages of its extra: one line that says what to type."""

import json
import subprocess
import sys
from typing import Any

import pytest

import turnbuckle.cli

WITHOUT_CLICK = "import sys; sys.modules['click'] = None; from turnbuckle.cli import main; main()"


class Noted:
    """A distribution, as far as the command asks it."""

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._origin is None else json.dumps(self._origin)


def test_a_missing_extra_is_one_line_that_says_what_to_type() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_CLICK], capture_output=True, text=True)

    assert ran.returncode == 1
    assert ran.stderr.startswith("turnbuckle: click is not installed, which the extra `server` brings; run: ")
    assert f"{sys.executable} -m pip install 'turnbuckle[server]" in ran.stderr
    assert ran.stderr.count("\n") == 1


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
