"""One source file as the compiler sees it: its imports, and the names it binds and expects."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from turnbuckle.flow.sandbox.scopes import Names, resolve
from turnbuckle.hub_deploy.problem import DeployProblem

ImportNode = ast.Import | ast.ImportFrom
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, eq=False)
class ImportStatement:
    node: ImportNode
    scope: str  # module, class or function: where the names go that it binds

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def has_star(self) -> bool:
        return any(alias.name == "*" for alias in self.node.names)


@dataclass(frozen=True, eq=False)
class SourceFile:
    path: str  # relative to the base path
    text: str
    tree: ast.Module
    imports: tuple[ImportStatement, ...]  # in the order of the text
    _names: Names = field(repr=False)

    @property
    def defined(self) -> dict[str, int]:
        """Names that it binds at its top level otherwise than by an import, with the first line."""
        return self._names.top_level

    @cached_property
    def expected(self) -> frozenset[str]:
        """Names that it uses and binds nowhere, or by an import alone."""
        return frozenset(name.id for name in self._names.free)

    @cached_property
    def offered(self) -> frozenset[str]:
        """What another file may import from it."""
        return frozenset(self.defined) | {
            alias.asname or alias.name.split(".")[0]
            for statement in self.imports
            if statement.scope == "module"
            for alias in statement.node.names
        }

    @property
    def has_star(self) -> bool:
        return any(statement.has_star for statement in self.imports)


def scan(path: str, text: str) -> SourceFile:
    """DeployProblem FORMAT_PARSE_ERROR when it is not Python."""
    try:
        tree = ast.parse(text)
        names = resolve(_Bare().visit(ast.parse(text)))
    except SyntaxError as exc:
        raise DeployProblem("FORMAT_PARSE_ERROR", f"{path}, line {exc.lineno}: {exc.msg}") from exc
    except (ValueError, RecursionError, MemoryError) as exc:  # a NUL character; code nested too deep
        raise DeployProblem("FORMAT_PARSE_ERROR", f"{path}: {exc}") from exc
    imports = sorted(_imports(tree), key=lambda found: (found.node.lineno, found.node.col_offset))
    return SourceFile(path, text, tree, tuple(imports), names)


def _imports(tree: ast.Module) -> Iterator[ImportStatement]:
    todo: list[tuple[ast.AST, str]] = [(tree, "module")]
    while todo:
        node, scope = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield ImportStatement(node, scope)
        elif isinstance(node, _FUNCTIONS):
            scope = "function"
        elif isinstance(node, ast.ClassDef):
            scope = "class"
        todo.extend((child, scope) for child in ast.iter_child_nodes(node))


class _Bare(ast.NodeTransformer):
    """Takes the imports out: what they bind is not defined here."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None
