"""The part of the flat namespace that is written in Python and runs inside the sandbox: prelude/*.monty.

A run gets only the pieces whose names its code uses, and what those need: parsing all of them took 6 ms.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from turnbuckle.flow.sandbox.scopes import resolve

# Modules that Monty has itself.
_IMPORTED = (
    "json",
    "time",
    "datetime",
    "functools",
    "copy",
    "dataclasses",
    "decimal",
    "math",
    "re",
    "base64",
    "typing",
)
# Bound by the host before the code starts.
GIVEN_INPUTS = frozenset(
    {"data_inputs", "data_outputs", "flow_outputs", "result", "provider_inputs"}
    | {"blob", "session", "definition", "execution", "attributes"}
)


@dataclass(frozen=True)
class Piece:
    source: str
    gives: frozenset[str]
    needs: frozenset[str]
    ours: bool  # not only an import of what Monty has


@cache
def pieces() -> dict[str, Piece]:
    """Name -> the piece that binds it."""
    sources = [f"import {module}\n" for module in _IMPORTED]
    folder = files("turnbuckle.flow.sandbox") / "prelude"
    sources += [path.read_text("utf-8") for path in sorted(folder.iterdir(), key=lambda path: path.name)]
    found: dict[str, Piece] = {}
    for source in sources:
        piece = _piece(source)
        found.update(dict.fromkeys(piece.gives, piece))
    return found


def _piece(source: str) -> Piece:
    tree = ast.parse(source)
    resolved = resolve(tree)
    needs = frozenset(node.id for node in resolved.free)
    ours = not all(isinstance(part, (ast.Import, ast.ImportFrom)) for part in tree.body)
    return Piece(source, frozenset(resolved.top_level), needs, ours)


def prelude_for(used: Iterable[str]) -> tuple[str, frozenset[str]]:
    """The source that binds the used names, dependencies first, and the names it wants from the host."""
    table = pieces()
    chosen: dict[Piece, None] = {}
    wanted: set[str] = set()

    def choose(name: str) -> None:
        if name in GIVEN_INPUTS:
            wanted.add(name)
        piece = table.get(name)
        if piece is None or piece in chosen:
            return
        for need in sorted(piece.needs - piece.gives):
            choose(need)
        chosen[piece] = None

    for name in sorted(used):
        choose(name)
    return "".join(piece.source for piece in chosen), frozenset(wanted)
