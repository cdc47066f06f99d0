"""From the text of a component to the text that Monty runs, with the way back from its lines to the author's."""

import ast
from dataclasses import dataclass

from turnbuckle.flow.sandbox import names
from turnbuckle.flow.sandbox.pieces import prelude_for
from turnbuckle.flow.sandbox.rewrite import rewrite
from turnbuckle.flow.sandbox.scopes import Names

# What the code ends with, so that a run is one exchange with the sandbox.
COLLECT = "__tb_json.dumps([result, data_outputs], allow_nan=False)"
_ALWAYS = frozenset({"__tb_json", "result", "data_outputs"})


@dataclass(frozen=True)
class Program:
    source: str
    inputs: frozenset[str]  # names that the host binds
    _first_line: int  # of the author's code in source, from 1
    _lines: dict[int, int] | None  # line of the rewritten code -> line of the author's, when they differ
    _last_line: int

    def author_line(self, line: int) -> int | None:
        """The author's line for a line of the source; None in code of ours."""
        inside = line - self._first_line + 1
        if not 1 <= inside <= self._last_line:
            return None
        return inside if self._lines is None else self._lines.get(inside)


def build(code: str, tree: ast.Module, resolved: Names) -> Program:
    """RecursionError when the code is nested deeper than Python itself can walk."""
    changed, used = rewrite(tree, resolved)
    text, lines = _text_of(tree) if changed else (code, None)
    # `json = json.loads(...)` is allowed, so a module's name that the code binds may be read before.
    rebound = resolved.top_level.keys() & set(names.MODULES)
    prelude, wanted = prelude_for(used | _ALWAYS | rebound)
    return Program(
        f"{prelude}{text}\n{COLLECT}",
        wanted,
        prelude.count("\n") + 1,
        lines,
        text.count("\n") + 1,
    )


def _text_of(tree: ast.Module) -> tuple[str, dict[int, int]]:
    """The changed tree as text, and for each of its lines the line it came from.

    Text and tree have the same shape, so going down both side by side pairs every node with its origin.
    """
    ast.fix_missing_locations(tree)
    text = ast.unparse(tree)
    lines: dict[int, int] = {}
    todo: list[tuple[ast.AST, ast.AST]] = [(ast.parse(text), tree)]
    while todo:
        new, old = todo.pop()
        if isinstance(new, (ast.stmt, ast.expr)) and isinstance(old, (ast.stmt, ast.expr)):
            lines[new.lineno] = min(old.lineno, lines.get(new.lineno, old.lineno))
        todo.extend(zip(ast.iter_child_nodes(new), ast.iter_child_nodes(old), strict=False))
    return text, lines
