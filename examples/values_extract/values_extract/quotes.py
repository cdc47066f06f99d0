"""Whether a text holds what a model quotes from it, and a quote holds its value."""

import re
import unicodedata
from collections.abc import Iterator

from values_extract.coerce import Typed, coerce

NUMBER = re.compile(r"(?<![\w.,])[+-]?\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?|\d{1,2}\.\d{1,2}\.\d{4}")


def quote_holds(text: str, quote: str) -> bool:
    """Whether `quote` stands in `text` word for word. Spaces, line breaks and capitals do not count."""
    wanted = _plain(quote)
    return bool(wanted) and wanted in _plain(text)


def value_in_quote(value: Typed, value_type: str, quote: str) -> bool:
    """Whether the quote says the value: as a number or date of any spelling, or as whole words.

    A yes or no is what a sentence means and not a word in it, so there the quote is enough.
    """
    match value_type:
        case "bool":
            return True
        case "i64" | "f64":
            return any(number == value for number, _, _ in numbers(quote))
        case "date_time":
            return any(_is_moment(found, value) for found in _DATE.findall(quote))
    return re.search(rf"(?<!\w){re.escape(_plain(str(value)))}(?!\w)", _plain(quote)) is not None


def numbers(quote: str) -> Iterator[tuple[float, int, int]]:
    """(value, start, end) of each number. A comma before exactly three digits groups them, as in 1,200."""
    for found in NUMBER.finditer(quote):
        digits = re.sub(r",(?=\d{3}(?:\D|$))", "", found[0]).replace(",", ".")
        if digits.count(".") <= 1:  # 3.5.2026 is no number
            yield float(digits), found.start(), found.end()


def _is_moment(found: str, value: Typed) -> bool:
    try:
        return coerce(found, "date_time").value == value
    except ValueError:  # 31.2.2026 stands in the text and is no date
        return False


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
