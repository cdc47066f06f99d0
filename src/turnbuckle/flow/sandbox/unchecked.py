"""Programs that no check has seen: for the probe, which makes the table that the check reads, and for its tests."""

import ast

from turnbuckle.flow.sandbox.program import Program, build
from turnbuckle.flow.sandbox.scopes import resolve


def program_of(code: str) -> Program | None:
    """None when this Python cannot read the code. Syntax newer than this Python is passed on as it is."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    return build(code, tree, resolve(tree))
