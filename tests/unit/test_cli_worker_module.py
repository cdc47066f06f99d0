"""Which module `--worker NAME` means."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnbuckle.cli.failure import Failure
from turnbuckle.cli.template import folder_of
from turnbuckle.cli.worker_module import WorkerModule, find_worker


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("raise SystemExit('imported')\n", "utf-8")
    return file.resolve()


@pytest.mark.parametrize("name", ["values-extract", "python:values-extract"])
def test_a_templates_name_means_the_template(name: str) -> None:
    project = folder_of("values-extract")

    found = find_worker(name)

    assert found == WorkerModule("values_extract", project / "values_extract", project, "try-values-extract")
    assert found.models == project / "models.toml"


def test_a_project_in_this_folder_comes_before_the_template(folder: Path) -> None:
    write("values_extract/__init__.py")

    found = find_worker("values-extract")

    assert (found.project, found.models) == (folder, None)


def test_a_module_is_one_file_and_a_package_its_folder(folder: Path) -> None:
    file = write("jobs.py")
    write("shop/__init__.py")
    write("shop/workers/__init__.py")

    assert find_worker("jobs") == WorkerModule("jobs", file, folder, "try-jobs")
    assert find_worker("shop.workers") == WorkerModule(
        "shop.workers", folder / "shop/workers", folder, "try-shop-workers"
    )


def test_nothing_is_imported_to_find_it() -> None:
    write("shop/__init__.py")
    write("shop/workers.py")

    find_worker("shop.workers")  # either file ends the process when it is run


@pytest.mark.parametrize("name", ["nowhere", "nowhere.at_all", "python:nowhere"])
def test_a_module_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(Failure, match="there is no module nowhere"):
        find_worker(name)


@pytest.mark.parametrize("name", ["", "a/b", "jobs.py x", "1st"])
def test_what_can_be_no_module_is_told_with_the_templates(name: str) -> None:
    with pytest.raises(Failure, match="values-extract"):
        find_worker(name)


def test_a_graph_without_a_worker_is_refused() -> None:
    command = [sys.executable, "-m", "turnbuckle.cli", "dev", "--graph", "main", "--port", "0"]

    ran = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=60)

    assert ran.returncode == 2
    assert "give --worker too" in ran.stderr
