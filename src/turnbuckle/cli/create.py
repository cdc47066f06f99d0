"""`turnbuckle create`: a new project from a template."""

import os
import re
import shutil
from pathlib import Path

import click

from turnbuckle.cli.failure import Failure
from turnbuckle.cli.sdk_source import installed_sdk, sdk_at
from turnbuckle.cli.template import TEMPLATES, folder_of, package_of
from turnbuckle.operations.key import DEV_KEY

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")  # what a Python project may be called
_OURS = ("turnbuckle", "lbb", "blobhub")
_LEFT_BEHIND = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info", ".venv")


def _list(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    for name, about in TEMPLATES.items():
        click.echo(f"{name}  {about}")
    ctx.exit()


@click.command()
@click.argument("name")
@click.option("--template", required=True, type=click.Choice(list(TEMPLATES)), help="What to start from.")
@click.option("--lang", type=click.Choice(["python"]), default="python", help="Templates are written in Python.")
@click.option(
    "--sdk", type=click.Path(exists=True, path_type=Path), help="A checkout or wheel of turnbuckle to depend on."
)
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List the templates.")
def create(name: str, template: str, lang: str, sdk: Path | None) -> None:
    """Make the folder NAME with a new project in it.

    The project depends on turnbuckle as it is installed here, or as --sdk says.
    """
    _check_name(name)
    folder = Path(name)
    if os.path.lexists(folder):  # unlike Path.exists it takes a name that is too long
        raise Failure(f"{folder} exists already; choose another name, or remove it first")
    dependency = installed_sdk() if sdk is None else sdk_at(sdk)
    _copy(folder_of(template), folder, template, name, dependency)
    click.echo(_next_steps(name, template, dependency))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Failure(f"{name!r} cannot be the name of a project: use letters, digits, and - _ . between them")
    if re.sub(r"[-_.]+", "-", name).lower() in _OURS:
        raise Failure(f"a project called {name} could not be installed beside the SDK; choose another name")


def _copy(source: Path, folder: Path, template: str, name: str, dependency: str) -> None:
    """The template with its own name and dependency; nothing is left when that fails."""
    try:
        shutil.copytree(source, folder, ignore=_LEFT_BEHIND)
        _replace(folder / "pyproject.toml", f'name = "{template}"', f'name = "{name}"')
        _replace(folder / "pyproject.toml", 'dependencies = ["turnbuckle"]', f'dependencies = ["{dependency}"]')
        _replace(folder / "README.md", f"# {template}\n", f"# {name}\n")
    except BaseException as exc:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(exc, OSError):
            raise Failure(f"{folder} cannot be made: {exc.strerror or exc}") from exc
        raise


def _replace(path: Path, line: str, by: str) -> None:
    text = path.read_text("utf-8")
    if text.count(line) != 1:
        raise Failure(f"the template's {path.name} has {text.count(line)} lines {line!r} where one is expected")
    path.write_text(text.replace(line, by), "utf-8")


def _next_steps(name: str, template: str, dependency: str) -> str:
    package, key = package_of(template), f"LBB_API_KEY={DEV_KEY}"
    return f"""made {name} from the template {template}; it depends on {dependency}

next:
  cd {name}
  python3 -m venv .venv
  . .venv/bin/activate
  pip install -e ".[test]"
  pytest

on a server, such as `turnbuckle dev`:
  {key} python -m {package} try
  {key} LBB_GRAPH=try-{template} python -m {package} start

or server, mock models and worker in one command, in the project's folder:
  turnbuckle dev --worker {template}"""
