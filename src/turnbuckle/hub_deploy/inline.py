"""A file's text with its imports replaced where they stand; lines keep their numbers (blobhub 6.4, rule 6)."""

import ast
from collections.abc import Iterator

from turnbuckle.hub_deploy.imports import Meaning
from turnbuckle.hub_deploy.link import LinkedFile
from turnbuckle.hub_deploy.scan import ImportNode

SOURCE_LINE = "# blobhub:source "
_NOTHING = "pass"


def block(file: LinkedFile) -> str:
    """The text of the file's block: where it comes from, then the file."""
    text = _replaced(file)
    if not file.source.tree.body:
        text += _NOTHING
    return f"{SOURCE_LINE}{file.source.path}\n{text}"


def _replaced(file: LinkedFile) -> str:
    lines = [line.encode() for line in file.source.text.split("\n")]
    alone = _alone_in_their_suite(file)
    # From the end, so that the columns of what is still to be replaced stay right.
    for meaning in sorted(file.meanings, key=_place, reverse=True):
        _replace(lines, meaning, id(meaning.statement.node) in alone)
    return b"\n".join(lines).decode()


def _place(meaning: Meaning) -> tuple[int, int]:
    return meaning.statement.node.lineno, meaning.statement.node.col_offset


def _replace(lines: list[bytes], meaning: Meaning, is_alone: bool) -> None:
    node = meaning.statement.node
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    shares_line = bool(before.strip()) or after.strip()[:1] not in (b"", b"#")
    text = "; ".join(map(str, meaning.bindings)) or (_NOTHING if is_alone or shares_line else "")
    lines[first] = (before + text.encode() + after).rstrip() if not text else before + text.encode() + after
    for index in range(first + 1, last + 1):
        lines[index] = b""


def _alone_in_their_suite(file: LinkedFile) -> set[int]:
    """The first import of each suite of which nothing would stay: Python wants a statement there."""
    gone = {id(meaning.statement.node) for meaning in file.meanings if not meaning.bindings}
    return {id(suite[0]) for suite in _suites(file.source.tree) if all(id(one) in gone for one in suite)}


def _suites(tree: ast.AST) -> Iterator[list[ast.stmt] | list[ImportNode]]:
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value
