"""Which module `turnbuckle dev --worker NAME` runs, and what belongs to it. Nothing of it is imported here."""

import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from turnbuckle.cli.failure import Failure
from turnbuckle.cli.template import TEMPLATES, folder_of, package_of

_MODELS = "models.toml"


@dataclass(frozen=True)
class WorkerModule:
    module: str  # as `python -m` takes it
    watched: Path  # its package's folder, or its file: a change there restarts it
    project: Path  # the folder it is found in
    try_graph: str  # where its samples are: `try-` and its name

    @property
    def models(self) -> Path | None:
        """The project's settings of models for the server, when it has any."""
        path = self.project / _MODELS
        return path if path.is_file() else None


def find_worker(name: str) -> WorkerModule:
    """`values-extract`, `python:values-extract`, or any module that is found here, in this folder first.

    A template's name means the project in this folder, else the template itself. Failure when there is neither.
    """
    name = name.removeprefix("python:")
    module = package_of(name)
    if not all(part.isidentifier() for part in module.split(".")):
        raise Failure(
            f"{name!r} is no module; say a template ({', '.join(TEMPLATES)}) or MODULE as `python -m` takes it"
        )
    found = _spec(module, ["", *sys.path])
    if found is None and name in TEMPLATES:
        found = _spec(module, [str(folder_of(name))])
    if found is None or found.origin is None:
        raise Failure(f"there is no module {module} in this folder, nor is it installed")
    return _worker(module, Path(found.origin).resolve())


def _worker(module: str, file: Path) -> WorkerModule:
    is_package = file.name == "__init__.py"
    depth = module.count(".") + is_package
    graph = "try-" + module.replace("_", "-").replace(".", "-").strip("-").lower()
    return WorkerModule(module, file.parent if is_package else file, file.parents[depth], graph[:63])


def _spec(module: str, path: list[str] | None) -> ModuleSpec | None:
    """Where the module is, found part by part: finding `a.b` the usual way would import `a`."""
    found = None
    where, parts = path, module.split(".")
    for count in range(1, len(parts) + 1):
        found = PathFinder.find_spec(".".join(parts[:count]), where)
        if found is None:
            return None
        where = list(found.submodule_search_locations or ())
    return found
