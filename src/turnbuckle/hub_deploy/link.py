"""The files an entry point needs, dependencies first, and whether their names fit one namespace (6.4, rules 3 to 5).

A name may be bound by two files when both bind the same: `loads = json.loads`. One that hides a module of the sandbox,
as `from datetime import datetime` does, comes after everything that needs the module: later imports from it are moved
to the statement that hides it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from turnbuckle.flow.sandbox import names
from turnbuckle.hub_deploy.imports import Binding, ImportRoots, Meaning, Reader
from turnbuckle.hub_deploy.problem import Advisory, DeployProblem
from turnbuckle.hub_deploy.scan import SourceFile, scan
from turnbuckle.hub_deploy.source_tree import SourceTree

_UNREAD = frozenset({"__all__"})  # bound in many files, read by nobody here


@dataclass(frozen=True, eq=False)
class LinkedFile:
    source: SourceFile
    meanings: tuple[Meaning, ...]


@dataclass(frozen=True, eq=False)
class Linked:
    files: tuple[LinkedFile, ...]
    advisories: tuple[Advisory, ...]


def link(tree: SourceTree, entry: str, roots: ImportRoots) -> Linked:
    """DeployProblem for everything that could not run as it was meant."""
    visit = _Visit(tree, roots)
    visit.file(entry)
    files = tuple(visit.done.values())
    for file in files:
        _check_reserved(file)
    _check_collisions(files)
    for root in sorted(_hidden(files)):
        _move_before_hidden(files, root)
    return Linked(files, tuple(visit.reader.advisories))


class _Visit:
    """Depth first: a file is done after all that it imports."""

    def __init__(self, tree: SourceTree, roots: ImportRoots) -> None:
        self._tree = tree
        self.reader = Reader(tree, roots)
        self.done: dict[str, LinkedFile] = {}
        self._open: list[str] = []

    def file(self, path: str) -> SourceFile:
        if path in self._open:
            circle = " -> ".join([*self._open[self._open.index(path) :], path])
            raise DeployProblem("IMPORT_CYCLE", circle)
        if path not in self.done:
            self._open.append(path)
            source = scan(path, self._tree.read(path))
            self.done[path] = LinkedFile(source, self._meanings(source))
            self._open.pop()
        return self.done[path].source

    def _meanings(self, source: SourceFile) -> tuple[Meaning, ...]:
        meanings = tuple(self.reader.read(source, statement) for statement in source.imports)
        for meaning in meanings:
            for path in meaning.local:
                self.reader.check_offered(source, meaning.statement, self.file(path))
        return meanings


def _top_bindings(file: LinkedFile) -> Iterator[tuple[Meaning, Binding]]:
    for meaning in file.meanings:
        if meaning.statement.scope == "module":
            yield from ((meaning, binding) for binding in meaning.bindings)


def _check_reserved(file: LinkedFile) -> None:
    bound = list(file.source.defined.items())
    bound += [(binding.name, meaning.statement.line) for meaning, binding in _top_bindings(file)]
    for name, line in bound:
        if name in names.RESERVED or name.startswith(names.PRIVATE):
            what = f"{file.source.path}, line {line}: {name!r} is a name of the sandbox"
            raise DeployProblem("SANDBOX_NAME_SHADOWED", what)


def _check_collisions(files: tuple[LinkedFile, ...]) -> None:
    """DeployProblem SYMBOL_COLLISION when two files bind a name, and not to the same."""
    owners: dict[str, tuple[str, set[str]]] = {}
    for file in files:
        path = file.source.path
        bound: dict[str, set[str]] = {name: {f"{path}: {name}"} for name in file.source.defined}
        for _, binding in _top_bindings(file):
            bound.setdefault(binding.name, set()).add(binding.source)
        for name, sources in bound.items():
            other, theirs = owners.setdefault(name, (path, sources))
            if name not in _UNREAD and sources != theirs:
                raise _collision(name, other, path)


def _collision(name: str, one: str, other: str, why: str = "both bind it at their top level") -> DeployProblem:
    return DeployProblem("SYMBOL_COLLISION", f"{name!r} in {one} and in {other}: {why}")


# -- modules of the sandbox whose name is bound to something else ----------------------------------------------------


def _hidden(files: tuple[LinkedFile, ...]) -> set[str]:
    """Modules that some file uses and some file hides."""
    used = {root for file in files for meaning in file.meanings for root in meaning.roots} | set(names.MODULES)
    bound = {binding.name for file in files for _, binding in _top_bindings(file)}
    return used & (bound | {name for file in files for name in file.source.defined})


def _move_before_hidden(files: tuple[LinkedFile, ...], root: str) -> None:
    """Everything from the module goes to the first statement that hides it, and is bound before that.

    DeployProblem SYMBOL_COLLISION when a file needs the module itself.
    """
    hider = next(
        ((file, meaning) for file in files for meaning, binding in _top_bindings(file) if binding.name == root), None
    )
    by = next(file for file in files if root in file.source.defined) if hider is None else hider[0]
    for file in files:
        _check_module_unused(file, root, by)
    if hider is None or all(binding.root != root for binding in hider[1].bindings):
        return
    place = hider[1]
    later = [meaning for file in files for meaning, binding in _top_bindings(file) if binding.root == root]
    later = later[next(index for index, meaning in enumerate(later) if meaning is place) :]
    moved = {str(binding): binding for meaning in later for binding in meaning.bindings if binding.root == root}
    for meaning in later:
        meaning.bindings = [binding for binding in meaning.bindings if binding.root != root]
    place.bindings += sorted(moved.values(), key=lambda binding: binding.name == root)


def _check_module_unused(file: LinkedFile, root: str, by: LinkedFile) -> None:
    """Whether the file goes without the module under its own name, or with names from it that can be moved."""
    if file is by and root in file.source.defined:
        return  # within one file the order of its statements says what is meant
    why = f"the first binds this name to something else than the module, and the second needs the module {root}"
    own = {binding.name for _, binding in _top_bindings(file)} | set(file.source.defined) | _from_own_files(file)
    if file is not by and root in file.source.expected and not own & {root, "*"}:
        raise _collision(root, by.source.path, file.source.path, why)
    for meaning in file.meanings:
        if root in meaning.roots and (root in by.source.defined or not _is_movable(meaning, root)):
            raise _collision(root, by.source.path, file.source.path, why)


def _is_movable(meaning: Meaning, root: str) -> bool:
    is_bound = bool(meaning.bindings) and all(binding.root == root for binding in meaning.bindings)
    return is_bound and meaning.statement.scope == "module"


def _from_own_files(file: LinkedFile) -> set[str]:
    mine = (alias for meaning in file.meanings if meaning.local for alias in meaning.statement.node.names)
    return {alias.asname or alias.name for alias in mine}
