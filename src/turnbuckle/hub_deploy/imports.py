"""What an import statement means where there are no modules of one's own, and what stands in its place (6.4).

import json                      nothing: the sandbox has the name
import math as m                 m = math
from math import sqrt as root    root = math.sqrt
from .prices import of           nothing: the name of another block
from .prices import of as price  price = of
"""

import ast
from dataclasses import dataclass, field

from turnbuckle.flow.sandbox import names
from turnbuckle.hub_deploy.problem import Advisory, DeployProblem
from turnbuckle.hub_deploy.scan import ImportStatement, SourceFile
from turnbuckle.hub_deploy.source_tree import SourceTree

_MODULE_LIKE = frozenset([*names.MODULES, *names.TYPING, *names.EXCEPTIONS])
_TYPING = "typing"


@dataclass(frozen=True)
class ImportRoots:
    """What besides the sandbox's own may be imported: the limit `workflow.code_imports`; None when it is unknown."""

    allowed: frozenset[str] | None = None
    is_strict: bool = False


@dataclass(frozen=True)
class Binding:
    """`name = source` in place of one imported name."""

    name: str
    source: str
    root: str | None = None  # the module of the sandbox that source starts with

    def __str__(self) -> str:
        return f"{self.name} = {self.source}"


@dataclass
class Meaning:
    """One statement, understood."""

    statement: ImportStatement
    bindings: list[Binding] = field(default_factory=list)
    local: list[str] = field(default_factory=list)  # files it needs, by path
    roots: list[str] = field(default_factory=list)  # modules of the sandbox that it expects under their own names


class Reader:
    """Understands the statements of the files of one tree; `advisories` fills while it does."""

    def __init__(self, tree: SourceTree, roots: ImportRoots) -> None:
        self._tree = tree
        self._roots = roots
        self.advisories: list[Advisory] = []

    def read(self, file: SourceFile, statement: ImportStatement) -> Meaning:
        """Names of a local module are checked once its file is read: `check_offered`."""
        meaning, node = Meaning(statement), statement.node
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._plain(file, meaning, alias)
        else:
            self._from(file, meaning, node)
        return meaning

    def check_offered(self, file: SourceFile, statement: ImportStatement, source: SourceFile) -> None:
        """DeployProblem IMPORT_NAME_NOT_FOUND | LOCAL_MODULE_IMPORT_FORM for a name that `source` does not have."""
        if source.has_star:
            return
        for alias in statement.node.names:
            if alias.name != "*" and alias.name not in source.offered:
                folder = tuple(source.path.split("/")[:-1])
                if source.path.endswith("__init__.py") and self._tree.is_module((*folder, alias.name)):
                    raise _module_as_name(file, statement, alias.name)
                what = f"{source.path} has no {alias.name!r} at its top level"
                raise DeployProblem("IMPORT_NAME_NOT_FOUND", f"{_at(file, statement)}: {what}")

    def _plain(self, file: SourceFile, meaning: Meaning, alias: ast.alias) -> None:
        parts = tuple(alias.name.split("."))
        if any(self._tree.is_module(parts[:end]) for end in range(1, len(parts) + 1)):
            what = f"`import {alias.name}` of a module under the base path"
            raise DeployProblem("LOCAL_MODULE_IMPORT_FORM", f"{_at(file, meaning.statement)}: {what}")
        self._expect(file, meaning, parts[0])
        if alias.asname not in (None, alias.name):
            assert alias.asname is not None
            meaning.bindings.append(Binding(alias.asname, alias.name, parts[0]))

    def _from(self, file: SourceFile, meaning: Meaning, node: ast.ImportFrom) -> None:
        parts = tuple((node.module or "").split(".")) if node.module else ()
        if node.level:
            parts = (*self._tree.above(file.path, node.level), *parts)
        path = self._tree.module(parts)
        if path is not None:
            self._local(file, meaning, node, path, parts)
        elif node.level or self._tree.is_module(parts):
            self._no_file(file, meaning.statement, node, parts)
        else:
            self._foreign(file, meaning, node, parts)

    def _local(
        self, file: SourceFile, meaning: Meaning, node: ast.ImportFrom, path: str, parts: tuple[str, ...]
    ) -> None:
        meaning.local.append(path)
        if not node.level and parts[0] in names.MODULES:
            what = f"{_at(file, meaning.statement)}: {path} hides the sandbox's module {parts[0]}"
            self.advisories.append(Advisory("LOCAL_SHADOWS_SANDBOX_MODULE", what))
        meaning.bindings += [
            Binding(alias.asname, alias.name) for alias in node.names if alias.asname not in (None, alias.name)
        ]

    def _no_file(
        self, file: SourceFile, statement: ImportStatement, node: ast.ImportFrom, parts: tuple[str, ...]
    ) -> None:
        """A folder without `__init__.py`, or nothing at all."""
        for alias in node.names:
            if self._tree.is_module((*parts, alias.name)):
                raise _module_as_name(file, statement, alias.name)
        what = f"there is no module {'/'.join(parts) or '.'} under the base path"
        raise DeployProblem("IMPORT_NAME_NOT_FOUND", f"{_at(file, statement)}: {what}")

    def _foreign(self, file: SourceFile, meaning: Meaning, node: ast.ImportFrom, parts: tuple[str, ...]) -> None:
        if parts == ("__future__",) and all(alias.name == "annotations" for alias in node.names):
            return  # it changes how annotations are kept, and nothing of ours reads them
        module, root = ".".join(parts), parts[0]
        self._expect(file, meaning, root)
        if meaning.statement.has_star:
            what = f"`from {module} import *` names nothing to bind"
            raise DeployProblem("UNSUPPORTED_IMPORT_FORM", f"{_at(file, meaning.statement)}: {what}")
        for alias in node.names:
            name = alias.asname or alias.name
            if module == _TYPING and name == alias.name and name in names.TYPING:
                continue  # the sandbox has it under this name
            if name == root and meaning.statement.scope == "function":
                what = f"`{name}` would hide the module {root} in this function before it is read"
                raise DeployProblem("UNSUPPORTED_IMPORT_FORM", f"{_at(file, meaning.statement)}: {what}")
            meaning.bindings.append(Binding(name, f"{module}.{alias.name}", root))

    def _expect(self, file: SourceFile, meaning: Meaning, root: str) -> None:
        """DeployProblem IMPORT_UNAVAILABLE for a module that will not be there."""
        meaning.roots.append(root)
        allowed = self._roots.allowed
        if root in _MODULE_LIKE or (allowed is not None and root in allowed):
            return
        what = f"{_at(file, meaning.statement)}: the sandbox has no module {root!r}"
        if allowed is not None or self._roots.is_strict:
            raise DeployProblem("IMPORT_UNAVAILABLE", what)
        self.advisories.append(Advisory("IMPORT_UNVERIFIED", f"{what} of its own, and the blob's list is not known"))


def _module_as_name(file: SourceFile, statement: ImportStatement, name: str) -> DeployProblem:
    return DeployProblem("LOCAL_MODULE_IMPORT_FORM", f"{_at(file, statement)}: {name!r} is a module of your own")


def _at(file: SourceFile, statement: ImportStatement) -> str:
    return f"{file.path}, line {statement.line}"
