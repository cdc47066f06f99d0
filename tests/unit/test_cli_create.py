"""`turnbuckle create`: what is written, and what is refused before anything is."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from packaging.requirements import Requirement

from turnbuckle import __version__
from turnbuckle.cli import sdk_source
from turnbuckle.cli.main import cli
from turnbuckle.cli.template import folder_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def create(*words: str) -> Result:
    return CliRunner().invoke(cli, ["create", *words])


def made(*words: str) -> dict[str, Any]:
    """The pyproject.toml of the project `my-values`."""
    result = create("my-values", "--template", "values-extract", *words)
    assert result.exit_code == 0, result.output
    return tomllib.loads(Path("my-values/pyproject.toml").read_text("utf-8"))


def files(folder: Path) -> Iterator[Path]:
    unwanted = {"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"}
    yield from (path for path in folder.rglob("*") if path.is_file() and unwanted.isdisjoint(path.parts))


def test_the_project_has_its_name_the_templates_files_and_an_sdk() -> None:
    project = made("--lang", "python")["project"]

    assert project["name"] == "my-values"
    assert [Requirement(text).name for text in project["dependencies"]] == ["turnbuckle"]
    assert "turnbuckle[server]" in project["optional-dependencies"]["test"]  # so `turnbuckle dev` runs in it
    assert Path("my-values/README.md").read_text("utf-8").startswith("# my-values\n")
    source = folder_of("values-extract")
    assert {path.relative_to(source) for path in files(source)} == {
        path.relative_to("my-values") for path in files(Path("my-values"))
    }


def test_the_next_steps_are_told() -> None:
    told = create("my-values", "--template", "values-extract").output

    for step in ("cd my-values", 'pip install -e ".[test]"', "pytest", "python -m values_extract try", "start", "dev"):
        assert step in told


def test_the_sdk_is_the_one_that_was_named(folder: Path) -> None:
    wheel = folder / "turnbuckle-0.1.0-py3-none-any.whl"
    wheel.touch()

    (dependency,) = made("--sdk", str(wheel))["project"]["dependencies"]

    assert Requirement(dependency).url == wheel.as_uri()


def test_a_checkout_is_an_sdk() -> None:
    (dependency,) = made("--sdk", str(ROOT))["project"]["dependencies"]

    assert Requirement(dependency).url == ROOT.as_uri()


@pytest.mark.parametrize(
    ("noted", "dependency"),
    [
        (None, f"turnbuckle>={__version__}"),
        ({"url": ROOT.as_uri(), "dir_info": {"editable": True}}, f"turnbuckle @ {ROOT.as_uri()}"),
        (
            {"url": "https://example.org/turnbuckle.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "turnbuckle @ git+https://example.org/turnbuckle.git@abc",
        ),
    ],
    ids=["an index", "a checkout", "a repository"],
)
def test_without_one_the_sdk_comes_from_where_this_one_came(
    noted: dict[str, Any] | None, dependency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_source, "distribution", lambda name: _Installed(noted))

    assert made()["project"]["dependencies"] == [dependency]


class _Installed:
    """A distribution with this direct_url.json."""

    def __init__(self, noted: dict[str, Any] | None) -> None:
        self._noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._noted is None else json.dumps(self._noted)


def test_a_wheel_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"url": "file:///tmp/gone/turnbuckle-0.1.0-py3-none-any.whl", "archive_info": {}}
    monkeypatch.setattr(sdk_source, "distribution", lambda name: _Installed(gone))

    result = create("my-values", "--template", "values-extract")

    assert result.exit_code == 1
    assert "--sdk" in result.output
    assert not Path("my-values").exists()


@pytest.mark.parametrize("name", ["a/b", ".hidden", "with space", "", "-x-", "turnbuckle", "LBB"])
def test_a_name_that_no_project_can_have_is_refused(name: str, folder: Path) -> None:
    result = create("--template", "values-extract", "--", name)

    assert result.exit_code == 1
    assert "name" in result.output
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told_in_one_line(folder: Path) -> None:
    result = create(300 * "a", "--template", "values-extract")

    assert result.exit_code == 1
    assert result.output.startswith("turnbuckle: aaa")
    assert "cannot be made: File name too long" in result.output
    assert list(folder.iterdir()) == []


def test_a_folder_that_exists_is_left_alone() -> None:
    Path("my-values").mkdir()

    result = create("my-values", "--template", "values-extract")

    assert result.exit_code == 1
    assert "exists already" in result.output
    assert list(Path("my-values").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--template", "todo"], "'todo' is not 'values-extract'"),
        (["--template", "values-extract", "--lang", "typescript"], "'typescript' is not 'python'"),
        (["--template", "values-extract", "--sdk", "nowhere"], "does not exist"),
        ([], "Missing option '--template'"),
    ],
)
def test_what_is_not_offered_is_told(words: list[str], told: str) -> None:
    result = create("my-values", *words)

    assert result.exit_code == 2
    assert told in result.output


def test_a_folder_that_is_no_sdk_is_refused(folder: Path) -> None:
    result = create("my-values", "--template", "values-extract", "--sdk", str(folder))

    assert result.exit_code == 1
    assert "neither a checkout of turnbuckle nor a wheel" in result.output


def test_the_templates_are_listed() -> None:
    assert create("--list").output.startswith("values-extract  ")
