"""Field types of the protocol: wire/base.py (P20; decision 10)."""

from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from turnbuckle.wire.base import Id, Name, WorkerName
from turnbuckle.wire.limits import GRAPH_PATTERN

Graph = Annotated[str, Meta(pattern=GRAPH_PATTERN)]


def is_taken(text: str, kind: Any) -> bool:
    try:
        return bool(msgspec.convert(text, kind) == text)
    except msgspec.ValidationError:
        return False


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "..", "0", "x" * 128])
def test_names_of_the_fixed_alphabet_are_taken(name: str) -> None:
    assert is_taken(name, Name)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a/b", "../x", "a\n", "\na", "a\0", "é", "😀", "x" * 129, "a\u2028", "a:b", "a\r\n"]
)
def test_other_names_are_refused(name: str) -> None:
    """B003: an id of spaces, with a slash, a NUL or a line's end became an instance nobody could address."""
    assert not is_taken(name, Name)


@pytest.mark.parametrize("text", ["a", "orders/2026/7", "😀", " a ", "x" * 256, "é" * 256, "a b", "../x", '"'])
def test_message_ids_may_be_almost_any_text(text: str) -> None:
    assert is_taken(text, Id)


@pytest.mark.parametrize(
    "text", ["", " ", "\u00a0", "\u2003\u3000", "a\0", "\0", "a\n", "\na", "a\tb", "a\x7f", "a\x85", "x" * 257]
)
def test_blank_over_long_and_control_characters_are_refused_as_message_ids(text: str) -> None:
    """B003: an empty id was stored as is; each recovery then made a fresh run."""
    assert not is_taken(text, Id)


@pytest.mark.parametrize(("text", "taken"), [("w", True), ("w" * 128, True), ("w" * 129, False), ("", False),
                                             (" ", False), ("w\n", False), ("host 7/é", True)])  # fmt: skip
def test_a_workers_name_is_a_short_label(text: str, taken: bool) -> None:
    assert is_taken(text, WorkerName) == taken


@pytest.mark.parametrize(
    ("text", "taken"),
    [("main", True), ("0", True), ("a" * 63, True), ("a" * 64, False), ("Main", False), ("_a", False), ("", False)],
)
def test_a_graphs_name_is_lower_case(text: str, taken: bool) -> None:
    assert is_taken(text, Graph) == taken


@given(st.text(max_size=20))
def test_no_id_has_a_control_character_or_is_blank(text: str) -> None:
    has_control = any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text)

    assert is_taken(text, Id) == (bool(text.strip()) and not has_control)
