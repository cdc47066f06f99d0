"""What is wrong with a component's code, before anything runs (blobhub 5.8).

The answers come from supported.py, which the probe makes from the installed Monty.
"""

import ast
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from turnbuckle.flow.sandbox import names, supported
from turnbuckle.flow.sandbox.features import FEATURES, Feature
from turnbuckle.flow.sandbox.limits import SandboxLimits
from turnbuckle.flow.sandbox.program import Program, build
from turnbuckle.flow.sandbox.scopes import Names, resolve

# Code with one of these does not start. With the others it runs and fails where it gets there, as Python would.
REFUSED = frozenset({"code_too_long", "code_syntax_error", "code_import", "unsupported_syntax", "name_redefined"})
# How many findings a check gives, and how deep code may be nested: Monty's parser stops at 198 levels.
FINDINGS = 100
DEEPEST = 190
# The filters of `warnings` belong to the whole process.
_WARNINGS = threading.Lock()


@dataclass(frozen=True)
class Finding:
    """`code` is one of REFUSED, `unknown_name` or `unsupported_name`; lines count from 1."""

    code: str
    line: int
    message: str


_Look = Callable[[ast.AST], Iterator[Finding]]


def check_code(code: str) -> list[Finding]:
    """What is wrong with the code, by line; at most FINDINGS of them."""
    return list(_examined(code, SandboxLimits().code_bytes).findings)


def refusals(code: str, code_bytes: int) -> list[Finding]:
    """The findings with which the code does not start."""
    return [finding for finding in _examined(code, code_bytes).findings if finding.code in REFUSED]


@lru_cache(maxsize=64)
def program_for(code: str) -> Program:
    """The program for Monty of code without refusals: once per text, since a loop runs it often."""
    tree = _parsed(code)
    return build(code, tree, resolve(tree))


@dataclass(frozen=True)
class _Examined:
    findings: tuple[Finding, ...]


@lru_cache(maxsize=128)
def _examined(code: str, code_bytes: int) -> _Examined:
    size = len(code.encode("utf-8", "surrogatepass"))
    if size > code_bytes:
        return _one("code_too_long", 1, f"The code is {size} bytes long; at most {code_bytes} are allowed.")
    try:
        tree = _parsed(code)
    except SyntaxError as exc:
        return _one("code_syntax_error", exc.lineno or 1, f"This is not Python: {exc.msg}.")
    except (RecursionError, MemoryError):
        return _one("code_syntax_error", 1, "The code is nested too deeply to be read.")
    except ValueError as exc:  # a NUL character, a lone surrogate, an integer of over 4300 digits
        return _one("code_syntax_error", 1, f"This is not Python: {exc}.")
    resolved = resolve(tree)
    if resolved.depth > DEEPEST:
        return _one("code_syntax_error", 1, f"The code is nested {resolved.depth} levels deep, over {DEEPEST}.")
    found = islice(_findings(resolved), FINDINGS)
    return _Examined(tuple(sorted(found, key=lambda finding: finding.line)))


def _one(code: str, line: int, message: str) -> _Examined:
    return _Examined((Finding(code, line, message),))


def _parsed(code: str) -> ast.Module:
    """The tree; compiled too, since `return` outside a function and the like show only then."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the author's invalid escapes are not news for the server's log
        compile(code, "code", "exec", dont_inherit=True)
        return ast.parse(code)


def _findings(resolved: Names) -> Iterator[Finding]:
    """Those that refuse the code first, so that a cut never hides them all."""
    yield from _redefined(resolved)
    for node in resolved.nodes:
        for look in _LOOKS.get(type(node).__name__, ()):
            yield from look(node)
    yield from _unknown(resolved)
    free = {id(node) for node in resolved.free}
    inside: set[int] = set()
    # A node comes before its parts, so the whole of `a.b.c` comes before `a.b`.
    for node in resolved.nodes:
        if isinstance(node, ast.Attribute) and id(node) not in inside:
            inside.update(id(part) for part in _chain(node))
            yield from _attribute(node, free)


def _redefined(resolved: Names) -> Iterator[Finding]:
    for name, line in resolved.top_level.items():
        if name in names.RESERVED:
            yield Finding("name_redefined", line, f"`{name}` belongs to the sandbox; give this another name.")
    private = {(name, line) for name, line in resolved.bindings if name.startswith(names.PRIVATE)}
    for name, line in sorted(private):
        message = f"`{name}`: names that begin with `{names.PRIVATE}` are the sandbox's own."
        yield Finding("name_redefined", line, message)


def _unknown(resolved: Names) -> Iterator[Finding]:
    for node in sorted(resolved.free, key=lambda node: node.lineno):
        if node.id in names.GIVEN:
            continue
        if node.id not in names.ALL:
            yield Finding("unknown_name", node.lineno, f"There is no `{node.id}` here: {_hint(node.id)}")
        elif node.id in supported.MISSING_NAMES:
            yield Finding("unsupported_name", node.lineno, f"`{node.id}` does not work in this sandbox.")


def _hint(name: str) -> str:
    if name.startswith(names.PRIVATE):
        return "it is the sandbox's own."
    return "the code does not bind it, and it is not a name of the sandbox."


def _imports(node: ast.AST) -> Iterator[Finding]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        message = f"`import` does not work here. These are there without it: {', '.join(names.MODULES)}."
        yield Finding("code_import", node.lineno, message)


def _missing(feature: Feature) -> _Look:
    def look(node: ast.AST) -> Iterator[Finding]:
        if feature.is_in(node):
            yield Finding("unsupported_syntax", _line_of(node), f"Not in this sandbox: {feature.title}.")

    return look


def _line_of(node: ast.AST) -> int:
    """Comprehensions and operators have no line of their own; their parts do."""
    return next((part.lineno for part in ast.walk(node) if isinstance(part, (ast.stmt, ast.expr))), 1)


def _methods(node: ast.AST) -> Iterator[Finding]:
    if not isinstance(node, ast.ClassDef):
        return
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name in supported.MISSING_METHODS:
            yield Finding("unsupported_name", part.lineno, f"Nothing calls the method `{part.name}` in this sandbox.")


def _chain(node: ast.Attribute) -> Iterator[ast.expr]:
    part: ast.expr = node
    while isinstance(part, ast.Attribute):
        yield part
        part = part.value


def _attribute(node: ast.Attribute, free: set[int]) -> Iterator[Finding]:
    """`json.JSONEncoder`, `datetime.datetime.utcnow`: attributes that the probe did not find."""
    parts = list(_chain(node))
    root = parts[-1].value if isinstance(parts[-1], ast.Attribute) else None
    if not isinstance(root, ast.Name) or id(root) not in free:
        return
    owner = root.id
    for part in reversed(parts):
        if not isinstance(part, ast.Attribute) or owner not in supported.ATTRIBUTES:
            return
        if part.attr not in supported.ATTRIBUTES[owner]:
            yield Finding("unsupported_name", part.lineno, f"`{owner}.{part.attr}` does not exist in this sandbox.")
            return
        owner = f"{owner}.{part.attr}"


def _looks() -> dict[str, list[_Look]]:
    looks: dict[str, list[_Look]] = {"Import": [_imports], "ImportFrom": [_imports], "ClassDef": [_methods]}
    for key in sorted(supported.MISSING_SYNTAX):
        for kind in FEATURES[key].kinds:
            looks.setdefault(kind, []).append(_missing(FEATURES[key]))
    return looks


# By the name of the node's class, what to look for in it.
_LOOKS = _looks()
