"""The modules under a base path, by paths relative to it with slashes: `pkg/prices.py` (blobhub 6.4, rule 2)."""

from pathlib import Path, PurePosixPath

from turnbuckle.hub_deploy import files
from turnbuckle.hub_deploy.problem import DeployProblem

_PACKAGE = "__init__.py"


class SourceTree:
    def __init__(self, base_path: Path) -> None:
        self._base = base_path.resolve()

    def entry(self, entry_point: str) -> str:
        """The entry point's path in its plain form. DeployProblem ENTRY_POINT_NOT_FOUND | BASE_PATH_ESCAPE."""
        path = self._base / entry_point
        try:
            relative = path.resolve().relative_to(self._base).as_posix()
        except ValueError as exc:
            raise DeployProblem("BASE_PATH_ESCAPE", f"{entry_point} lies outside {self._base}") from exc
        if not path.is_file():
            raise DeployProblem("ENTRY_POINT_NOT_FOUND", f"there is no file {path}")
        return relative

    def read(self, path: str) -> str:
        return files.read_text(self._base / path)

    def module(self, parts: tuple[str, ...]) -> str | None:
        """The file of the module `a.b`: `a/b.py`, else `a/b/__init__.py`; no parts mean the base path's own package."""
        candidates = [PurePosixPath(*parts, _PACKAGE)]
        if parts:
            candidates.insert(0, PurePosixPath(*parts[:-1], f"{parts[-1]}.py"))
        for candidate in candidates:
            if (self._base / candidate).is_file():
                self._check_inside(candidate)
                return candidate.as_posix()
        return None

    def is_module(self, parts: tuple[str, ...]) -> bool:
        """Also for a folder with modules in it and no `__init__.py`."""
        return self.module(parts) is not None or any((self._base / PurePosixPath(*parts)).glob("*.py"))

    def above(self, path: str, level: int) -> tuple[str, ...]:
        """The package that a relative import of `level` dots starts at. DeployProblem BASE_PATH_ESCAPE."""
        folder = PurePosixPath(path).parent.parts
        if level - 1 > len(folder):
            raise DeployProblem("BASE_PATH_ESCAPE", f"{path}: {'.' * level} leads out of {self._base}")
        return folder[: len(folder) - (level - 1)]

    def _check_inside(self, path: PurePosixPath) -> None:
        """A link may lead elsewhere."""
        if not (self._base / path).resolve().is_relative_to(self._base):
            raise DeployProblem("BASE_PATH_ESCAPE", f"{path} is a link that leads out of {self._base}")
