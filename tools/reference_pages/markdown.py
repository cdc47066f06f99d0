"""What the pages share."""

from collections.abc import Iterable, Iterator


def generated_from(source: str) -> str:
    """The note at the top of a page that nobody should edit."""
    return f"<!-- Made by `make docs` from `{source}`. Change that, not this page. -->\n\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    def lines() -> Iterator[str]:
        for cells in (head, ("---",) * len(head), *rows):
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    return "".join(lines())
