"""A generated project passes its own tests in an environment of its own."""

import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest
from click.testing import CliRunner

from turnbuckle.cli.main import cli

ROOT = Path(__file__).parents[2]
CLEAN = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}


def make_environment(folder: Path, project: Path) -> Path:
    """What `pip install -e ".[test]"` gives, without an index: the Python of an empty environment.

    It sees the packages of this one, as if they had been fetched, and `project` as an editable install would add it.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    told = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n{project}\n"
    Path(told.stdout.strip(), "project.pth").write_text(lines, "utf-8")
    return python


@pytest.mark.timeout(120)
def test_a_new_project_passes_its_own_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(cli, ["create", "my-values", "--template", "values-extract", "--sdk", str(ROOT)])
    assert made.exit_code == 0, made.output
    project = tmp_path / "my-values"
    python = make_environment(tmp_path / "environment", project)

    ran = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider"], cwd=project, env=CLEAN, capture_output=True, text=True
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_the_commands_of_a_new_project_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, ["create", "my-values", "--template", "values-extract"])

    ran = subprocess.run(
        [sys.executable, "-m", "values_extract", "--help"],
        cwd=tmp_path / "my-values",
        env=CLEAN,
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stderr
    assert "try" in ran.stdout
    assert "start" in ran.stdout


def test_a_wheel_carries_the_template() -> None:
    """`turnbuckle create` looks there when there is no checkout around it."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]

    included = build["targets"]["wheel"]["force-include"]
    assert included["examples/values_extract"] == "turnbuckle/templates/values_extract"
