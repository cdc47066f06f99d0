"""Nesting is told before a parser goes down into it."""

import pytest

from turnbuckle.sparql.depth import has_deep_brackets, has_deep_terms

TERMS = [("<<( <a:a> <a:p> ", " )>>"), ("<< <a:a> <a:p> ", " >>")]
PAIRS = [("[ <a:p> ", " ]"), ("( ", " )"), ("{| <a:p> ", " |}"), *TERMS]
NO_BRACKETS = [
    '"%s"', "'%s'", '"""a "%s""" ', "'''a '%s\n'''", r'"\"%s"', "# %s\n", "#\r\n# it's %s\n",
]  # fmt: skip


def nested(levels: int, opened: str, closed: str) -> bytes:
    return f"INSERT DATA {{ <a:a> <a:p> {opened * levels}1{closed * levels} }}".encode()


@pytest.mark.parametrize(("opened", "closed"), PAIRS)
def test_brackets_of_each_kind_are_counted(opened: str, closed: str) -> None:
    assert not has_deep_brackets(nested(9, opened, closed), 10)  # with the one around them
    assert has_deep_brackets(nested(10, opened, closed), 10)
    assert has_deep_brackets(nested(10, opened, ""), 10)  # a parser goes down before it misses them


@pytest.mark.parametrize(("opened", "closed"), TERMS)
def test_triple_terms_of_a_document_are_counted(opened: str, closed: str) -> None:
    assert not has_deep_terms(nested(10, opened, closed), 10)
    assert has_deep_terms(nested(11, opened, closed), 10)


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    assert not has_deep_brackets(b"[ ] ( ) << >> <<( )>> " * 100, 1)
    assert not has_deep_terms(b"<<( )>> << >> [ [ [ ] ] ] " * 100, 1)


@pytest.mark.parametrize("text", NO_BRACKETS)
def test_brackets_in_texts_and_comments_are_none(text: str) -> None:
    content = (text % ("<< [" * 20)).encode()

    assert not has_deep_brackets(content, 10)
    assert not has_deep_terms(content, 10)


def test_an_iri_is_no_bracket() -> None:
    assert not has_deep_terms(b"<a:b> <a:#c> <d>" * 100, 1)
    assert has_deep_terms(b"<a:#c> << <a:b> " * 100, 50)  # and its # begins no comment
