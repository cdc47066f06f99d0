"""Other people's text on a terminal: shown as it is, whole where there is room, and never obeyed."""

import io

import pytest
from rich.console import Console

from turnbuckle.cli.output import compact, plain, short, table


def printed(width: int, **options: bool) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    rows = [("cart-1", "an error that is longer than the terminal is wide", "end")]
    console.print(table(("id", "what", "last"), rows, long="what", **options))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("text", ["\x1b[31mred", "bell\a", "back\b", "\x9b31m", "right‮to left"])
def test_what_a_terminal_would_obey_is_shown(text: str) -> None:
    """An error message must not be able to clear the screen or to hide what stands before it."""
    assert plain(text).isprintable()
    assert plain(text) != text


def test_letters_of_all_languages_stay() -> None:
    assert plain("Zürich 東京 🚀\nnext") == "Zürich 東京 🚀\nnext"


def test_markup_in_a_cell_is_text() -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(table(("id",), [("[red]x[/red]",)], long="id"))
    assert isinstance(console.file, io.StringIO)

    assert "[red]x[/red]" in console.file.getvalue()


def test_the_long_column_is_folded() -> None:
    """On a narrow terminal nothing is lost."""
    lines = printed(40)

    assert len(lines) > 2
    assert all(word in " ".join(lines) for word in ("cart-1", "error", "terminal", "end"))


def test_the_long_column_is_cut() -> None:
    """In a picture with a fixed height each instance is one line, and the other columns stay whole."""
    assert printed(40, is_cut=True)[1:] == ["cart-1  an error that is longer t…  end "]


def test_long_values_are_cut_on_one_line() -> None:
    assert short("a\nb  c", 10) == "a b c"
    assert short("abcdef", 4) == "abc…"


def test_large_numbers_keep_their_digits() -> None:
    assert compact({"n": 12345678901234567890123}, 100) == '{"n": 12345678901234567890123}'
