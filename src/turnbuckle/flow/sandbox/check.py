"""What is wrong with a component's code, before anything runs (blobhub 5.8).

The answers come from supported.py, which the probe makes from the installed Monty.
"""

import ast
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from turnbuckle.flow.sandbox import names, supported
from turnbuckle.flow.sandbox.features import FEATURES
from turnbuckle.flow.sandbox.limits import SandboxLimits
from turnbuckle.flow.sandbox.program import Program, build
from turnbuckle.flow.sandbox.scopes import Names, resolve

# Code with one of these does not start. With the others it runs and fails where it gets there, as Python would.
REFUSED = frozenset({"code_too_long", "code_syntax_error", "code_import", "unsupported_syntax", "name_redefined"})
# The filters of `warnings` belong to the whole process.
_WARNINGS = threading.Lock()


@dataclass(frozen=True)
class Finding:
    """`code` is one of REFUSED, `unknown_name` or `unsupported_name`; lines count from 1."""

    code: str
    line: int
    message: str


@dataclass(frozen=True)
class Examined:
    findings: tuple[Finding, ...]  # in the order of lines
    program: Program | None  # None when a finding refuses the code

    def refusals(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.code in REFUSED]


def check_code(code: str) -> list[Finding]:
    return list(examine(code).findings)


@lru_cache(maxsize=128)
def examine(code: str, code_bytes: int = SandboxLimits().code_bytes) -> Examined:
    """Findings and, unless they refuse it, the program for Monty: once per text, since a loop runs it often."""
    size = len(code.encode("utf-8", "surrogatepass"))
    if size > code_bytes:
        return _refused("code_too_long", 1, f"The code is {size} bytes long; at most {code_bytes} are allowed.")
    try:
        tree = _parsed(code)
        resolved = resolve(tree)
        findings = tuple(sorted(_findings(tree, resolved), key=lambda finding: finding.line))
        refused = any(finding.code in REFUSED for finding in findings)
        return Examined(findings, None if refused else build(code, tree, resolved))
    except SyntaxError as exc:
        return _refused("code_syntax_error", exc.lineno or 1, f"This is not Python: {exc.msg}.")
    except (RecursionError, MemoryError):
        return _refused("code_syntax_error", 1, "The code is nested too deeply to be read.")
    except ValueError as exc:  # a NUL character, a lone surrogate, an integer of over 4300 digits
        return _refused("code_syntax_error", 1, f"This is not Python: {exc}.")


def _parsed(code: str) -> ast.Module:
    """The tree; compiled too, since `return` outside a function and the like show only then."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the author's invalid escapes are not news for the server's log
        compile(code, "code", "exec", dont_inherit=True)
        return ast.parse(code)


def _refused(code: str, line: int, message: str) -> Examined:
    return Examined((Finding(code, line, message),), None)


def _findings(tree: ast.Module, resolved: Names) -> Iterator[Finding]:
    yield from _redefined(resolved)
    yield from _unknown(resolved)
    free = {id(node) for node in resolved.free}
    inside: set[int] = set()
    for node in ast.walk(tree):
        yield from _imports(node)
        yield from _syntax(node)
        yield from _methods(node)
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
    for node in resolved.free:
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


def _syntax(node: ast.AST) -> Iterator[Finding]:
    for key in sorted(supported.MISSING_SYNTAX):
        if FEATURES[key].is_in(node):
            yield Finding("unsupported_syntax", _line_of(node), f"Not in this sandbox: {FEATURES[key].title}.")


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
