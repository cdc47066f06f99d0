"""Which names of a piece of code are its own, and which it expects to find: Python's scope rules, without running it.

Every walk here has its own stack: the depth of user code may not become the depth of ours.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class Names:
    """What the code binds at its top level (name -> first line), every binding anywhere, and the names it expects."""

    top_level: dict[str, int]
    bindings: list[tuple[str, int]]  # (name, line), in no order
    free: list[ast.Name]  # loaded, and bound by no scope of the code


@dataclass
class _Scope:
    kind: str  # module, function, class or comprehension
    parent: "_Scope | None" = None
    bound: dict[str, int] = field(default_factory=dict)
    declared_global: set[str] = field(default_factory=set)

    def bind(self, name: str, line: int) -> None:
        self.bound.setdefault(name, line)

    def holds(self, name: str) -> bool:
        """Whether a scope from here outwards binds the name; a class body is seen only from itself."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.declared_global:
                return name in scope.module().bound
            if name in scope.bound and (scope is self or scope.kind != "class"):
                return True
            scope = scope.parent
        return False

    def module(self) -> "_Scope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


def resolve(tree: ast.Module) -> Names:
    module = _Scope("module")
    loads: list[tuple[ast.Name, _Scope]] = []
    bindings: list[tuple[str, int]] = []
    todo: list[tuple[ast.AST, _Scope]] = [(tree, module)]
    while todo:
        node, scope = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            loads.append((node, scope))
        for name in _bound_by(node):
            line = getattr(node, "lineno", 1)
            bindings.append((name, line))
            _target_of(node, name, scope).bind(name, line)
        if isinstance(node, ast.Global):
            scope.declared_global.update(node.names)
        todo.extend(_children(node, scope))
    free = [node for node, scope in loads if not scope.holds(node.id)]
    return Names(module.bound, bindings, free)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield node.id
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.arg():
            yield node.arg
        case ast.alias():
            yield (node.asname or node.name).split(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Global():
            yield from node.names
        case _ if type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple"):  # Python 3.12
            yield str(getattr(node, "name", ""))


def _target_of(node: ast.AST, name: str, scope: _Scope) -> _Scope:
    if isinstance(node, ast.Global) or name in scope.declared_global:
        return scope.module()
    return scope


def _children(node: ast.AST, scope: _Scope) -> Iterator[tuple[ast.AST, _Scope]]:
    """The parts of a node with the scope each is evaluated in."""
    if isinstance(node, _Function):
        yield from _of_function(node, scope)
    elif isinstance(node, ast.ClassDef):
        inside = _Scope("class", scope)
        outside: list[ast.AST] = [*node.decorator_list, *node.bases, *node.keywords]
        yield from ((part, scope) for part in outside)
        yield from ((part, inside) for part in [*node.body, *getattr(node, "type_params", [])])
    elif isinstance(node, _Comprehension):
        inside = _Scope("comprehension", scope)
        yield from ((part, inside) for part in ast.iter_child_nodes(node))
    elif isinstance(node, ast.NamedExpr):
        home = scope
        while home.kind == "comprehension" and home.parent is not None:
            home = home.parent
        yield node.target, home
        yield node.value, scope
    else:
        yield from ((part, scope) for part in ast.iter_child_nodes(node))


def _of_function(node: _Function, scope: _Scope) -> Iterator[tuple[ast.AST, _Scope]]:
    inside = _Scope("function", scope)
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in every:
        if argument is not None:
            yield ast.copy_location(ast.arg(argument.arg), argument), inside
            if argument.annotation is not None:
                yield argument.annotation, scope
    yield from ((default, scope) for default in [*arguments.defaults, *arguments.kw_defaults] if default is not None)
    if isinstance(node, ast.Lambda):
        yield node.body, inside
        return
    yield from ((part, scope) for part in node.decorator_list)
    if node.returns is not None:
        yield node.returns, scope
    # A `global` counts for the whole function, so it is read before the statements around it.
    body: list[ast.AST] = [*node.body, *getattr(node, "type_params", [])]
    inside.declared_global.update(_globals_of(node))
    yield from ((part, inside) for part in body)


def _globals_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    todo: list[ast.AST] = list(node.body)
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Global):
            yield from part.names
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(part))
